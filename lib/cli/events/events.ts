/** Commands about events. */

import { instant, oneOf, someOf, whole } from "../frame/checks.ts";
import type { CommandSpec } from "../frame/command.ts";
import type { ControlApi } from "../frame/control_api.ts";
import { invalid } from "../frame/errors.ts";
import { type Fields, fieldsOf, listed, record, rows } from "../frame/output.ts";
import { documentOf, pathOf, type ResourceObject, relation } from "../frame/resources.ts";
import { pruneEvents, scheduleEvent, startEvent, stopEvent } from "./changes.ts";
import { countsOf, durationMax, eventFields, idArgument, projectFlag } from "./fields.ts";

const nameFlag = { value: "text", description: "The name" };
const oneEvent = record(eventFields);
const counted: Fields = { id: ["ID", "text"], name: ["NAME", "text"], elements: ["ELEMENTS", "whole"] };

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
  output: record(counted),
  async run({ args: [eventId = ""], flags }, { api: open }) {
    const api = await open();
    const path = pathOf({ kind: "event", id: eventId });
    const { data: source } = await api.get(path);
    const name = flags.name ?? `${source.attributes.name} (copy)`;
    const { data: copy } = await api.write("POST", `${path}/clone`, {
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
  requests: 1,
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
    return { data: await addEvent(await api(), project, attributes) };
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
    const { data: template } = await api.get(pathOf({ kind: "event-template", id: templateId }));
    const owner = relation(template, "project");
    if (owner !== project) {
      throw invalid(`The template ${templateId} is of another project: ${owner}`, {
        next: `grandstand events templates --project ${project}`,
      });
    }
    const attributes = { name: name ?? template.attributes.name };
    return { data: await addEvent(api, project, attributes, templateId) };
  },
};

async function addEvent(
  api: ControlApi,
  project: string,
  attributes: Readonly<Record<string, unknown>>,
  templateId?: string,
) {
  const related = templateId === undefined ? {} : { template: { type: "event_templates", id: templateId } };
  const event = await api.create("events", attributes, { kind: "project", id: project }, { related });
  return fieldsOf(eventFields, event);
}

const listFields: Fields = {
  ...eventFields,
  drafts: ["DRAFT", "whole"],
  published: ["PUBLISHED", "whole"],
};

const listEvents: CommandSpec = {
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
  requests: 1,
  output: rows(listFields),
  async run({ flags: { project = "", state } }, { api }) {
    const path = pathOf({ kind: "project", id: project }, "events");
    const query = { sort: "-start_at", "filter[state]": state };
    return listed(await (await api()).all(path, query), listFields, event => {
      const { drafts, published } = countsOf(event);
      return { drafts, published };
    });
  },
};

const listTemplates: CommandSpec = {
  words: ["events", "templates"],
  summary: "List the event templates of a project",
  flags: { project: projectFlag },
  examples: ["events templates --project $PROJECT"],
  requests: 1,
  output: rows(counted),
  async run({ flags: { project = "" } }, { api }) {
    const path = pathOf({ kind: "project", id: project }, "event_templates");
    const elementsOf = ({ attributes }: ResourceObject) => ({ elements: attributes.element_count });
    return listed(await (await api()).all(path), counted, elementsOf);
  },
};

/** Commands that begin with `events`. */
export const eventsCommands: readonly CommandSpec[] = [
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
