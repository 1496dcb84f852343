/**
 * Rewards that back ends give to many users.
 *
 * @module
 */

import * as v from "valibot";
import { uuid } from "../../auth/crypto/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { type AnyRoute, envelope, looseRoute, type Reply } from "../../http/mod.ts";
import { checkRewards } from "../actions/check_rewards.ts";
import { grantAll } from "../actions/grant_rewards.ts";
import { BulkAnswerSchema, bulkAnswer } from "../batch/results.ts";
import { bulkBytesMax } from "./action_routes.ts";
import type { AudienceContext } from "./context.ts";
import type { BackEnd } from "./guards.ts";

const entries = {
  rewardId: v.exactOptional(v.string()),
  type: v.picklist(["metric", "inventory", "coupon"]),
  metricId: v.exactOptional(v.string()),
  currency: v.exactOptional(v.string()),
  amount: v.exactOptional(v.number()),
  availableAt: v.exactOptional(v.string()),
  expiresAt: v.exactOptional(v.string()),
  inventorySetId: v.exactOptional(v.string()),
  inventoryItemId: v.exactOptional(v.string()),
  couponId: v.exactOptional(v.string()),
  reason: v.exactOptional(v.string()),
  metadata: v.exactOptional(v.record(v.string(), v.union([v.string(), v.number(), v.boolean()]))),
  notify: v.exactOptional(
    v.object({
      title: v.string(),
      message: v.exactOptional(v.string()),
      display: v.exactOptional(v.picklist(["toast", "modal", "banner", "inbox"])),
    }),
  ),
};
const BulkSchema = v.union([
  v.array(v.object({ user_id: v.string(), data: v.object(entries) })),
  v.object({ rewards: v.array(v.object({ userId: v.string(), ...entries })) }),
]);
const common = {
  body: { schema: v.unknown(), described: BulkSchema, maxBytes: bulkBytesMax },
  responses: { 200: { description: "What became of each reward", schema: BulkAnswerSchema } },
  errors: ["validation_failed", "forbidden"],
} as const;

/** Builds the routes of rewards. */
export function rewardRoutes(context: AudienceContext): readonly AnyRoute[] {
  const { guards } = context;
  return [
    looseRoute({
      ...common,
      method: "POST",
      path: "/v1/api/audience/internal/rewards/bulk",
      operation: "giveRewards",
      summary: "Give up to 1,000 rewards, each once under its id; those of one user in their order",
      auth: guards.privateAudience("rewards:write"),
      handle: ({ principal, body }) => give(context, principal, body),
    }),
    ...(["PUT", "POST"] as const).map(method =>
      looseRoute({
        ...common,
        method,
        path: "/api/audience/rewards",
        operation: method === "PUT" ? "putAudienceRewards" : "postAudienceRewards",
        summary: "Give up to 1,000 rewards, each once under its id",
        auth: guards.batchAudience({ permission: "rewards:write", scope: "audience:write" }),
        handle: ({ principal, body }) => {
          if (principal.kind === "backEnd") return give(context, principal, body);
          throw new AppError("forbidden", "Users cannot give rewards");
        },
      }),
    ),
  ];
}

async function give(context: AudienceContext, { space }: BackEnd, body: unknown): Promise<Reply> {
  const { loyalty, random, clock } = context;
  const { organisationId, id: spaceId } = space;
  const orders = checkRewards(body, { catalogue: await loyalty.config(spaceId), now: clock() });
  const batch = uuid(random);
  const named = orders.map((order, index) => ({
    ...order,
    rewardId: order.rewardId ?? `rew_${batch}.${index}`,
  }));
  const results = await grantAll(loyalty, { organisationId, spaceId }, named);
  return envelope(bulkAnswer(`bat_${batch}`, results, "succeeded"));
}
