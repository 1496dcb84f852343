/**
 * The routes for operators about code pools of a space.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import * as v from "valibot";
import { isoTime } from "../../../base/calendar/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { type Call, envelope, named, route } from "../../../http/mod.ts";
import type { SpaceKey } from "../../space_tokens/mod.ts";
import { codesAddedMax, type PoolAddress, poolCodeCharactersMax } from "../coupons/mod.ts";
import type { LoyaltyOperatorContext } from "./operator_context.ts";
import { AddedCodesResponse, CodePoolResponse, RedeemedCodeResponse } from "./responses.ts";

/** Largest body with codes, in bytes: the longest codes there are, quoted, with room to spare. */
const codesBytesMax = 2_000_000;
const path = "/internal/loyalty/pools/:poolId";
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

/** Creates the routes of code pools. */
export function poolRoutes(context: LoyaltyOperatorContext) {
  const { poolKeeper: auth } = context;
  const { codePools } = context.loyalty;
  const common = { auth, params: PoolParams } as const;
  return [
    route({
      ...common,
      method: "GET",
      path,
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
      path: `${path}/codes`,
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
      path: `${path}/redemptions`,
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
