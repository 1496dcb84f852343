/**
 * What operators do with the code pools of a space, with an API key of its organisation. The space is the one that the Host
 * header names.
 *
 * @module
 */

import * as v from "valibot";
import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type AnyRoute, envelope, looseRoute } from "../../http/mod.ts";
import { spaceOfRequest } from "../../space_tokens/mod.ts";
import { codesAddedMax, type PoolAddress, poolCodeCharactersMax } from "../coupons/mod.ts";
import type { LoyaltyOperatorContext } from "./operator_context.ts";

/** Largest body with codes, in bytes: the longest codes there are, quoted, with room to spare. */
const codesBodyBytesMax = 2_000_000;

const PoolParams = v.object({ poolId: v.string() });
const count = v.pipe(v.number(), v.integer());
const StatsSchema = v.object({
  poolId: v.string(),
  total: count,
  available: count,
  allocated: count,
  redeemed: count,
});
const AddedSchema = v.object({ ...StatsSchema.entries, added: count, duplicates: count });
const RedeemedSchema = v.object({ code: v.string(), redeemedAt: v.string(), alreadyRedeemed: v.boolean() });
const CodesBody = v.object({
  codes: v.pipe(v.array(v.string()), v.minLength(1), v.maxLength(codesAddedMax)),
});
const CodeBody = v.object({ code: v.pipe(v.string(), v.minLength(1), v.maxLength(poolCodeCharactersMax)) });

function replySchema<S extends v.GenericSchema>(data: S): v.GenericSchema {
  return v.object({ message: v.string(), data });
}

/** Builds the routes of code pools. */
export function poolRoutes(context: LoyaltyOperatorContext): readonly AnyRoute[] {
  const { rewardsWriter: auth } = context;
  const { codePools: pools } = context.loyalty;
  return [
    looseRoute({
      method: "GET",
      path: "/internal/loyalty/pools/:poolId",
      operation: "getCodePool",
      summary: "How many codes of a pool are available, handed out and redeemed",
      auth,
      params: PoolParams,
      responses: { 200: { description: "The pool", schema: replySchema(StatsSchema) } },
      errors: ["not_found"],
      handle: async call => {
        const address = await addressOf(context, call);
        return envelope({ poolId: address.poolId, ...(await pools.stats(address)) });
      },
    }),
    looseRoute({
      method: "POST",
      path: "/internal/loyalty/pools/:poolId/codes",
      operation: "addCodes",
      summary: "Add codes to a pool; those that it ever had are ignored",
      auth,
      params: PoolParams,
      body: { schema: CodesBody, maxBytes: codesBodyBytesMax },
      responses: { 200: { description: "What was added", schema: replySchema(AddedSchema) } },
      errors: ["not_found", "conflict"],
      handle: async call => {
        const address = await addressOf(context, call);
        const added = await pools.add(address, call.body.codes);
        return envelope({ poolId: address.poolId, ...added, ...(await pools.stats(address)) });
      },
    }),
    looseRoute({
      method: "POST",
      path: "/internal/loyalty/pools/:poolId/redemptions",
      operation: "redeemCode",
      summary: "Mark a code as redeemed, or learn that it was",
      auth,
      params: PoolParams,
      body: { schema: CodeBody },
      responses: { 200: { description: "The code is redeemed", schema: replySchema(RedeemedSchema) } },
      errors: ["not_found", "conflict"],
      handle: async call => {
        const { code } = call.body;
        const { redeemedAt, wasRedeemed } = await pools.redeem(await addressOf(context, call), code);
        return envelope({
          code,
          redeemedAt: new Date(redeemedAt).toISOString(),
          alreadyRedeemed: wasRedeemed,
        });
      },
    }),
  ];
}

interface PoolCall {
  readonly request: Request;
  readonly principal: ApiKeyPrincipal;
  readonly params: { readonly poolId: string };
}

/** The pool that a call is about. A space of another organisation has no pools, as one that does not exist. */
async function addressOf(
  { directory, loyalty }: LoyaltyOperatorContext,
  { request, principal, params: { poolId } }: PoolCall,
): Promise<PoolAddress> {
  const { id: spaceId, organisationId } = await spaceOfRequest(directory, request);
  const { config } = await loyalty.config(spaceId);
  if (organisationId !== principal.organisationId || !config.codePools.some(({ id }) => id === poolId)) {
    throw new AppError("not_found", "Cannot serve the request as the space has no such code pool");
  }
  return { organisationId, spaceId, poolId };
}
