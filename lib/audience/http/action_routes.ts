/**
 * Actions that back ends report: one, or up to a thousand, accepted into the queue; and those that users report of themselves.
 *
 * @module
 */

import * as v from "valibot";
import { uuid } from "../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type AnyRoute, envelope, looseRoute, type Reply } from "../../http/mod.ts";
import { type AcceptedBatch, batchPrefix, madeActionId } from "../actions/accepted_batches.ts";
import { checkAction, checkActions, type ReportedAction } from "../actions/check_actions.ts";
import { BulkAnswerSchema, bulkAnswer, type ItemResult, itemError } from "../batch/results.ts";
import type { QueuedAction } from "../worker/queued_action.ts";
import type { AudienceContext } from "./context.ts";
import type { AudienceUser, BackEnd } from "./guards.ts";

/** Largest body of a bulk request, in bytes. */
export const bulkBytesMax = 4_194_304;

const DataSchema = v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]));
const entries = {
  action: v.string(),
  actionId: v.exactOptional(v.string()),
  timestamp: v.exactOptional(v.string()),
  data: v.exactOptional(DataSchema),
  metadata: v.exactOptional(v.looseObject({})),
};
const ActionSchema = v.object({ userId: v.string(), ...entries });
const BatchItemSchema = v.object({ user_id: v.string(), data: v.object(entries) });
const BulkSchema = v.union([v.array(BatchItemSchema), v.object({ actions: v.array(ActionSchema) })]);
const OwnSchema = v.union([
  ...BulkSchema.options,
  v.object({ userId: v.exactOptional(v.string()), ...entries }),
]);
const QueuedSchema = v.object({
  message: v.string(),
  data: v.object({ actionId: v.string(), status: v.literal("queued") }),
  eventId: v.string(),
  processed: v.literal(false),
});
const bulkBody = { schema: v.unknown(), maxBytes: bulkBytesMax };
const accepted = {
  description: "What was accepted takes effect soon, once under its id",
  schema: BulkAnswerSchema,
};
const done = { description: "The actions of the user have taken effect", schema: BulkAnswerSchema };

/** Builds the routes of actions. */
export function actionRoutes(context: AudienceContext): readonly AnyRoute[] {
  const auth = context.guards.privateAudience("actions:write");
  const errors = ["validation_failed", "busy", "storage_unavailable", "outcome_unknown"] as const;
  return [
    looseRoute({
      method: "POST",
      path: "/v1/api/audience/internal/actions",
      operation: "queueAction",
      summary: "Report an action of a user; it is processed by the rules of the space soon",
      auth,
      body: { schema: v.unknown(), described: ActionSchema },
      responses: {
        202: { description: "The action is accepted and will not be lost", schema: QueuedSchema },
      },
      errors,
      handle: ({ principal, body }) => queueOne(context, principal, body),
    }),
    looseRoute({
      method: "POST",
      path: "/v1/api/audience/internal/actions/bulk",
      operation: "queueActions",
      summary: "Report up to 1,000 actions of users; those of one user count in their order",
      auth,
      body: { ...bulkBody, described: BulkSchema },
      responses: { 202: accepted },
      errors,
      handle: ({ principal, body }) => queueMany(context, principal, body),
    }),
    ...(["PUT", "POST"] as const).map(method =>
      looseRoute({
        method,
        path: "/api/audience/actions",
        operation: method === "PUT" ? "putAudienceActions" : "postAudienceActions",
        summary: "Report up to 1,000 actions of users, or of the user whose token is sent",
        auth: context.guards.batchAudience({ permission: "actions:write", scope: "audience:write" }),
        body: { ...bulkBody, described: OwnSchema },
        responses: { 200: done, 202: accepted },
        errors: [...errors, "forbidden"],
        handle: ({ principal, body }) =>
          principal.kind === "user"
            ? reportOwn(context, principal, body)
            : queueMany(context, principal, body),
      }),
    ),
  ];
}

