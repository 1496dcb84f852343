/** Requests about products and redemptions. */

import { ids, type TestPlatform } from "../../support/platform.ts";
import type { Example } from "../_operations.ts";

/** Valid requests of buyers, and of operators about what was bought. */
export async function productExamples(
  world: TestPlatform,
): Promise<readonly [string, readonly Partial<Example>[]][]> {
  const { userId, token } = await world.fan("Robin");
  const member = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project, userId };
  const { loyalty } = world.platform;
  const rewards = [{ type: "metric", metricId: "points", metricQuantity: 1_000 }] as const;
  await loyalty.grant(member, { rewards, reason: "To spend" });
  async function bought(key: string): Promise<Readonly<Record<string, string>>> {
    const { id } = await loyalty.products.redeem(member, { key, productId: "poster", quantity: 1 });
    return { userId, redemptionId: id };
  }
  const headers = { authorization: `Bearer ${token}` };
  const params = { productId: "poster" };
  const metadata = { size: "L", signed: true, number: 10 };
  return [
    [
      "redeemAudienceProduct",
      [
        { params, headers, body: {} },
        { params, headers, body: { currency: "points", quantity: 2, metadata } },
      ],
    ],
    ["getRedemption", [{ params: await bought("shown") }]],
    ["completeRedemption", [{ params: await bought("completed") }]],
    ["refundRedemption", [{ params: await bought("refunded"), body: { restock: true } }]],
  ];
}
