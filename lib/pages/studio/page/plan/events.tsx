/** The events of a project: when they are, which overlap, and new ones. */

import { useEffect, useState } from "preact/hooks";
import { allOf, type PageQuery, type Resource, textOf } from "../api.ts";
import { useCommands } from "../palette.tsx";
import { hrefOf } from "../places.ts";
import { Act, FormDialog, Problem, State } from "../ui.tsx";
import { refusalOf, type ViewContext } from "../view.ts";
import { overlapsOf, zoneOf } from "./calendar.ts";
import { instantOf, ownZone, timeIn } from "./zones.ts";

interface Listed {
  readonly events: readonly Resource[];
  readonly next: string | null;
}

export function Events({ context }: { readonly context: ViewContext }) {
  const { api, chain, role, signal } = context;
  const project = chain.at(-1) as Resource;
  const [listed, setListed] = useState<Listed | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [isNew, setNew] = useState(false);
  const refusal = refusalOf(role, "creator");
  async function read(): Promise<void> {
    setError(null);
    const query: PageQuery = { "page[count]": 100, ...(listed?.next && { "page[cursor]": listed.next }) };
    const { data, next } = await api.scopesBelow("events", project.id, query, signal);
    setListed({ events: [...(listed?.events ?? []), ...data], next });
  }
  const start = (): void => void read().catch(thrown => !signal.aborted && setError(thrown));
  useEffect(start, []);
  useCommands(() => [{ label: "New event", refusal, run: () => setNew(true) }]);
  if (error !== null) return <Problem error={error} retry={start} />;
  if (listed === null) return <p class="quiet">Loading…</p>;
  const { events, next } = listed;
  const zone = zoneOf(project);
  return (
    <div class="stack">
      <div class="row spread">
        <p class="quiet">
          {zone === ownZone ? `Times in ${zone}` : `Times in ${zone}, yours (${ownZone}) in brackets`}
        </p>
        <Act class="main" refusal={refusal} onPress={() => setNew(true)}>
          New event
        </Act>
      </div>
      {events.length === 0 && <p class="empty">There are no events that you can see.</p>}
      <ul class="cards">
        {events.map(event => (
          <Card key={event.id} event={event} zone={zone} overlaps={overlapsOf(event, events)} />
        ))}
      </ul>
      {next !== null && (
        <button type="button" onClick={start}>
          Show more
        </button>
      )}
      {isNew && (
        <NewEvent
          context={context}
          events={events}
          more={next === null ? null : start}
          zone={zone}
          close={() => setNew(false)}
        />
      )}
    </div>
  );
}

interface CardProps {
  readonly event: Resource;
  readonly zone: string;
  readonly overlaps: readonly Resource[];
}

function Card({ event, zone, overlaps }: CardProps) {
  const begin = Number(event.attributes.start_at ?? 0);
  const own = zone === ownZone ? "" : ` (${timeIn(ownZone, begin)})`;
  return (
    <li>
      <a class="card" href={hrefOf(event)}>
        <strong>{textOf(event, "name")}</strong>
        <State state={textOf(event, "state")} />
        <span class="quiet">{begin > 0 ? `${timeIn(zone, begin)}${own}` : "by hand"}</span>
        {overlaps.length > 0 && (
          <span class="warned">Overlaps {overlaps.map(other => textOf(other, "name")).join(", ")}</span>
        )}
      </a>
    </li>
  );
}

interface NewEventProps {
  readonly context: ViewContext;
  readonly events: readonly Resource[];
  /** Reads older events; null: these are all. */
  readonly more: (() => void) | null;
  readonly zone: string;
  readonly close: () => void;
}

/** Makes an event from nothing, from a template, or as a clone, and opens it. */
function NewEvent({ context, close, ...shown }: NewEventProps) {
  const { api, chain, signal } = context;
  const project = chain.at(-1) as Resource;
  const [templates, setTemplates] = useState<readonly Resource[]>([]);
  useEffect(() => {
    const query = { projectId: project.id, sort: "name", "page[count]": 100 } as const;
    allOf(api.control.listProjectEventTemplates(query, { signal })).then(setTemplates, () => {});
  }, []);
  return (
    <FormDialog
      title="New event"
      confirm="Create"
      send={form => makeEvent(context, form, shown.zone)}
      onClose={close}
    >
      <EventFields templates={templates} {...shown} />
    </FormDialog>
  );
}

interface FieldsProps extends Omit<NewEventProps, "context" | "close"> {
  readonly templates: readonly Resource[];
}

function EventFields({ templates, events, more, zone }: FieldsProps) {
  return (
    <>
      <label>
        Name
        <input name="name" required maxLength={200} />
      </label>
      <label>
        Start from
        <select name="from">
          <option value="nothing">An empty event</option>
          {templates.map(each => (
            <option key={each.id} value={`template ${each.id}`}>
              Template: {textOf(each, "name")}
            </option>
          ))}
          {events.map(each => (
            <option key={each.id} value={`clone ${each.id}`}>
              Clone of {textOf(each, "name")}
            </option>
          ))}
        </select>
      </label>
      {more !== null && (
        <button type="button" onClick={more}>
          Show older events
        </button>
      )}
      <label>
        Begins ({zone})
        <input name="begin" type="datetime-local" aria-describedby="begin-hint" />
      </label>
      <p class="quiet" id="begin-hint">
        Empty: you start it by hand.
      </p>
      <label>
        Length in minutes
        <input
          name="minutes"
          type="number"
          min="0"
          max="43200"
          defaultValue="60"
          aria-describedby="length-hint"
        />
      </label>
      <p class="quiet" id="length-hint">
        0: until you stop it. A clone keeps the length of its event.
      </p>
      <label class="row check">
        <input name="repeat" type="checkbox" /> Begins again after its end
      </label>
      <label class="pause">
        Minutes until it begins again
        <input name="pause" type="number" min="0" max="525600" defaultValue="0" />
      </label>
    </>
  );
}

/** Makes the event that a form describes, and opens it. @throws {GrandstandError} */
async function makeEvent({ api, chain }: ViewContext, form: FormData, zone: string): Promise<void> {
  const project = chain.at(-1) as Resource;
  const [kind, id = ""] = String(form.get("from")).split(" ");
  const begin = String(form.get("begin") ?? "");
  const name = String(form.get("name"));
  const times = {
    ...(begin === ""
      ? { start_mode: "manual" as const }
      : { start_mode: "clock" as const, start_at: instantOf(begin, zone) }),
    ...(form.get("repeat") === "on" && { repeat: true, repeat_in: Number(form.get("pause")) }),
  };
  if (kind === "clone") {
    const copy = await api.control.cloneEvent({
      eventId: id,
      body: { data: { type: "events", attributes: { name } } },
    });
    // A copy has the duration of its event; when it begins is for the copy to say.
    const data = { type: "events" as const, id: copy.id, attributes: times };
    await api.control.changeEvent({ eventId: copy.id, body: { data } });
    location.hash = hrefOf({ type: "events", id: copy.id });
    return;
  }
  const attributes = { name, duration: Math.round(Number(form.get("minutes")) * 60), ...times };
  const relationships = {
    project: { data: { type: "projects" as const, id: project.id } },
    ...(kind === "template" && { template: { data: { type: "event_templates" as const, id } } }),
  };
  const made = await api.control.createEvent({
    body: { data: { type: "events", attributes, relationships } },
  });
  location.hash = hrefOf({ type: "events", id: made.id });
}
