/** Whatever a back end does about a user who was merged reaches the account. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import type { SpaceUser } from "../../lib/fans/loyalty/mod.ts";
import {
  type Answer,
  type Fan,
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
} from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { assertProblem } from "./_problem.ts";

const document = {
  ...loyalty,
  actions: [{ name: "buy", clientReportable: true, data: { amount: "number" } }],
  rules: [
    {
      id: "points",
      trigger: { action: "buy" },
      effects: [{ type: "metric", metricId: "points", metricQuantity: { var: "data.amount" } }],
    },
  ],
  challenges: [],
  products: [
    {
      id: "cap",
      title: "Cap",
      prices: [{ currency: "points", amount: 50 }],
      stock: { type: "limited", quantity: 5 },
      fulfilment: { type: "manual" },
    },
  ],
};

describeOnStores("a user who was merged", open => {
  let world: TestPlatform;
  let headers: Record<string, string>;
  let anonymous: Fan;
  let account: Fan;
  const user = ({ userId }: Fan): SpaceUser => ({
    organisationId: ids.organisation,
    spaceId: ids.space,
    userId,
    projectId: null,
  });
  const post = (path: string, body: object): Promise<Answer> =>
    world.call(`/internal/loyalty/users/${anonymous.userId}/${path}`, { body, headers });
  const points = async (fan: Fan): Promise<unknown> =>
    (await world.platform.loyalty.reader.summary(user(fan))).view.metrics.points;

  beforeEach(async () => {
    world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
    const permissions = ["rewards:write", "users:read"] as const;
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Desk",
      permissions: [...permissions],
    });
    headers = { "x-api-key": key, "x-api-secret": secret };
    [anonymous, account] = [await world.fan("Sam"), await world.fan("Ann")];
    await anonymous.act("buy", { amount: 100 });
  });
  afterEach(() => world.dispose());

  const merge = (): Promise<void> => world.platform.loyalty.merge(user(anonymous), user(account));

  it("has a product refunded to the account, once", async () => {
    const { products } = world.platform.loyalty;
    const { id } = await products.redeem(user(anonymous), { key: "k", productId: "cap", quantity: 1 });
    await merge();
    assert.equal(await points(account), 50);
    for (let times = 0; times < 2; times++) {
      const { status, text, json } = await post(`redemptions/${id}/refund`, {});
      assert.equal(status, 200, text);
      assert.equal(json.data.status, "refunded");
      assert.equal(json.data.balances.points, 100);
    }
    assert.deepEqual([await points(anonymous), await points(account)], [0, 100]);
    const [cap] = await products.list(user(account));
    assert.deepEqual(cap?.stock, { type: "limited", available: 5 });
    assert.equal((await world.platform.loyalty.reconcile(user(account))).ok, true);
    assert.deepEqual((await world.platform.loyalty.replay(user(account))).differences, []);
  });

  it("has a transaction taken back from the account, once", async () => {
    const [{ id: transactionId }] = (await world.call("/api/loyalty/history", { token: anonymous.token }))
      .json.data;
    await account.act("buy", { amount: 30 });
    await merge();
    const { status, text } = await post("reversals", { transactionId });
    assert.equal(status, 200, text);
    assert.deepEqual([await points(anonymous), await points(account)], [0, 30]);
    await assertProblem(await post("reversals", { transactionId }), 409, "conflict");
    assert.equal(await points(account), 30);
  });

  it("does not have a transaction taken back again that was before the merge", async () => {
    const [{ id: transactionId }] = (await world.call("/api/loyalty/history", { token: anonymous.token }))
      .json.data;
    assert.equal((await post("reversals", { transactionId })).status, 200);
    await merge();
    await assertProblem(await post("reversals", { transactionId }), 409, "conflict");
    assert.equal(await points(account), 0);
  });

  it("acts, is rewarded, adjusted and served as the account, and each id counts once", async () => {
    const { report, reportAll, grant, adjust, products } = world.platform.loyalty;
    const buy = (actionId: string) => ({
      action: "buy",
      data: { amount: 1 },
      actionId,
      isClientReport: false,
    });
    await report(user(anonymous), buy("before"));
    await merge();
    assert.equal(await points(account), 101);
    assert.equal((await report(user(anonymous), buy("before"))).isNew, false);
    for (let times = 0; times < 2; times++) await report(user(anonymous), buy("after"));
    const reports = ["before", "after", "late-1", "late-2"].map(buy);
    assert.deepEqual(await reportAll(user(anonymous), reports), { applied: 4 });
    assert.equal(await points(account), 104);
    const rewards = [{ type: "metric", metricId: "points", metricQuantity: 10 }] as const;
    for (let times = 0; times < 2; times++) await grant(user(anonymous), { rewards, reason: "", id: "g" });
    assert.equal(await points(account), 114);
    await adjust(user(anonymous), { changes: [{ metricId: "points", op: "incr", value: -4 }], reason: "" });
    assert.equal(await points(account), 110);
    await products.redeem(user(anonymous), { key: "k", productId: "cap", quantity: 1 });
    assert.deepEqual([await points(anonymous), await points(account)], [0, 60]);
    assert.equal((await world.platform.loyalty.reconcile(user(account))).ok, true);
  });
});
