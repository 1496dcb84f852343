/**
 * Actions that could not take effect: listing them with the reason, and queueing them again.
 *
 * @module
 */

import * as v from "valibot";
import { type AnyRoute, envelope, looseRoute } from "../../http/mod.ts";
import { PropertiesSchema } from "../../loyalty/views/change_payload.ts";
import { isoTime } from "../_times.ts";
import { type DeadLetter, deadLetterPageMax, deadLettersMax } from "../worker/dead_letters.ts";
import type { AudienceContext } from "./context.ts";

const pageDefault = 50;

const ListSchema = v.object({
  message: v.string(),
  data: v.array(
    v.object({
      deadLetterId: v.string(),
      userId: v.string(),
      spaceId: v.string(),
      action: v.string(),
      actionId: v.string(),
      timestamp: v.string(),
      data: PropertiesSchema,
      metadata: v.nullable(v.record(v.string(), v.unknown())),
      reason: v.object({ code: v.string(), message: v.string() }),
      attempts: v.number(),
      failedAt: v.string(),
    }),
  ),
  totalCount: v.number(),
});
const number = v.pipe(v.string(), v.regex(/^\d{1,5}$/, "Expected a whole number"), v.transform(Number));
const QuerySchema = v.object({
  limit: v.optional(v.pipe(number, v.minValue(1), v.maxValue(deadLetterPageMax)), `${pageDefault}`),
  offset: v.optional(v.pipe(number, v.maxValue(deadLettersMax)), "0"),
});
const ReplaySchema = v.object({
  ids: v.pipe(
    v.array(
      v.pipe(
        v.string(),
        v.minLength(1),
        v.maxLength(64),
        v.check(text => text.isWellFormed()),
      ),
    ),
    v.minLength(1),
    v.maxLength(deadLetterPageMax),
  ),
});
const ReplayedSchema = v.object({
  message: v.string(),
  data: v.object({ replayed: v.array(v.string()), notFound: v.array(v.string()) }),
});

/** Builds the routes of dead letters. */
export function deadLetterRoutes({ guards, deadLetters, intake }: AudienceContext): readonly AnyRoute[] {
  const auth = guards.privateAudience("actions:write");
  return [
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/internal/actions/dead-letters",
      operation: "listDeadActions",
      summary: "Actions of the organisation that could not take effect, newest first, for 7 days",
      auth,
      query: QuerySchema,
      responses: { 200: { description: "The actions with the reasons", schema: ListSchema } },
      errors: ["validation_failed"],
      handle: async ({ principal, query }) => {
        const { letters, size } = await deadLetters.list(principal.space.organisationId, query);
        return { status: 200, json: { message: "OK", data: letters.map(shown), totalCount: size } };
      },
    }),
    looseRoute({
      method: "POST",
      path: "/v1/api/audience/internal/actions/dead-letters/replay",
      operation: "replayDeadActions",
      summary: "Queue dead actions again, behind all others of their users",
      auth,
      body: { schema: ReplaySchema },
      responses: { 200: { description: "Which ones are queued again", schema: ReplayedSchema } },
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

function shown({ id, action: queued, reason, attempts, at }: DeadLetter): unknown {
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
