/** Templates of a project's events: made from an event, used for new ones. */

import { useEffect, useState } from "preact/hooks";
import { allOf, type Resource, textOf } from "./api.ts";
import { hrefOf } from "./places.ts";
import { Act, ask, FormDialog, Problem } from "./ui.tsx";
import { refusalOf, type ViewContext } from "./view.ts";

interface Listed {
  readonly templates: readonly Resource[];
  /** The newest events, which templates can be made from. */
  readonly events: readonly Resource[];
}

const eventsMax = 100;

/** What is asked for in a dialog. */
type Asked = { readonly kind: "create" } | { readonly kind: "use"; readonly template: Resource };

export function TemplatesView({ context }: { readonly context: ViewContext }) {
  const { api, chain, signal, role, announce } = context;
  const project = chain.at(-1) as Resource;
  const [listed, setListed] = useState<Listed | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [asked, setAsked] = useState<Asked | null>(null);
  const refusal = refusalOf(role, "creator");
  const load = (): void => {
    setError(null);
    readAll(context, project.id).then(setListed, thrown => !signal.aborted && setError(thrown));
  };
  useEffect(load, []);
  if (error !== null) return <Problem error={error} retry={load} />;
  if (listed === null) return <p class="quiet">Loading…</p>;
  const { templates, events } = listed;
  async function remove(template: Resource): Promise<void> {
    const name = textOf(template, "name");
    const isSure = await ask({
      title: `Delete the template ${name}?`,
      text: "Events that were made from it stay as they are. The template and its elements cannot be restored.",
      confirm: "Delete",
    });
    if (!isSure) return;
    await api.control
      .removeEventTemplate({ eventTemplateId: template.id })
      .then(() => announce(`The template ${name} is deleted.`), setError);
    load();
  }
  const noEvent = events.length === 0 ? "There is no event to make one from." : null;
  return (
    <div class="view">
      <div class="row spread">
        <p class="quiet">
          A template keeps the elements and settings of an event, and makes new events from them.
        </p>
        <Act class="main" refusal={refusal ?? noEvent} onPress={() => setAsked({ kind: "create" })}>
          New from an event…
        </Act>
      </div>
      {templates.length === 0 && (
        <p class="empty">There are no templates yet. Make the first from an event that went well.</p>
      )}
      <ul class="cards templates">
        {templates.map(template => (
          <TemplateCard
            key={template.id}
            template={template}
            refusal={refusal}
            onUse={() => setAsked({ kind: "use", template })}
            onRemove={() => remove(template)}
            context={context}
          />
        ))}
      </ul>
      {asked !== null && (
        <NameDialog
          context={context}
          asked={asked}
          events={events}
          onClose={() => setAsked(null)}
          onDone={() => {
            setAsked(null);
            load();
          }}
        />
      )}
    </div>
  );
}

async function readAll({ api, signal }: ViewContext, projectId: string): Promise<Listed> {
  const query = { projectId, sort: "name", "page[count]": 100 } as const;
  const [{ data: events }, templates] = await Promise.all([
    api.scopesBelow("events", projectId, { "page[count]": eventsMax }, signal),
    allOf(api.control.listProjectEventTemplates(query, { signal })),
  ]);
  return { templates, events };
}

interface TemplateCardProps {
  readonly template: Resource;
  readonly refusal: string | null;
  readonly context: ViewContext;
  readonly onUse: () => void;
  readonly onRemove: () => void;
}

function TemplateCard({ template, refusal, context, onUse, onRemove }: TemplateCardProps) {
  const name = textOf(template, "name");
  const count = Number(template.attributes.element_count ?? 0);
  const minutes = Math.round(Number(template.attributes.duration ?? 0) / 60);
  return (
    <li class="card stack">
      <strong>{name}</strong>
      <p class="quiet">
        {count} {count === 1 ? "element" : "elements"} ·{" "}
        {minutes === 0 ? "until it is stopped" : `${minutes} min`}
      </p>
      {count > 0 && <Elements template={template} context={context} />}
      <div class="row">
        <Act refusal={refusal} label={`New event from ${name}…`} onPress={onUse}>
          New event…
        </Act>
        <Act class="plain" refusal={refusal} label={`Delete ${name}…`} onPress={onRemove}>
          Delete…
        </Act>
      </div>
    </li>
  );
}

