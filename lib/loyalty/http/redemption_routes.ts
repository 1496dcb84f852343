/**
 * What operators do with the redemptions of a space's users, with an API key of the space's organisation.
 *
 * @module
 */

import * as v from "valibot";
import { type AnyRoute, envelope, looseRoute, type Reply } from "../../http/mod.ts";
import type { RedemptionView } from "../products/mod.ts";
import { type LoyaltyOperatorContext, memberOfRequest } from "./operator_context.ts";
import { UserIdSchema } from "./requests.ts";
import { RedemptionResponse } from "./responses.ts";

const path = "/internal/loyalty/users/:userId/redemptions/:redemptionId";
const Params = v.object({
  userId: UserIdSchema,
  redemptionId: v.pipe(v.string(), v.minLength(1), v.maxLength(64), v.regex(/^[\w-]+$/)),
});
const RefundObject = v.strictObject({ restock: v.optional(v.boolean(), true) });
type Refund = v.InferOutput<typeof RefundObject>;
const RefundBody: v.OptionalSchema<v.GenericSchema<unknown, Refund>, { readonly restock: true }> = v.optional(
  v.lazy(input => (Array.isArray(input) ? v.never("Expected an object") : RefundObject)),
  { restock: true },
);

/** Builds the routes of redemptions. */
export function redemptionRoutes(context: LoyaltyOperatorContext): readonly AnyRoute[] {
  const { directory, usersReader, rewardsWriter } = context;
  const { products } = context.loyalty;
  return [
    looseRoute({
      method: "GET",
      path,
      operation: "getRedemption",
      summary: "A redemption of a user, and what became of it",
      auth: usersReader,
      params: Params,
      responses: { 200: { description: "The redemption", schema: RedemptionResponse } },
      errors: ["not_found"],
      handle: async call => {
        const member = await memberOfRequest(directory, call, call.params.userId);
        return shown(await products.find(member, call.params.redemptionId));
      },
    }),
    looseRoute({
      method: "POST",
      path: `${path}/complete`,
      operation: "completeRedemption",
      summary: "Note that the product was handed over",
      auth: rewardsWriter,
      params: Params,
      responses: { 200: { description: "The redemption", schema: RedemptionResponse } },
      errors: ["not_found", "conflict"],
      handle: async call => {
        const member = await memberOfRequest(directory, call, call.params.userId);
        return shown(await products.complete(member, call.params.redemptionId));
      },
    }),
    looseRoute({
      method: "POST",
      path: `${path}/refund`,
      operation: "refundRedemption",
      summary: "Give the price back, and take back what the redemption gave, once",
      auth: rewardsWriter,
      params: Params,
      body: { schema: RefundBody, described: RefundObject },
      responses: { 200: { description: "The redemption", schema: RedemptionResponse } },
      errors: ["not_found", "conflict"],
      handle: async call => {
        const member = await memberOfRequest(directory, call, call.params.userId);
        const restocks = call.body.restock;
        return shown(await products.refund(member, call.params.redemptionId, { restocks }));
      },
    }),
  ];
}

function shown({ id, createdAt, changedAt, ...redemption }: RedemptionView): Reply {
  return envelope({
    redemptionId: id,
    ...redemption,
    createdAt: Math.floor(createdAt / 1_000),
    changedAt: Math.floor(changedAt / 1_000),
  });
}
