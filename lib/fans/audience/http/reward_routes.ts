/** Routes by which back ends grant rewards to many users. */

import * as v from "valibot";
import { uuid } from "../../../auth/crypto/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { envelope, type JsonReply, named, route } from "../../../http/mod.ts";
import { BulkRewardSchema, checkRewards, grantRewards } from "../actions/rewards.ts";
import { NamedProjects } from "../batch/items.ts";
import { type BulkResult, bulkResult } from "../batch/results.ts";
import { bulkBytesMax } from "./action_routes.ts";
import type { AudienceContext } from "./context.ts";
import type { BackEnd } from "./guards.ts";
import { BulkReplySchema } from "./replies.ts";

const userId = v.pipe(v.string(), v.description("Id of the user who gets the reward"));
const BulkSchema = named(
  "BulkRewards",
  v.union([
    v.object({
      rewards: v.pipe(
        v.array(v.intersect([v.object({ userId }), BulkRewardSchema])),
        v.description("1 to 1,000 rewards"),
      ),
    }),
    v.array(
      v.object({
        user_id: userId,
        data: BulkRewardSchema,
      }),
    ),
  ]),
);
const common = {
  summary: "Grant up to 1,000 rewards",
  description:
    "Each reward is granted once under its id; those of one user in their order. An invalid item refuses the request as a whole.",
  body: {
    schema: v.unknown(),
    described: BulkSchema,
    maxBytes: bulkBytesMax,
    example: { rewards: [{ userId: "somebody", type: "metric", currency: "points", amount: 3 }] },
  },
  responses: { 200: { description: "A result for each reward", schema: BulkReplySchema } },
  errors: ["validation_failed", "forbidden"],
} as const;

export function rewardRoutes(context: AudienceContext) {
  const { guards } = context;
  return [
    route({
      ...common,
      method: "POST",
      path: "/v1/api/audience/internal/rewards/bulk",
      operation: "giveRewards",
      auth: guards.privateAudience("rewards:write"),
      handle: ({ principal, body }) => grant(context, principal, body),
    }),
    ...(["PUT", "POST"] as const).map(method =>
      route({
        ...common,
        method,
        path: "/api/audience/rewards",
        operation: method === "PUT" ? "putAudienceRewards" : "postAudienceRewards",
        auth: guards.batchAudience("rewards:write", "audience:write"),
        handle: ({ principal, body }) => {
          if (principal.kind === "backEnd") return grant(context, principal, body);
          throw new AppError("forbidden", "Users cannot grant rewards");
        },
      }),
    ),
  ];
}

async function grant(
  context: AudienceContext,
  { space, accountIssuer }: BackEnd,
  body: unknown,
): Promise<JsonReply<200, { readonly message: string; readonly data: BulkResult }>> {
  const { loyalty, random, clock, directory } = context;
  const config = await loyalty.config(space.id);
  const projects = new NamedProjects();
  const orders = checkRewards(body, { config, now: clock(), projects, accountIssuer });
  await projects.check(directory, space);
  const requestId = uuid(random);
  const results = await grantRewards(context, space, requestId, orders);
  return envelope(bulkResult(`bat_${requestId}`, results, "succeeded"));
}
