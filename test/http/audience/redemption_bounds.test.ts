/** How much a redemption says of itself: the bound itself is accepted, and what is beyond it refused. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { type Answer, type Fan, ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import { assertProblem } from "../_problem.ts";

const headers = { "x-platform-org-id": ids.organisation };
const entries = (count: number): object =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`entry${n}`, n]));

describe("a redemption", () => {
  let world: TestPlatform;
  let fan: Fan;
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
    fan = await world.fan("Sam");
    const member = { ...fan, organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project };
    const metricQuantity = 10 * 100;
    await world.platform.loyalty.grant(member, {
      rewards: [{ type: "metric", metricId: "points", metricQuantity }],
      reason: "To spend",
    });
  });
  after(() => world.dispose());

  const redeem = (body: object): Promise<Answer> =>
    world.call("/v1/api/audience/products/poster/redeem", { token: fan.token, headers, body });

  const table: readonly (readonly [what: string, most: object, beyond: object])[] = [
    ["quantity", { quantity: 100 }, { quantity: 100 + 1 }],
    ["entries of metadata", { metadata: entries(20) }, { metadata: entries(20 + 1) }],
    [
      "texts of metadata",
      { metadata: { note: "n".repeat(256) } },
      { metadata: { note: "n".repeat(256 + 1) } },
    ],
    [
      "names of metadata",
      { metadata: { ["n".repeat(256)]: true } },
      { metadata: { ["n".repeat(256 + 1)]: true } },
    ],
  ];
  for (const [what, most, beyond] of table) {
    it(`is accepted up to the bound on ${what}, and refused beyond`, async () => {
      const accepted = await redeem(most);
      assert.equal(accepted.status, 201, accepted.text);
      assertProblem(await redeem(beyond), 400, "validation_failed");
    });
  }
});
