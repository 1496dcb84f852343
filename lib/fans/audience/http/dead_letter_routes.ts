/** Routes of dead letters: actions that could not be applied. */

import * as v from "valibot";
import { isoTime } from "../../../base/calendar/mod.ts";
import { envelope, integerParameter, json, named, route } from "../../../http/mod.ts";
import { PropertiesSchema } from "../../loyalty/user/change_payload.ts";
import { TimeSchema } from "../lists/documents.ts";
import { type DeadAction, deadLetterPageMax, deadLettersMax } from "../worker/dead_letter_queue.ts";
import type { AudienceContext } from "./context.ts";
import { replySchema } from "./replies.ts";

const text = v.string();
const count = v.pipe(v.number(), v.integer(), v.minValue(0));

const DeadLetterSchema = named(
  "DeadLetter",
  v.object({
    deadLetterId: text,
    userId: text,
    spaceId: text,
    action: text,
    actionId: text,
    timestamp: TimeSchema,
    data: PropertiesSchema,
    metadata: v.nullable(v.record(text, v.unknown())),
    reason: v.object({ code: text, message: text }),
    attempts: count,
    failedAt: TimeSchema,
  }),
);

export const DeadActionsReply = replySchema("DeadActionsReply", {
  data: v.array(DeadLetterSchema),
  totalCount: count,
});
/** The ids that are queued again. */
export const DeadActionReplayReply = replySchema("DeadActionReplayReply", {
  data: v.object({ replayed: v.array(text), notFound: v.array(text) }),
});

const QuerySchema = v.object({
  limit: v.optional(
    integerParameter({
      description: "Most dead letters of the page",
      minimum: 1,
      maximum: deadLetterPageMax,
    }),
    "50",
  ),
  offset: v.optional(
    integerParameter({ description: "Number of newer dead letters to skip", maximum: deadLettersMax }),
    "0",
  ),
});
const deadLetterId = v.pipe(
  text,
  v.minLength(1),
  v.maxLength(64),
  v.check(id => id.isWellFormed()),
);
const ReplaySchema = named(
  "DeadActionIds",
  v.object({
    ids: v.pipe(
      v.array(deadLetterId),
      v.description("Ids of the dead letters to apply again"),
      v.minLength(1),
      v.maxLength(deadLetterPageMax),
    ),
  }),
);

export function deadLetterRoutes({ guards, deadLetters, intake }: AudienceContext) {
  const auth = guards.privateAudience("actions:write");
  return [
    route({
      method: "GET",
      path: "/v1/api/audience/internal/actions/dead-letters",
      operation: "listDeadActions",
      summary: "List actions that could not be applied",
      description: "Of the organisation, newest first, for 7 days.",
      auth,
      query: QuerySchema,
      responses: {
        200: { description: "The actions with the reasons", schema: DeadActionsReply },
      },
      errors: ["validation_failed"],
      handle: async ({ principal, query }) => {
        const { dead, size } = await deadLetters.list(principal.space.organisationId, query);
        return json(200, { message: "OK", data: dead.map(documentOf), totalCount: size });
      },
    }),
    route({
      method: "POST",
      path: "/v1/api/audience/internal/actions/dead-letters/replay",
      operation: "replayDeadActions",
      summary: "Queue dead letters again",
      description: "They are applied after all other queued actions of their users.",
      auth,
      body: { schema: ReplaySchema, example: { ids: ["1718452800000-0"] } },
      responses: {
        200: { description: "The ids that are queued again", schema: DeadActionReplayReply },
      },
      errors: ["validation_failed", "busy", "storage_unavailable", "outcome_unknown"],
      handle: async ({ principal, body }) => {
        const { organisationId } = principal.space;
        const ids = [...new Set(body.ids)];
        const found = await deadLetters.get(organisationId, ids);
        const refusals = await intake.accept(found.map(({ action }) => action));
        const replayed = found.filter((_, index) => refusals[index] === null).map(({ id }) => id);
        await deadLetters.remove(organisationId, replayed);
        const refusal = refusals.find(one => one !== null);
        if (refusal !== undefined) throw refusal;
        return envelope({ replayed, notFound: ids.filter(id => !replayed.includes(id)) });
      },
    }),
  ];
}

function documentOf({
  id,
  action: queued,
  reason,
  attempts,
  at,
}: DeadAction): Readonly<v.InferOutput<typeof DeadLetterSchema>> {
  const { userId, spaceId, action, actionId, data, metadata = null } = queued;
  return {
    deadLetterId: id,
    userId,
    spaceId,
    action,
    actionId,
    timestamp: isoTime(queued.at),
    data,
    metadata,
    reason,
    attempts,
    failedAt: isoTime(at),
  };
}
