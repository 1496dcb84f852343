/** Elements: what a show puts on screens. */

import * as v from "valibot";
import { elementStates } from "../element_times.ts";
import { annotated, attribute, define, myRole, owner, readOnly, withDefault } from "../resource.ts";
import { annotationFilter, fieldList, flag, line, scalar, seconds, statesFilter } from "../schemas.ts";

const votes = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(1_000));
const QuestionSchema = v.strictObject({
  fields: v.optional(fieldList(100)),
  options: v.optional(v.pipe(v.array(v.strictObject({ fields: fieldList(100) })), v.maxLength(100))),
});
const correctOption = v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(100));

/** Returns an attribute that is frozen from the first publication on. */
const draft = <S extends v.GenericSchema>(schema: S, description: string, value: unknown) =>
  attribute(schema, description, { write: "draft", default: value });

export const elements = define({
  elements: {
    description:
      "Something that an event puts on screens: a poll, a quiz, a message. Its state follows from its record, its event and the clock.",
    home: "project",
    operations: ["list", "read", "create", "change", "remove"],
    write: "creator",
    attributes: {
      content_type: attribute(
        v.pipe(v.string(), v.minLength(1), v.maxLength(100)),
        "Type of the content, one of the project's app",
        { write: "create", required: true },
      ),
      name: draft(line(0, 200), "Name for producers", ""),
      label: draft(line(0, 200), "Label for producers", ""),
      start_mode: draft(
        v.picklist(["manual", "timecode"]),
        "`timecode`: it is published `start_offset` seconds after the begin of the event",
        "manual",
      ),
      start_offset: draft(seconds, "Seconds between the begin of the event and its publication", 0),
      offset: draft(seconds, "Alias of `start_offset`", 0),
      duration: draft(seconds, "Seconds for which it is open; 0: until it is stopped or the event ends", 0),
      duration_mode: draft(v.picklist(["fixed"]), "How the duration is decided", "fixed"),
      certification: draft(v.boolean(), "True if its results are to be certified", false),
      include_in_latest_results_feed: draft(v.boolean(), "True if the feed of latest results has it", false),
      require_verified_user: draft(v.boolean(), "True if only verified users may take part", false),
      max_votes_per_user: draft(votes, "Most votes of a user; 0 means no bound", 1),
      max_votes_per_option: draft(votes, "Most votes of a user for one option; 0 means no bound", 1),
      min_options_per_vote: draft(votes, "Fewest options of a vote", 1),
      max_options_per_vote: draft(votes, "Most options of a vote", 1),
      reveal_results_mode: withDefault(
        v.picklist(["vote", "close", "event_end", "never", "manual"]),
        "When results are shown",
        "vote",
      ),
      reveal_answer_mode: withDefault(
        v.picklist(["auto", "manual"]),
        "`auto`: the answer is shown `reveal_answer_in` seconds after the end",
        "manual",
      ),
      reveal_answer_in: withDefault(seconds, "Seconds between the end and the answer", 0),
      reveal_answer_on_vote: withDefault(v.boolean(), "True if a user sees the answer with the vote", false),
      correct_option: attribute(
        correctOption,
        "Number of the right option, counted from 1; 0 means that none is known",
        { nullable: true },
      ),
      custom_fields: attribute(
        fieldList(200),
        "Fields of the content type; a PATCH replaces the listed ones",
        {
          write: "draft",
          join: "byKey",
          default: [],
        },
      ),
      question: attribute(QuestionSchema, "Question and options; a PATCH of a part leaves the rest", {
        write: "draft",
        join: "merge",
        nullable: true,
      }),
      annotations: annotated,
      state: readOnly(v.picklist(elementStates), "State at the time of the answer"),
      actions: readOnly(v.array(v.string()), "Actions that are possible now"),
      position: readOnly(v.number(), "Place in the order of the event, from 0"),
      published_at: readOnly(scalar, "When it was published, in Unix seconds"),
      published_at_iso: readOnly(scalar, "`published_at` as ISO 8601"),
      revoked_at: readOnly(scalar, "When it was revoked, in Unix seconds"),
      revoked_at_iso: readOnly(scalar, "`revoked_at` as ISO 8601"),
      results_revealed_at_iso: readOnly(scalar, "When its results were revealed, as ISO 8601"),
      answer_revealed_at_iso: readOnly(scalar, "When its answer was revealed, as ISO 8601"),
    },
    relationships: {
      event: owner("events"),
      parent: { kind: "one", type: "elements", write: "always", description: "The wrapper that shows it" },
      children: { kind: "many", type: "elements", description: "The elements of a wrapper, in order" },
      stats: { kind: "one", type: "stats", description: "Its statistics" },
      my_role: myRole,
    },
    actions: ["publish", "stop", "reveal_answer", "reveal_results", "revoke"],
    createActions: ["publish"],
    under: ["events"],
    filters: {
      state: statesFilter(elementStates),
      include_in_latest_results: flag,
      content_type: v.pipe(v.string(), v.maxLength(2_000)),
      annotation: annotationFilter,
    },
    sorts: ["position", "published_at", "created_at"],
    include: [
      "event",
      "event.project",
      "event.project.my_role",
      "event.project.space",
      "event.project.space.my_role",
      "event.project.space.organisation",
      "event.project.space.organisation.my_role",
      "stats",
      "parent",
      "my_role",
    ],
    example: { content_type: "poll", name: "Who wins?" },
    changeExample: { label: "1" },
  },
});
