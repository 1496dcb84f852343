/**
 * The routes for operators about users, with an API key of the space's organisation. They are an addition to the specification,
 * under `/internal/loyalty`.
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import * as v from "valibot";
import { isoTime } from "../../../base/calendar/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import {
  type Call,
  envelope,
  type Guard,
  type Immutable,
  type JsonReply,
  named,
  route,
} from "../../../http/mod.ts";
import { UserIdSchema } from "../../../http/requests/validate.ts";
import type { SpaceKey } from "../../space_tokens/mod.ts";
import { codesAddedMax, type PoolAddress, poolCodeCharactersMax } from "../coupons/code_pools.ts";
import type { Loyalty } from "../loyalty.ts";
import type { RedemptionView } from "../products/products.ts";
import type { SpaceUser } from "../user/state.ts";
import { rewardsProfile } from "../views/loyalty_reader.ts";
import { DryRunBodySchema } from "./requests.ts";
import {
  AddedCodesResponse,
  CodePoolResponse,
  DryRunResponse,
  ReconciliationResponse,
  RedeemedCodeResponse,
  RedemptionResponse,
  ReplayResponse,
  TransactionResponse,
} from "./responses.ts";

const replayBytesMax = 1_048_576;
const usersPath = "/internal/loyalty/users/:userId";
const UserParams = v.object({ userId: UserIdSchema });
const ReplayedDocument = named("ReplayedConfiguration", v.looseObject({}));
const ReplayObject = named(
  "HistoryReplayRequest",
  v.object({
    document: v.pipe(
      v.exactOptional(noList(ReplayedDocument)),
      v.description("Loyalty configuration to replay under; without it the current one"),
    ),
  }),
);
const ReplayBody = noList(ReplayObject);
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
function noList<T>(schema: v.GenericSchema<unknown, T>): v.LazySchema<v.GenericSchema<unknown, T>> {
  return v.lazy(input => (Array.isArray(input) ? v.never("Expected an object") : schema));
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
      const { state, settled, effects, ...rest } = tried;
      return envelope({
        ...rest,
        settled: settled.flatMap(({ at, transactions }) =>
          transactions.map(({ type, payload }) => ({ at: Math.floor(at / 1_000), type, payload })),
        ),
        effects: effects.map(({ type, payload }) => ({ type, payload })),
        profile: rewardsProfile(await loyalty.config(user.spaceId), state),
      });
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
    handle: async ({ principal, params, body }) =>
      envelope(await loyalty.reverse(userOf(principal, params.userId), body.transactionId)),
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
      handle: async ({ principal, params }) =>
        envelope(await loyalty.reconcile(userOf(principal, params.userId))),
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
      handle: async ({ principal, params, body }) =>
        envelope(await loyalty.replay(userOf(principal, params.userId), body.document)),
    }),
  ];
}

interface LoyaltyOperatorContext {
  readonly loyalty: Loyalty;
  /** Requires an API key that may read users. */
  readonly usersReader: Guard<SpaceKey, "space_id">;
  /** Requires an API key that may give and take rewards. */
  readonly rewardsWriter: Guard<SpaceKey, "space_id">;
  /** Requires an API key that may do so, or an admin of the space: its code pools are no other space's. */
  readonly poolKeeper: Guard<SpaceKey, "space_id">;
}

/** Returns a user of the space that the caller means. */
function userOf({ space: { id: spaceId, organisationId } }: SpaceKey, userId: string): SpaceUser {
  return { organisationId, spaceId, userId, projectId: null };
}

/** Largest body with codes, in bytes: the longest codes there are, quoted, with room to spare. */
const codesBytesMax = 2_000_000;
const poolPath = "/internal/loyalty/pools/:poolId";
const PoolParams = v.object({ poolId: v.pipe(v.string(), v.description("Id of the code pool")) });
const CodesBody = named(
  "NewCodes",
  v.object({
    codes: v.pipe(
      v.array(v.string()),
      v.description("Codes to add to the pool"),
      v.minLength(1),
      v.maxLength(codesAddedMax),
    ),
  }),
);
const CodeBody = named(
  "CodeToRedeem",
  v.object({
    code: v.pipe(
      v.string(),
      v.description("The code as its holder presents it"),
      v.minLength(1),
      v.maxLength(poolCodeCharactersMax),
    ),
  }),
);