function Elements({ template, context: { api, signal } }: Pick<TemplateCardProps, "template" | "context">) {
  const [elements, setElements] = useState<readonly Readonly<Record<string, unknown>>[] | null>(null);
  const read = (): void => {
    if (elements !== null) return;
    const query = { eventTemplateId: template.id, "fields[event_templates]": "elements" };
    api.control.readEventTemplate(query, { signal }).then(
      ({ attributes }) =>
        setElements((attributes.elements ?? []) as readonly Readonly<Record<string, unknown>>[]),
      () => setElements([]),
    );
  };
  return (
    <details onToggle={read}>
      <summary>Elements</summary>
      <ol class="letters">
        {elements?.map(({ id, name, content_type: type }) => (
          <li key={String(id)}>
            {String(name || "Without a name")} <span class="quiet">{String(type)}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

interface NameDialogProps {
  readonly context: ViewContext;
  readonly asked: Asked;
  readonly events: readonly Resource[];
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const hints: Readonly<Record<Asked["kind"], string>> = {
  create: "Its elements and settings are copied. The event stays as it is.",
  use: "Its elements are drafts. It has no begin yet: plan it, or start it by hand.",
};

function NameDialog({ context, asked, events, onClose, onDone }: NameDialogProps) {
  const isNew = asked.kind === "create";
  const [eventId, setEventId] = useState(events[0]?.id ?? "");
  const [name, setName] = useState(isNew ? textOf(events[0] ?? { attributes: {} }, "name") : "");
  async function make(): Promise<void> {
    const made = await create(context, { asked, name: name.trim(), eventId });
    if (isNew) context.announce(`The template ${name} is made.`);
    else location.hash = hrefOf(made);
    onDone();
  }
  return (
    <FormDialog
      title={isNew ? "New template" : `New event from ${textOf(asked.template, "name")}`}
      confirm={isNew ? "Make the template" : "Make the event"}
      send={make}
      onClose={onClose}
    >
      {isNew && (
        <EventChoice
          events={events}
          value={eventId}
          onEvent={event => {
            setEventId(event.id);
            setName(textOf(event, "name"));
          }}
        />
      )}
      <label for="template-name">{isNew ? "Name of the template" : "Name of the event"}</label>
      <input
        id="template-name"
        value={name}
        required
        maxLength={200}
        onInput={event => setName(event.currentTarget.value)}
      />
      <p class="quiet">{hints[asked.kind]}</p>
    </FormDialog>
  );
}

interface EventChoiceProps {
  readonly events: readonly Resource[];
  readonly value: string;
  readonly onEvent: (event: Resource) => void;
}

function EventChoice({ events, value, onEvent }: EventChoiceProps) {
  return (
    <>
      <label for="template-event">Event</label>
      <select
        id="template-event"
        value={value}
        onChange={({ currentTarget: { selectedIndex } }) => {
          const event = events[selectedIndex];
          if (event !== undefined) onEvent(event);
        }}
      >
        {events.map(event => (
          <option key={event.id} value={event.id}>
            {textOf(event, "name")}
          </option>
        ))}
      </select>
    </>
  );
}

interface Creation {
  readonly asked: Asked;
  readonly name: string;
  readonly eventId: string;
}

async function create({ api, chain }: ViewContext, { asked, name, eventId }: Creation): Promise<Resource> {
  const to = <T extends string>(type: T, id: string) => ({ data: { type, id } });
  const project = to("projects", chain.at(-1)?.id ?? "");
  if (asked.kind === "create") {
    const relationships = { project, event: to("events", eventId) };
    const data = { type: "event_templates" as const, attributes: { name }, relationships };
    return (await api.control.createEventTemplate({ body: { data } })) as Resource;
  }
  const relationships = { project, template: to("event_templates", asked.template.id) };
  const data = { type: "events" as const, attributes: { name }, relationships };
  return (await api.control.createEvent({ body: { data } })) as Resource;
}
