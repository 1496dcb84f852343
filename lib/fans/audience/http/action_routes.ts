/** Routes of reported actions: queued for back ends, applied at once for users. */

import * as v from "valibot";
import { uuid } from "../../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { envelope, type JsonReply, json, named, route } from "../../../http/mod.ts";
import type { Properties } from "../../../http/requests/validate.ts";
import { createPause } from "../../../storage/background/mod.ts";
import { batchPrefix, generatedActionId } from "../actions/accepted_batches.ts";
import { checkAction, checkActions, type ReportedAction } from "../actions/check_actions.ts";
import { NamedProjects } from "../batch/items.ts";
import { type BulkResult, bulkResult, ItemErrors, type ItemResult } from "../batch/results.ts";
import type { QueuedAction } from "../worker/queued_action.ts";
import type { AudienceContext } from "./context.ts";
import type { AudienceUser, BackEnd } from "./guards.ts";
import { BulkReplySchema, replySchema } from "./replies.ts";

export const bulkBytesMax = 4_194_304;

const DataSchema: v.GenericSchema<Properties> = v.record(
  v.string(),
  v.union([v.string(), v.number(), v.boolean()]),
);
const entries = {
  action: v.pipe(v.string(), v.description("Name of an action of the space's configuration")),
  actionId: v.exactOptional(v.pipe(v.string(), v.description("The action takes effect once under this id"))),
  projectId: v.exactOptional(
    v.pipe(
      v.string(),
      v.uuid(),
      v.description("The user's project, for users who did not sign up; only back ends may set it"),
    ),
  ),
  timestamp: v.exactOptional(
    v.pipe(v.string(), v.isoTimestamp(), v.description("A time of the last 7 days; default now")),
  ),
  data: v.pipe(
    v.exactOptional(DataSchema),
    v.description("Facts of the action, which rules compare and add up"),
  ),
  metadata: v.exactOptional(
    v.pipe(v.looseObject({}), v.description("Shown with transactions of the action and with a dead letter")),
  ),
};
const userId = v.pipe(v.string(), v.description("Id of the user who acted"));
const ActionSchema = named("AudienceAction", v.object({ userId, ...entries }));
const BulkSchema = named(
  "AudienceActions",
  v.union([
    v.object({ actions: v.pipe(v.array(ActionSchema), v.description("1 to 1,000 actions")) }),
    v.array(v.object({ user_id: userId, data: v.pipe(v.object(entries), v.description("The action")) })),
  ]),
);
const OwnSchema = named(
  "OwnActions",
  v.union([...BulkSchema.options, v.object({ userId: v.exactOptional(userId), ...entries })]),
);
const QueuedSchema = replySchema("QueuedActionReply", {
  data: v.object({ actionId: v.string(), status: v.literal("queued") }),
  eventId: v.string(),
  processed: v.literal(false),
});
const example = { userId: "somebody", action: "prediction", data: { outcome: "exact" } };
const bulkBody = { schema: v.unknown(), maxBytes: bulkBytesMax, example: { actions: [example] } };
const accepted = {
  description: "Accepted actions are applied soon, once under their ids",
  schema: BulkReplySchema,
};

export function actionRoutes(context: AudienceContext) {
  const { guards } = context;
  const auth = guards.privateAudience("actions:write");
  const errors = ["validation_failed", "busy", "storage_unavailable", "outcome_unknown"] as const;
  return [
    route({
      method: "POST",
      path: "/v1/api/audience/internal/actions",
      operation: "queueAction",
      summary: "Queue an action of a user",
      description: "The action is applied by the rules of the space soon, once under its id.",
      auth,
      body: { schema: v.unknown(), described: ActionSchema, example },
      responses: { 202: { description: "The action is stored in the queue", schema: QueuedSchema } },
      errors,
      handle: ({ principal, body }) => queueOne(context, principal, body),
    }),
    route({
      method: "POST",
      path: "/v1/api/audience/internal/actions/bulk",
      operation: "queueActions",
      summary: "Queue up to 1,000 actions of users",
      description:
        "The actions of one user are applied in their order. An invalid item refuses the request as a whole.",
      auth,
      body: { ...bulkBody, described: BulkSchema },
      responses: { 202: accepted },
      errors,
      handle: ({ principal, body }) => queueMany(context, principal, body),
    }),
    batchRoute(context),
    ...(["PUT", "POST"] as const).map(method =>
      route({
        method,
        path: "/api/audience/actions",
        operation: method === "PUT" ? "putAudienceActions" : "postAudienceActions",
        summary: "Report up to 1,000 actions",
        description:
          "Queues the actions that back ends report. Applies at once what users report of themselves.",
        auth: guards.batchAudience("actions:write", "audience:write"),
        body: { ...bulkBody, described: OwnSchema },
        responses: {
          200: { description: "The user's actions are applied", schema: BulkReplySchema },
          202: accepted,
        },
        errors: [...errors, "forbidden"],
        handle: ({ principal, body }) =>
          principal.kind === "user"
            ? applyOwn(context, principal, body)
            : queueMany(context, principal, body),
      }),
    ),
  ];
}