async function queueOne(context: AudienceContext, { space }: BackEnd, body: unknown): Promise<Reply> {
  const { clock, random, intake } = context;
  const reported = checkAction(body, { now: clock(), userId: null });
  const eventId = `evt_${uuid(random)}`;
  const actionId = reported.actionId ?? eventId;
  const [refusal] = await intake.accept([
    { organisationId: space.organisationId, spaceId: space.id, ...reported, actionId },
  ]);
  if (refusal !== null) throw refusal;
  const json = {
    message: "The action is queued",
    data: { actionId, status: "queued" },
    eventId,
    processed: false,
  };
  return { status: 202, json };
}

async function queueMany(context: AudienceContext, { space }: BackEnd, body: unknown): Promise<Reply> {
  const { clock, random, intake } = context;
  const reported = checkActions(body, { now: clock(), userId: null });
  const { batchId, actions, results } = named(random, space, reported);
  const places = results.flatMap(({ status }, index) => (status === "queued" ? [index] : []));
  const isWhole = places.length === actions.length;
  const accepted = { organisationId: space.organisationId, spaceId: space.id, batchId, results };
  const [refusals] = await Promise.all([
    intake.accept(isWhole ? actions : actions.filter((_, index) => results[index]?.status === "queued")),
    remembered(context, accepted),
  ]);
  let refused = 0;
  for (const [at, refusal] of refusals.entries()) {
    const index = places[at];
    const result = index === undefined ? undefined : results[index];
    if (refusal === null || index === undefined || result === undefined) continue;
    refused += 1;
    results[index] = { ...result, status: "failed", error: itemError(refusal) };
  }
  // Nothing was accepted: the request as a whole may come again.
  if (refused === places.length) throw refusals[0];
  if (refused > 0) await remembered(context, accepted);
  return envelope(bulkAnswer(batchId, results, "queued"), { status: 202 });
}

/** That actions are accepted counts for more than that one can ask for them. */
async function remembered({ batches }: AudienceContext, batch: AcceptedBatch): Promise<void> {
  await batches.keep(batch).catch(() => {});
}

interface Named {
  readonly batchId: string;
  readonly actions: readonly QueuedAction[];
  readonly results: ItemResult[];
}

/** Gives ids to actions that have none, and finds those that the request names twice. */
function named(random: RandomBytes, space: BackEnd["space"], reported: readonly ReportedAction[]): Named {
  const { organisationId, id: spaceId } = space;
  const batchId = batchPrefix + uuid(random);
  const seen = new Set<string>();
  const actions: QueuedAction[] = [];
  const results: ItemResult[] = [];
  for (let index = 0; index < reported.length; index++) {
    const one = reported[index];
    if (one === undefined) continue;
    const { userId, action, data, at, metadata } = one;
    const actionId = one.actionId ?? madeActionId(batchId, index);
    const place = `${actionId} ${userId}`;
    const isRepeated = one.actionId !== null && seen.has(place);
    if (one.actionId !== null) seen.add(place);
    const queued = { organisationId, spaceId, userId, action, data, actionId, at };
    actions.push(metadata === undefined ? queued : { ...queued, metadata });
    results.push({ index, id: actionId, userId, status: isRepeated ? "duplicate" : "queued" });
  }
  return { batchId, actions, results };
}

/** What a user reports of itself takes effect at once, as with the loyalty API, and only what the space lets users report. */
async function reportOwn(context: AudienceContext, { member }: AudienceUser, body: unknown): Promise<Reply> {
  const { clock, random, loyalty } = context;
  const reported = checkActions(body, { now: clock(), userId: member.userId });
  if (reported.some(({ userId }) => userId !== member.userId)) {
    throw new AppError("forbidden", "Cannot act for another user with a user's token");
  }
  const batchId = batchPrefix + uuid(random);
  const results: ItemResult[] = [];
  for (const [index, { action, data, at, actionId, userId }] of reported.entries()) {
    const id = actionId ?? madeActionId(batchId, index);
    try {
      const isNew = await loyalty.report(member, { action, data, at, actionId: id, isClientReport: true });
      results.push({ index, id, userId, status: isNew ? "succeeded" : "duplicate" });
    } catch (error) {
      if (reported.length === 1) throw error;
      results.push({ index, id, userId, status: "failed", error: itemError(error) });
    }
  }
  return envelope(bulkAnswer(batchId, results, "succeeded"));
}
