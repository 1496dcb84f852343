/**
 * The routes for operators about users, with an API key of the space's organisation. They are an addition to the specification,
 * under `/internal/loyalty`.
 *
 * @module
 */

import * as v from "valibot";
import { envelope, type Immutable, named, route, UserIdSchema } from "../../../http/mod.ts";
import type { DryRun } from "../engine/mod.ts";
import { rewardsProfile } from "../views/profile.ts";
import { type LoyaltyOperatorContext, userOf } from "./operator_context.ts";
import { poolRoutes } from "./pool_routes.ts";
import { redemptionRoutes } from "./redemption_routes.ts";
import { DryRunBodySchema } from "./requests.ts";
import { DryRunResponse, ReconciliationResponse, ReplayResponse, TransactionResponse } from "./responses.ts";

/** Largest configuration document that a replay takes, in bytes. */
const replayBytesMax = 1_048_576;
const usersPath = "/internal/loyalty/users/:userId";
const UserParams = v.object({ userId: UserIdSchema });
const ReplayedDocument = named("ReplayedConfiguration", v.looseObject({}));
const ReplayObject = named(
  "HistoryReplayRequest",
  v.object({
    document: v.pipe(
      v.exactOptional(v.lazy(objectSchemaFor)),
      v.description("Loyalty configuration to replay under; without it the current one"),
    ),
  }),
);
const ReplayBody = v.lazy(
  (input): v.GenericSchema<unknown, v.InferOutput<typeof ReplayObject>> =>
    Array.isArray(input) ? v.never("Expected an object") : ReplayObject,
);
const ReversalBody = named(
  "TransactionReversal",
  v.object({
    transactionId: v.pipe(
      v.string(),
      v.description("Id of the transaction to take back, or of one of its entries"),
      v.minLength(1),
      v.maxLength(64),
    ),
  }),
);

/** An object schema without required members takes a list for an object. */
function objectSchemaFor(input: unknown): v.GenericSchema<unknown, Record<string, unknown>> {
  return Array.isArray(input) ? v.never("Expected an object") : ReplayedDocument;
}

/** Creates the routes for operators. */
export function loyaltyOperatorRoutes(context: LoyaltyOperatorContext) {
  return [
    dryRunRoute(context),
    reversalRoute(context),
    ...verificationRoutes(context),
    ...redemptionRoutes(context),
    ...poolRoutes(context),
  ];
}

function dryRunRoute({ loyalty, usersReader }: LoyaltyOperatorContext) {
  return route({
    method: "POST",
    path: "/internal/loyalty/dry-run",
    operation: "tryAction",
    summary: "Try an action of a user",
    description:
      "Returns the effects that the action would have now, and why rules and missions would not hold. Nothing changes.",
    auth: usersReader,
    body: { schema: DryRunBodySchema, example: { userId: "ann", action: "prediction", data: {} } },
    responses: { 200: { description: "The effects", schema: DryRunResponse } },
    errors: ["not_found", "forbidden"],
    handle: async call => {
      const { userId, ...action } = call.body;
      const user = userOf(call.principal, userId);
      const tried = await loyalty.dryRun(user, { ...action, isClientReport: false });
      const profile = rewardsProfile(await loyalty.config(user.spaceId), tried.state);
      return envelope({ ...dryRunDocument(tried), profile });
    },
  });
}

function reversalRoute({ loyalty, rewardsWriter }: LoyaltyOperatorContext) {
  return route({
    method: "POST",
    path: `${usersPath}/reversals`,
    operation: "reverseTransaction",
    summary: "Reverse a transaction",
    description:
      "Takes back what the transaction gave and took, once, and what its action has counted: uses of limits, counts and the progress of missions.",
    auth: rewardsWriter,
    params: UserParams,
    body: { schema: ReversalBody, example: { transactionId: "1760000000000-0" } },
    responses: { 200: { description: "The transaction that reversed it", schema: TransactionResponse } },
    errors: ["not_found", "conflict"],
    handle: async call => {
      const user = userOf(call.principal, call.params.userId);
      return envelope(await loyalty.reverse(user, call.body.transactionId));
    },
  });
}

function verificationRoutes({ loyalty, usersReader }: LoyaltyOperatorContext) {
  return [
    route({
      method: "GET",
      path: `${usersPath}/reconciliation`,
      operation: "reconcileUser",
      summary: "Reconcile a user's ledger",
      description:
        "Proves that the user's metrics are the sums of the ledger's entries, or lists every fault.",
      auth: usersReader,
      params: UserParams,
      responses: { 200: { description: "The proof, or every fault", schema: ReconciliationResponse } },
      errors: ["not_found"],
      handle: async call => {
        const user = userOf(call.principal, call.params.userId);
        return envelope(await loyalty.reconcile(user));
      },
    }),
    route({
      method: "POST",
      path: `${usersPath}/replay`,
      operation: "replayUser",
      summary: "Replay a user's history",
      description:
        "Replays the history against a configuration, by default the current one, as if it had been in force from the start. Nothing changes.",
      auth: usersReader,
      params: UserParams,
      body: { schema: ReplayBody, described: ReplayObject, maxBytes: replayBytesMax, example: {} },
      responses: {
        200: {
          description: "Every difference: `a` is the user's state, `b` the state after the replay",
          schema: ReplayResponse,
        },
      },
      errors: ["not_found"],
      handle: async call => {
        const user = userOf(call.principal, call.params.userId);
        return envelope(await loyalty.replay(user, call.body.document));
      },
    }),
  ];
}

function dryRunDocument({
  settled,
  effects,
  ...tried
}: DryRun): Omit<Immutable<v.InferOutput<typeof DryRunResponse>["data"]>, "profile"> {
  const { rules, missions, challenges, notifications, diagnostics } = tried;
  return {
    settled: settled.flatMap(({ at, transactions }) =>
      transactions.map(({ type, payload }) => ({ at: Math.floor(at / 1_000), type, payload })),
    ),
    effects: effects.map(({ type, payload }) => ({ type, payload })),
    rules,
    missions,
    challenges,
    notifications,
    diagnostics,
  };
}
