/** The events of the project. */

import type { Show } from "./show.ts";
import { moment, t } from "./texts.ts";

/** The address of another event, in the language and colours that this page was asked for. */
export function eventAddress(id: string): string {
  const asked = new URLSearchParams(location.search);
  const kept = ["locale", "theme"].flatMap(name => asked.getAll(name).map(value => [name, value]));
  return `?${new URLSearchParams([["event", id], ...kept])}`;
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
  const order = ["current", "future", "past"];
  // An event that has gone is in the list that came with the page.
  const left = show.refusal.value === null ? events : events.filter(({ id }) => id !== event);
  const sorted = [...left].sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state));
  const words = note ?? (sorted.length === 0 ? t("noShow") : undefined);
  return (
    <section class="events">
      {words !== undefined && <p class="card empty">{words}</p>}
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
                    {t(state === "current" ? "running" : state === "future" ? "future" : "past")}
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
