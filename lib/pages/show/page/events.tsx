/** The events of the project. */

import type { ListedEvent } from "../page_data.ts";
import type { Show } from "./show.ts";
import { moment, t } from "./texts.ts";

/** The address of another event, in the language and colours that this page was asked for. */
export function eventAddress(id: string): string {
  const asked = new URLSearchParams(location.search);
  const kept = ["locale", "theme"].flatMap(name => asked.getAll(name).map(value => [name, value]));
  return `?${new URLSearchParams([["event", id], ...kept])}`;
}

/** The words for the states of events, in the order of the list; events in any other state are over. */
const words = [
  ["current", "running"],
  ["future", "future"],
  ["on_demand", "lookHere"],
] as const;

function placeOf({ state }: ListedEvent): number {
  const place = words.findIndex(([each]) => each === state);
  return place < 0 ? words.length : place;
}

export function Events({
  show,
  note,
}: {
  readonly show: Show;
  readonly rest: string;
  readonly note?: string;
}) {
  const { project, event } = show.data;
  // The list is as old as the page.
  const state = show.eventState.value;
  const events = show.data.events.map(each =>
    each.id === event && state !== null ? { ...each, state } : each,
  );
  const now = show.time.now();
  // An event that has gone is in the list that came with the page.
  const left = show.refusal.value === null ? events : events.filter(({ id }) => id !== event);
  const sorted = [...left].sort((a, b) => placeOf(a) - placeOf(b));
  const text = note ?? (sorted.length === 0 ? t("noShow") : undefined);
  return (
    <section class="events">
      {text !== undefined && <p class="card empty">{text}</p>}
      {sorted.length > 0 && (
        <>
          <h2>{t("otherShows", { name: project.name })}</h2>
          <ul>
            {sorted.map(({ id, name, state, start_at: at }) => (
              <li key={id}>
                <a
                  class="card"
                  href={eventAddress(id)}
                  {...(id === event && { "aria-current": "true" as const })}
                >
                  <strong dir="auto">{name}</strong>
                  <span class="state" data-state={state}>
                    {t(words.find(([each]) => each === state)?.[1] ?? "past")}
                  </span>
                  {at !== null && <span class="quiet">{moment(at * 1_000, now)}</span>}
                </a>
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}
