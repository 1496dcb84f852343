/** Events, their templates and statistics. */

import * as v from "valibot";
import { eventStates } from "../../../fans/directory/event_times.ts";
import { annotated, attribute, define, myRole, owner, readOnly, withDefault } from "../resource.ts";
import {
  annotationFilter,
  fieldList,
  flag,
  jsonObject,
  resourceName,
  scalar,
  seconds,
  statesFilter,
  unixSeconds,
} from "../schemas.ts";

/** What events and templates are in, with the roles there. */
const above = [
  "project",
  "project.my_role",
  "project.space",
  "project.space.my_role",
  "project.space.organisation",
  "project.space.organisation.my_role",
] as const;

export const events = define({
  events: {
    description: "A show or match of a project. Its state follows from its record and the clock.",
    home: "project",
    operations: ["list", "read", "create", "change", "remove"],
    write: "creator",
    attributes: {
      name: attribute(resourceName, "Name", { required: true }),
      duration: withDefault(seconds, "Seconds from begin to end; 0: until it is stopped", 3_600),
      original_duration: readOnly(scalar, "The duration before extra time, in seconds"),
      start_mode: withDefault(
        v.picklist(["manual", "clock"]),
        "`clock`: it begins at `start_at`; `manual`: with the action `start`",
        "manual",
      ),
      start_at: attribute(unixSeconds, "When it begins, in Unix seconds; 0 or null for manual events", {
        nullable: true,
      }),
      start_at_iso: readOnly(scalar, "`start_at` as ISO 8601"),
      end_mode: withDefault(
        v.picklist(["duration", "scheduled"]),
        "`scheduled`: it ends at `end_at`",
        "duration",
      ),
      end_at: attribute(unixSeconds, "When it ends, in Unix seconds", { nullable: true }),
      end_at_iso: readOnly(scalar, "`end_at` as ISO 8601"),
      repeat: withDefault(v.boolean(), "True if a copy of it begins after its end", false),
      repeat_in: withDefault(
        v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(525_600)),
        "Minutes between its end and the begin of the copy",
        0,
      ),
      on_demand_duration: withDefault(seconds, "Seconds for which it stays on demand after its end", 0),
      extra_time_duration: withDefault(seconds, "Seconds that the end is put off", 0),
      settings: attribute(
        fieldList(1_000),
        "Settings of the app for this event; a PATCH replaces the listed ones",
        { join: "byKey", default: [] },
      ),
      services: attribute(jsonObject, "Settings of the platform's areas for this event, by section", {
        join: "merge",
        default: {},
        heavy: true,
        role: "admin",
      }),
      annotations: annotated,
      state: readOnly(v.picklist(eventStates), "State at the time of the answer"),
      actions: readOnly(v.array(v.picklist(["start", "stop"])), "Actions that are possible now"),
      live_stats_uuid: readOnly(v.string(), "Id in the address of the live statistics"),
      element_counts: readOnly(
        jsonObject,
        "Number of elements in all, of drafts, scheduled and published ones",
      ),
      urls: readOnly(jsonObject, "Addresses of the event and its feeds"),
    },
    relationships: {
      project: owner("projects"),
      template: {
        kind: "one",
        type: "event_templates",
        write: "create",
        description: "The template that it is made from",
      },
      stats: { kind: "one", type: "stats", description: "Its statistics" },
      elements: { kind: "link", type: "elements", write: "always", description: "Its elements, in order" },
      my_role: myRole,
    },
    actions: ["start", "stop"],
    createActions: ["start"],
    under: ["projects"],
    filters: {
      state: statesFilter(eventStates),
      only_listings: flag,
      before: v.pipe(v.string(), v.isoTimestamp("Expected an ISO 8601 time")),
      annotation: annotationFilter,
    },
    sorts: ["start_at", "start_time", "created_at"],
    include: ["project.app", ...above, "stats", "my_role"],
    example: { name: "Final", duration: 7_200 },
  },
  event_templates: {
    description: "A blueprint of events with their elements.",
    home: "project",
    operations: ["list", "read", "create", "change", "remove"],
    write: "creator",
    attributes: {
      name: attribute(resourceName, "Name", { required: true }),
      duration: withDefault(seconds, "Duration of its events, in seconds", 3_600),
      settings: attribute(fieldList(1_000), "Settings of its events", { join: "byKey", default: [] }),
      annotations: annotated,
      elements: readOnly(v.array(jsonObject), "The elements of its events", { default: [], heavy: true }),
      element_count: readOnly(v.number(), "Number of its elements", { default: 0 }),
    },
    relationships: {
      project: owner("projects"),
      event: {
        kind: "one",
        type: "events",
        write: "create",
        description: "The event whose settings and elements are copied into it",
      },
    },
    under: ["projects"],
    filters: { annotation: annotationFilter },
    sorts: ["name", "created_at"],
    include: above,
    example: { name: "Match" },
  },
  stats: {
    noun: "statistics",
    description: "Counts of actions that named an event or one of its elements. Read as `include=stats`.",
    home: "project",
    operations: [],
    write: "operator",
    attributes: {
      actions: readOnly(v.number(), "Number of actions", { default: 0 }),
      options: readOnly(jsonObject, "Number of choices by option, counted from 1", { default: {} }),
    },
  },
});
