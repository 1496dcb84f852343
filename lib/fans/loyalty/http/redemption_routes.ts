/**
 * The routes for operators about redemptions.
 *
 * @module
 */

import * as v from "valibot";
import { envelope, type Immutable, type JsonReply, named, route, UserIdSchema } from "../../../http/mod.ts";
import type { RedemptionView } from "../products/mod.ts";
import { type LoyaltyOperatorContext, userOf } from "./operator_context.ts";
import { RedemptionResponse } from "./responses.ts";

const path = "/internal/loyalty/users/:userId/redemptions/:redemptionId";
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
const RefundBody = v.optional(
  v.lazy(
    (input): v.GenericSchema<unknown, v.InferOutput<typeof RefundObject>> =>
      Array.isArray(input) ? v.never("Expected an object") : RefundObject,
  ),
  { restock: true },
);
const responses = { 200: { description: "The redemption", schema: RedemptionResponse } } as const;

/** Creates the routes of redemptions. */
export function redemptionRoutes(context: LoyaltyOperatorContext) {
  const { usersReader, rewardsWriter } = context;
  const { products } = context.loyalty;
  return [
    route({
      method: "GET",
      path,
      operation: "getRedemption",
      summary: "Get a redemption of a user",
      description: "Redemptions stay on record for a year after their last step.",
      auth: usersReader,
      params: Params,
      responses,
      errors: ["not_found"],
      handle: async call => {
        const user = userOf(call.principal, call.params.userId);
        return redemptionReply(await products.find(user, call.params.redemptionId));
      },
    }),
    route({
      method: "POST",
      path: `${path}/complete`,
      operation: "completeRedemption",
      summary: "Complete a redemption",
      description: "Marks a pending product as handed over.",
      auth: rewardsWriter,
      params: Params,
      responses,
      errors: ["not_found", "conflict"],
      handle: async call => {
        const user = userOf(call.principal, call.params.userId);
        return redemptionReply(await products.complete(user, call.params.redemptionId));
      },
    }),
    route({
      method: "POST",
      path: `${path}/refund`,
      operation: "refundRedemption",
      summary: "Refund a redemption",
      description:
        "Gives the price back and takes back what the redemption gave, once. `restock` returns the units to the stock.",
      auth: rewardsWriter,
      params: Params,
      body: { schema: RefundBody, described: RefundObject, example: { restock: true } },
      responses,
      errors: ["not_found", "conflict"],
      handle: async call => {
        const user = userOf(call.principal, call.params.userId);
        const restocks = call.body.restock;
        return redemptionReply(await products.refund(user, call.params.redemptionId, { restocks }));
      },
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
