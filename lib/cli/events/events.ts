/** Commands about events. */

import type { Change } from "../../authoring/table/element_batches.ts";
import { isTimed } from "../elements/apply.ts";
import { listElements, sendChanges } from "../elements/batches.ts";
import { instant, oneOf, someOf, whole } from "../frame/checks.ts";
import type { CliContext, CommandSpec } from "../frame/command.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { CliError, conflict, exits, invalid } from "../frame/errors.ts";
import { dryRunFlag, eventFlag, idArgument, projectFlag, yesFlag } from "../frame/flags.ts";
import { listCommand } from "../frame/list_command.ts";
import { type Fields, fieldsOf, record, rows } from "../frame/output.ts";
import { documentOf, pathOf, type ResourceObject, relation } from "../frame/resources.ts";
import { isoTime } from "../frame/text.ts";
import { countsOf, durationMax, eventFields, namesOf } from "./fields.ts";

const nameFlag = { value: "text", description: "The name" };
const oneEvent = record(eventFields);
const countedFields: Fields = { id: "text", name: "text", elements: "whole" };

const cloneEvent: CommandSpec = {
  words: ["events", "clone"],
  summary: "Copy an event with all its elements, as drafts",
  args: [idArgument("source-id", "The event")],
  flags: {
    name: { ...nameFlag, description: 'Name of the copy; otherwise that of the event and " (copy)"' },
  },
  changes: "Creates a manual event and its elements",
  examples: ["events clone $EVENT --name Rerun", "events clone $EVENT"],
  requests: 2,
  output: record(countedFields),
  async run({ args: [eventId = ""], flags }, { api: open }) {
    const api = await open();
    const event = { kind: "event", id: eventId } as const;
    const { data: source } = await api.read(event);
    const name = flags.name ?? `${source.attributes.name} (copy)`;
    const { data: copy } = await api.write("POST", pathOf(event, "clone"), {
      within: { kind: "project", id: relation(source, "project") ?? "" },
      document: documentOf("events", { name }),
    });
    return { data: { id: copy.id, name, elements: countsOf(copy).all } };
  },
};

const createEvent: CommandSpec = {
  words: ["events", "create"],
  summary: "Create an event",
  flags: {
    project: projectFlag,
    name: { ...nameFlag, required: true },
    duration: {
      value: "seconds",
      description: "Seconds from begin to end; 0: until it is stopped",
      otherwise: "3600",
      check: whole(0, durationMax),
    },
    "start-at": {
      value: "time",
      description: "When it begins by the clock; without it somebody starts it",
      check: instant,
    },
    "start-mode": {
      value: "mode",
      description: "manual or clock; otherwise as --start-at says",
      check: oneOf("manual", "clock"),
    },
  },
  changes: "Creates an event",
  examples: [
    "events create --project $PROJECT --name Final --duration 7200",
    "events create --project $PROJECT --name Final --start-at 2099-11-22T20:00:00+01:00",
  ],
  output: oneEvent,
  async run({ flags }, { api }) {
    const { project = "", name, duration, "start-at": startAt } = flags;
    const mode = flags["start-mode"] ?? (startAt === undefined ? "manual" : "clock");
    if (mode === "clock" && startAt === undefined) {
      throw invalid("An event that begins by the clock needs --start-at");
    }
    const attributes = {
      name,
      duration: Number(duration),
      start_mode: mode,
      start_at: startAt === undefined ? null : Date.parse(startAt) / 1_000,
    };
    const event = await (await api()).create("events", attributes, { kind: "project", id: project });
    return { data: fieldsOf(eventFields, event) };
  },
};

const fromTemplate: CommandSpec = {
  words: ["events", "from-template"],
  summary: "Create an event with the elements of a template",
  args: [idArgument("template-id", "The template")],
  flags: {
    project: projectFlag,
    name: { ...nameFlag, description: "The name; otherwise that of the template" },
  },
  changes: "Creates an event and its elements",
  examples: ["events from-template $TEMPLATE --project $PROJECT"],
  requests: 2,
  output: oneEvent,
  async run({ args: [templateId = ""], flags: { project = "", name } }, { api: open }) {
    const api = await open();
    const { data: template } = await api.read({ kind: "event-template", id: templateId });
    const owner = relation(template, "project");
    if (owner !== project) {
      throw invalid(`The template ${templateId} is of another project: ${owner}`, {
        next: `grandstand events templates --project ${project}`,
      });
    }
    const attributes = { name: name ?? template.attributes.name };
    const related = { template: { type: "event_templates", id: templateId } };
    const event = await api.create("events", attributes, { kind: "project", id: project }, { related });
    return { data: fieldsOf(eventFields, event) };
  },
};