function batchRoute({ guards, batches }: AudienceContext) {
  return route({
    method: "GET",
    path: "/v1/api/audience/internal/actions/:batchId",
    operation: "getActionBatch",
    summary: "Get the state of a bulk request's actions",
    description: "For a day after the request.",
    auth: guards.privateAudience("actions:write"),
    params: v.object({
      batchId: v.pipe(
        v.string(),
        v.regex(/^bat_[0-9a-f-]{36}$/, "Expected the id of a bulk request"),
        v.description("Id of the bulk request"),
      ),
    }),
    responses: {
      200: {
        description: "Each action is queued, succeeded, or failed with the reason",
        schema: BulkReplySchema,
      },
    },
    errors: ["not_found", "validation_failed"],
    handle: async ({ principal: { space }, params: { batchId } }) => {
      const key = { organisationId: space.organisationId, spaceId: space.id, batchId };
      const results = await batches.find(key);
      if (results === null) {
        throw new AppError("not_found", "Cannot find the bulk request: it is unknown or more than a day old");
      }
      return envelope(bulkResult(batchId, results, "queued", "succeeded"));
    },
  });
}

async function queueOne(
  { clock, random, intake, directory }: AudienceContext,
  { space, accountIssuer }: BackEnd,
  body: unknown,
): Promise<JsonReply<202, v.InferOutput<typeof QueuedSchema>>> {
  const projects = new NamedProjects();
  const reported = checkAction(body, { now: clock(), userId: null, projects, accountIssuer });
  await projects.check(directory, space);
  const eventId = `evt_${uuid(random)}`;
  const actionId = reported.actionId ?? eventId;
  const action = { organisationId: space.organisationId, spaceId: space.id, ...reported, actionId };
  const [refusal] = await intake.accept([action]);
  if (refusal !== null) throw refusal;
  const data = { actionId, status: "queued" } as const;
  return json(202, { message: "The action is queued", data, eventId, processed: false });
}

type BulkReply<S extends number> = JsonReply<S, { readonly message: string; readonly data: BulkResult }>;

async function queueMany(
  context: AudienceContext,
  { space, accountIssuer }: BackEnd,
  body: unknown,
): Promise<BulkReply<202>> {
  const { clock, random, intake, batches, directory, logger } = context;
  const projects = new NamedProjects();
  const reported = checkActions(body, { now: clock(), userId: null, projects, accountIssuer });
  await projects.check(directory, space);
  const { batchId, actions, results } = identify(random, space, reported);
  // A batch that could not be stored is accepted all the same: only its state cannot be read later.
  const save = (): Promise<void> =>
    batches
      .save({ organisationId: space.organisationId, spaceId: space.id, batchId }, results)
      .catch(() => {});
  const indexes = [...results.keys()].filter(index => results[index]?.status === "queued");
  const unique = indexes.flatMap(index => actions[index] ?? []);
  const [refusals] = await Promise.all([intake.accept(unique), save()]);
  const refused = indexes.filter((_, at) => refusals[at] !== null);
  if (refused.length === indexes.length) throw refusals[0];
  const errors = new ItemErrors(logger);
  for (const [at, index] of indexes.entries()) {
    const result = results[index];
    if (refusals[at] === null || result === undefined) continue;
    results[index] = { ...result, ...errors.outcomeOf(refusals[at]) };
  }
  if (refused.length > 0) await save();
  return envelope(bulkResult(batchId, results, "queued"), { status: 202 });
}

/** Gives ids to actions without one, and marks those that the request repeats as duplicates. */
function identify(
  random: RandomBytes,
  { organisationId, id: spaceId }: BackEnd["space"],
  reported: readonly ReportedAction[],
) {
  const batchId = batchPrefix + uuid(random);
  const seen = new Set<string>();
  const actions: QueuedAction[] = [];
  const results: ItemResult[] = [];
  for (const [
    index,
    { userId, action, data, at, metadata, projectId, actionId: given },
  ] of reported.entries()) {
    const actionId = given ?? generatedActionId(batchId, index);
    const key = `${actionId} ${userId}`;
    const isRepeated = given !== null && seen.has(key);
    if (given !== null) seen.add(key);
    const queued = { organisationId, spaceId, userId, action, data, actionId, at, projectId };
    actions.push(metadata === undefined ? queued : { ...queued, metadata });
    results.push({ index, id: actionId, userId, status: isRepeated ? "duplicate" : "queued" });
  }
  return { batchId, actions, results };
}

/** Applies what a user reports, as the loyalty API does: only actions that the space lets users report. */
async function applyOwn(
  { clock, random, loyalty, logger }: AudienceContext,
  { user }: AudienceUser,
  body: unknown,
): Promise<BulkReply<200>> {
  const projects = new NamedProjects();
  const reported = checkActions(body, { now: clock(), userId: user.userId, projects });
  if (reported.some(({ userId }) => userId !== user.userId)) {
    throw new AppError("forbidden", "Cannot act for another user with a user's token");
  }
  const batchId = batchPrefix + uuid(random);
  const results: ItemResult[] = [];
  const errors = new ItemErrors(logger);
  const pause = createPause();
  for (const [index, { action, data, at, actionId, userId }] of reported.entries()) {
    await pause();
    const id = actionId ?? generatedActionId(batchId, index);
    try {
      const { isNew } = await loyalty.report(user, { action, data, at, actionId: id, isClientReport: true });
      results.push({ index, id, userId, status: isNew ? "succeeded" : "duplicate" });
    } catch (error) {
      if (reported.length === 1) throw error;
      results.push({ index, id, userId, ...errors.outcomeOf(error) });
    }
  }
  return envelope(bulkResult(batchId, results, "succeeded"));
}
