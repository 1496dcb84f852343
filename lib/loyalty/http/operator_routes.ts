/**
 * What operators do with the loyalty of a space's users, with an API key of the space's organisation. An addition to the
 * specification: every path starts with `/internal/loyalty`, under the host of the space.
 *
 * @module
 */

import * as v from "valibot";
import { type AnyRoute, envelope, looseRoute } from "../../http/mod.ts";
import type { DryRun } from "../engine/mod.ts";
import { rewardsProfile } from "../views/profile.ts";
import { type LoyaltyOperatorContext, memberOfRequest } from "./operator_context.ts";
import { poolRoutes } from "./pool_routes.ts";
import { redemptionRoutes } from "./redemption_routes.ts";
import { DryRunBodySchema, UserIdSchema } from "./requests.ts";
import { DryRunResponse, ReconciliationResponse, ReplayResponse, TransactionResponse } from "./responses.ts";

/** Largest configuration document that a replay takes, in bytes. */
const replayBytesMax = 1_048_576;

const ofUser = "/internal/loyalty/users/:userId";
const UserParams = v.object({ userId: UserIdSchema });
const ReplayObject = v.object({ document: v.exactOptional(v.lazy(objectSchemaFor)) });
const ReplayBody: v.GenericSchema<unknown, v.InferOutput<typeof ReplayObject>> = v.lazy(input =>
  Array.isArray(input) ? v.never("Expected an object") : ReplayObject,
);
const ReversalBody = v.object({ transactionId: v.pipe(v.string(), v.minLength(1), v.maxLength(64)) });

/** An object schema without required members takes a list for an object. */
function objectSchemaFor(input: unknown): v.GenericSchema<unknown, Record<string, unknown>> {
  return Array.isArray(input) ? v.never("Expected an object") : v.looseObject({});
}

/** Builds the routes of operators. */
export function loyaltyOperatorRoutes(context: LoyaltyOperatorContext): readonly AnyRoute[] {
  return [
    dryRunRoute(context),
    reversalRoute(context),
    ...verificationRoutes(context),
    ...redemptionRoutes(context),
    ...poolRoutes(context),
  ];
}

function dryRunRoute({ directory, loyalty, usersReader }: LoyaltyOperatorContext): AnyRoute {
  return looseRoute({
    method: "POST",
    path: "/internal/loyalty/dry-run",
    operation: "tryAction",
    summary:
      "What an action of a user would do now, and why rules and missions would not hold; nothing changes",
    auth: usersReader,
    body: { schema: DryRunBodySchema },
    responses: { 200: { description: "What would happen", schema: DryRunResponse } },
    errors: ["not_found", "forbidden"],
    handle: async call => {
      const { userId, ...action } = call.body;
      const member = await memberOfRequest(directory, call, userId);
      const tried = await loyalty.dryRun(member, { ...action, isClientReport: false });
      const config = await loyalty.config(member.spaceId);
      return envelope({ ...shownDryRun(tried), profile: rewardsProfile(config, tried.state) });
    },
  });
}

function verificationRoutes({ directory, loyalty, usersReader }: LoyaltyOperatorContext): AnyRoute[] {
  return [
    looseRoute({
      method: "GET",
      path: `${ofUser}/reconciliation`,
      operation: "reconcileUser",
      summary: "Whether a user's metrics are what the entries of the ledger add up to",
      auth: usersReader,
      params: UserParams,
      responses: { 200: { description: "The proof, or every fault", schema: ReconciliationResponse } },
      errors: ["not_found"],
      handle: async call =>
        envelope(await loyalty.reconcile(await memberOfRequest(directory, call, call.params.userId))),
    }),
    looseRoute({
      method: "POST",
      path: `${ofUser}/replay`,
      operation: "replayUser",
      summary: "What a user would have, had a configuration been in force from the start; nothing changes",
      auth: usersReader,
      params: UserParams,
      body: { schema: ReplayBody, described: ReplayObject, maxBytes: replayBytesMax },
      responses: {
        200: {
          description: "Every difference: `a` is what the user has, `b` what the replay gives",
          schema: ReplayResponse,
        },
      },
      errors: ["not_found"],
      handle: async call => {
        const member = await memberOfRequest(directory, call, call.params.userId);
        return envelope(await loyalty.replay(member, call.body.document));
      },
    }),
  ];
}

function reversalRoute({ directory, loyalty, rewardsWriter }: LoyaltyOperatorContext): AnyRoute {
  return looseRoute({
    method: "POST",
    path: `${ofUser}/reversals`,
    operation: "reverseTransaction",
    summary: "Take back what a transaction gave and took, once",
    auth: rewardsWriter,
    params: UserParams,
    body: { schema: ReversalBody },
    responses: { 200: { description: "The transaction that took it back", schema: TransactionResponse } },
    errors: ["not_found", "conflict"],
    handle: async call => {
      const member = await memberOfRequest(directory, call, call.params.userId);
      return envelope(await loyalty.reverse(member, call.body.transactionId));
    },
  });
}

function shownDryRun({ settled, effects, ...tried }: DryRun): Readonly<Record<string, unknown>> {
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