const listFields: Fields = { ...eventFields, drafts: ["DRAFT", "whole"], published: "whole" };

const listEvents = listCommand({
  words: ["events", "list"],
  summary: "List the events of a project, the latest first",
  flags: {
    project: projectFlag,
    state: {
      value: "states",
      description: "Some of future, current, on_demand and past, separated by commas; otherwise all",
      check: someOf("future", "current", "on_demand", "past"),
    },
  },
  examples: ["events list --project $PROJECT", "events list --project $PROJECT --state future,current"],
  fields: listFields,
  path: ({ project = "" }) => pathOf({ kind: "project", id: project }, "events"),
  query: ({ state }) => ({ sort: "-start_at", "filter[state]": state }),
  more(event) {
    const { drafts, published } = countsOf(event);
    return { drafts, published };
  },
});

const listTemplates = listCommand({
  words: ["events", "templates"],
  summary: "List the event templates of a project",
  flags: { project: projectFlag },
  examples: ["events templates --project $PROJECT"],
  fields: countedFields,
  path: ({ project = "" }) => pathOf({ kind: "project", id: project }, "event_templates"),
  more: ({ attributes }) => ({ elements: attributes.element_count }),
});

const pruneEvents: CommandSpec = {
  words: ["events", "prune"],
  summary: "Delete future and past events that have no elements, or only drafts",
  flags: {
    project: projectFlag,
    empty: { description: "Only events without any element" },
    before: { value: "time", description: "Only events that begin, or were created, before", check: instant },
    "dry-run": dryRunFlag,
    yes: yesFlag,
  },
  changes: "Deletes events with their drafts",
  examples: ["events prune --project $PROJECT --yes", "events prune --project $PROJECT --empty --dry-run"],
  requests: 2,
  output: rows({ id: "text", name: "text", state: "text", reason: "text", result: "text" }),
  exits: { [exits.conflict]: "An event changed meanwhile and was kept" },
  async run({ flags }, context) {
    const { project = "", before } = flags;
    const api = await context.api();
    const path = pathOf({ kind: "project", id: project }, "events");
    const { data: events } = await api.all(path, { "filter[state]": "future,past" });
    const end = before === undefined ? Number.POSITIVE_INFINITY : Date.parse(before) / 1_000;
    const found = events.filter(event => {
      const { all, drafts } = countsOf(event);
      const { start_at: start, created_at: created } = event.attributes;
      return all === ("empty" in flags ? 0 : drafts) && Number(start ?? created) < end;
    });
    const isDry = "dry-run" in flags;
    if (!isDry && found.length > 0) await context.confirm(`Delete ${namesOf(found)}`);
    const data = [];
    for (const event of found) {
      const { id: eventId, attributes } = event;
      const { all } = countsOf(event);
      const reason = all === 0 ? "no elements" : `${counted(all, "draft")} only`;
      const result = isDry ? "would be deleted" : await remove(api, event, project);
      if (result === "deleted") context.done(`deleted ${eventId}`);
      context.progress(`${data.length + 1} of ${found.length} events`);
      data.push({ id: eventId, name: attributes.name, state: attributes.state, reason, result });
    }
    const isKept = data.some(({ result }) => result === "kept: changed meanwhile");
    return { data, exit: isKept ? exits.conflict : exits.ok };
  },
};

/** Deletes an event that is still as it was listed, and says what became of it. */
async function remove(
  api: ControlApi,
  { id: eventId, meta }: ResourceObject,
  project: string,
): Promise<string> {
  try {
    await api.write("DELETE", pathOf({ kind: "event", id: eventId }), {
      within: { kind: "project", id: project },
      ifMatch: String(meta?.etag),
    });
    return "deleted";
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    if (error.exit === exits.notFound) return "gone already";
    if (error.exit === exits.conflict) return "kept: changed meanwhile";
    throw error;
  }
}