function poolRoutes(context: LoyaltyOperatorContext) {
  const { poolKeeper: auth } = context;
  const { codePools } = context.loyalty;
  const common = { auth, params: PoolParams } as const;
  return [
    route({
      ...common,
      method: "GET",
      path: poolPath,
      operation: "getCodePool",
      summary: "Count the codes of a pool",
      description: "Returns how many codes are available, handed out and redeemed.",
      responses: { 200: { description: "The pool", schema: CodePoolResponse } },
      errors: ["not_found"],
      handle: async call => {
        const address = await addressOf(context, call);
        return envelope({ poolId: address.poolId, ...(await codePools.stats(address)) });
      },
    }),
    route({
      ...common,
      method: "POST",
      path: `${poolPath}/codes`,
      operation: "addCodes",
      summary: "Add codes to a pool",
      description:
        "Ignores codes that a pool of the space ever had, in upper or lower case, and counts them as `duplicates`.",
      body: { schema: CodesBody, maxBytes: codesBytesMax, example: { codes: ["SAVE-10-A", "SAVE-10-B"] } },
      responses: { 200: { description: "The pool with the codes", schema: AddedCodesResponse } },
      errors: ["not_found", "conflict"],
      handle: async call => {
        const address = await addressOf(context, call);
        const added = await codePools.add(address, call.body.codes);
        return envelope({ poolId: address.poolId, ...added, ...(await codePools.stats(address)) });
      },
    }),
    route({
      ...common,
      method: "POST",
      path: `${poolPath}/redemptions`,
      operation: "redeemCode",
      summary: "Redeem a code",
      description:
        "Marks a code that was handed out as redeemed, once, in whatever case it is sent. The code of the error says why a code is refused: `code_not_issued`, `code_used` (with `redeemedAt`), `code_revoked` (its purchase was refunded) or `code_expired` (with `expiredAt`). Send an `Idempotency-Key` for each scan, so that the same request can be repeated.",
      body: { schema: CodeBody, example: { code: "SAVE-10-A" } },
      responses: { 200: { description: "The code is redeemed", schema: RedeemedCodeResponse } },
      errors: ["not_found", "code_not_issued", "code_used", "code_revoked", "code_expired"],
      handle: async call => {
        const address = await addressOf(context, call);
        const { code, redeemedAt } = await codePools.redeem(address, call.body.code, scanOf(call));
        return envelope({ code, redeemedAt: isoTime(redeemedAt) });
      },
    }),
  ];
}

/** Names the request by its caller and idempotency key; null where it has no key. */
function scanOf({
  principal: { keyId },
  idempotency,
}: Call<SpaceKey, unknown, unknown, unknown>): string | null {
  if (idempotency === undefined) return null;
  return bytesToHex(sha256(utf8ToBytes(JSON.stringify([keyId, idempotency.key]))).subarray(0, 16));
}

async function addressOf(
  { loyalty }: LoyaltyOperatorContext,
  {
    principal: { space },
    params: { poolId },
  }: Call<SpaceKey, v.InferOutput<typeof PoolParams>, unknown, unknown>,
): Promise<PoolAddress> {
  const { id: spaceId, organisationId } = space;
  const { config } = await loyalty.config(spaceId);
  if (!config.codePools.some(({ id }) => id === poolId)) {
    throw new AppError("not_found", "Cannot serve the request as the space has no such code pool");
  }
  return { organisationId, spaceId, poolId };
}

const redemptionPath = "/internal/loyalty/users/:userId/redemptions/:redemptionId";

const Params = v.object({
  userId: UserIdSchema,
  redemptionId: v.pipe(
    v.string(),
    v.description("Id of the redemption"),
    v.minLength(1),
    v.maxLength(64),
    v.regex(/^[\w-]+$/),
  ),
});

const RefundObject = named(
  "RedemptionRefund",
  v.strictObject({
    restock: v.pipe(
      v.optional(v.boolean(), true),
      v.description("Whether the items count as in stock again"),
    ),
  }),
);

const RefundBody = v.optional(noList(RefundObject), { restock: true });

function redemptionRoutes({ usersReader, rewardsWriter, loyalty: { products } }: LoyaltyOperatorContext) {
  const common = {
    params: Params,
    responses: { 200: { description: "The redemption", schema: RedemptionResponse } },
  } as const;
  return [
    route({
      ...common,
      method: "GET",
      path: redemptionPath,
      operation: "getRedemption",
      summary: "Get a redemption of a user",
      description: "Redemptions stay on record for a year after their last step.",
      auth: usersReader,
      errors: ["not_found"],
      handle: async ({ principal, params: { userId, redemptionId } }) =>
        redemptionReply(await products.find(userOf(principal, userId), redemptionId)),
    }),
    route({
      ...common,
      method: "POST",
      path: `${redemptionPath}/complete`,
      operation: "completeRedemption",
      summary: "Complete a redemption",
      description: "Marks a pending product as handed over.",
      auth: rewardsWriter,
      errors: ["not_found", "conflict"],
      handle: async ({ principal, params: { userId, redemptionId } }) =>
        redemptionReply(await products.complete(userOf(principal, userId), redemptionId)),
    }),
    route({
      ...common,
      method: "POST",
      path: `${redemptionPath}/refund`,
      operation: "refundRedemption",
      summary: "Refund a redemption",
      description:
        "Gives the price back and takes back what the redemption gave, once. `restock` returns the units to the stock.",
      auth: rewardsWriter,
      body: { schema: RefundBody, described: RefundObject, example: { restock: true } },
      errors: ["not_found", "conflict"],
      handle: async ({ principal, params: { userId, redemptionId }, body: { restock: restocks } }) =>
        redemptionReply(await products.refund(userOf(principal, userId), redemptionId, { restocks })),
    }),
  ];
}

function redemptionReply({
  id,
  createdAt,
  changedAt,
  ...redemption
}: RedemptionView): JsonReply<200, Immutable<v.InferOutput<typeof RedemptionResponse>>> {
  return envelope({
    redemptionId: id,
    ...redemption,
    createdAt: Math.floor(createdAt / 1_000),
    changedAt: Math.floor(changedAt / 1_000),
  });
}