const scheduleEvent: CommandSpec = {
  words: ["events", "schedule"],
  summary: "Stagger the unpublished elements of a future event by timecodes, children with their wrapper",
  flags: {
    event: eventFlag,
    "space-seconds": {
      value: "seconds",
      description: "Seconds between two elements",
      otherwise: "180",
      check: whole(0, durationMax),
    },
    "start-offset": {
      value: "seconds",
      description: "Seconds from the begin of the event to the first one",
      otherwise: "0",
      check: whole(0, durationMax),
    },
    "dry-run": dryRunFlag,
  },
  changes: "Sets start_mode and start_offset of elements, all or none",
  examples: ["events schedule --event $FUTURE_EVENT --space-seconds 60"],
  requests: 3,
  output: rows({
    order: "whole",
    id: ["ELEMENT", "text"],
    name: "text",
    old_offset: ["OLD", "whole?"],
    offset: "whole",
    wrapper: "text?",
  }),
  exits: { [exits.conflict]: "The event is not future" },
  async run({ flags }, context) {
    const { event: eventId = "" } = flags;
    const within = { kind: "event", id: eventId } as const;
    const api = await context.api();
    const { state } = (await api.read(within)).data.attributes;
    if (state !== "future") throw conflict(`Cannot schedule the event as it is ${state}, not future`);
    const elements = (await listElements(api, eventId)).filter(({ attributes }) =>
      ["non_scheduled", "future"].includes(String(attributes.state)),
    );
    // A wrapper without its children would be shown empty.
    const shownBy = (wrapper: string | null): readonly ResourceObject[] =>
      elements.filter(element => relation(element, "parent") === wrapper);
    const data = shownBy(null).flatMap((top, index) =>
      [top, ...shownBy(top.id)].map(({ id: elementId, attributes }) => ({
        order: index + 1,
        id: elementId,
        name: attributes.name,
        old_offset: isTimed({ attributes }) ? attributes.start_offset : null,
        offset: Number(flags["start-offset"]) + index * Number(flags["space-seconds"]),
        wrapper: elementId === top.id ? null : top.id,
      })),
    );
    const changes = data.map(({ id: elementId, offset }): Change => {
      const attributes = { start_mode: "timecode", start_offset: offset };
      return { op: "update", id: elementId, attributes };
    });
    await sendChanges(context, changes, { within, isDryRun: "dry-run" in flags });
    return { data };
  },
};

const stateOutput = record({ id: "text", name: "text", state: "text", result: "text" });

const startEvent: CommandSpec = {
  words: ["events", "start"],
  summary: "Start a manual event",
  args: [idArgument("id", "The event")],
  changes: "Starts the event",
  examples: ["events start $FUTURE_EVENT"],
  requests: 2,
  output: stateOutput,
  exits: {
    [exits.ok]: "Started, or running already",
    [exits.conflict]: "It is over, or begins by the clock",
  },
  run: ({ args: [eventId = ""] }, context) => act(context, eventId, "start"),
};

const stopEvent: CommandSpec = {
  words: ["events", "stop"],
  summary: "Stop an event",
  args: [idArgument("id", "The event")],
  changes: "Stops the event; one that is on demand is past then",
  examples: ["events stop $EVENT"],
  requests: 2,
  output: stateOutput,
  exits: { [exits.ok]: "Stopped, or past already", [exits.conflict]: "It has not begun" },
  run: ({ args: [eventId = ""] }, context) => act(context, eventId, "stop"),
};

const aims = { start: { state: "current", done: "started" }, stop: { state: "past", done: "stopped" } };

/** Looks first, as the server refuses what is done already. */
async function act(context: CliContext, eventId: string, action: "start" | "stop") {
  const api = await context.api();
  const within = { kind: "event", id: eventId } as const;
  for (let isAgain = false; ; isAgain = true) {
    const { data: event } = await api.read(within);
    const { name, state, actions } = event.attributes;
    if (state === aims[action].state)
      return { data: { id: eventId, name, state, result: `already ${state}` } };
    if (isAgain || !(actions as readonly string[]).includes(action)) throw impossible(event, action);
    try {
      const { state: now } = (await api.change(within, { action })).data.attributes;
      return { data: { id: eventId, name, state: now, result: aims[action].done } };
    } catch (error) {
      // Somebody else was faster.
      if (!(error instanceof CliError && error.options.status === 422)) throw error;
    }
  }
}

function impossible({ attributes }: ResourceObject, action: string): CliError {
  const { state, start_mode: mode, start_at: at } = attributes;
  if (action === "start" && state === "future" && mode === "clock") {
    return conflict(`Cannot start the event: it begins by the clock at ${isoTime(at as number)}`);
  }
  return conflict(`Cannot ${action} the event as it is ${state}`);
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

export const commands: readonly CommandSpec[] = [
  cloneEvent,
  createEvent,
  fromTemplate,
  listEvents,
  pruneEvents,
  scheduleEvent,
  startEvent,
  stopEvent,
  listTemplates,
];
