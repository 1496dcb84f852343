/** What a process with a clock far ahead has written does not date what happens to its users afterwards. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createPlatform, silentLogger } from "../../lib/mod.ts";
import { ids, openPlatform, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnEveryStore } from "../support/stores.ts";

const aheadMs = 26 * 3_600_000;

/** Reports an action of a user through a process whose clock is ahead, as a back end. */
async function actAhead(world: TestPlatform, userId: string): Promise<void> {
  const { store, clock } = world;
  const options = { store, secret: testSecret, defaultSpaceId: ids.space, logger: silentLogger } as const;
  const ahead = await createPlatform({ ...options, clock: () => clock.now() + aheadMs });
  const { key, secret } = await ahead.apiKeys.create({
    organisationId: ids.organisation,
    name: "Back end",
    permissions: ["actions:write"],
  });
  const call = async (path: string, body: unknown, token = ""): Promise<Response> =>
    await ahead.fetch(
      new Request(`http://club.example${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        body: JSON.stringify(body),
      }),
    );
  const issued = await (await call("/api/auth/token", { type: "service", key, secret })).json();
  const action = { action: "prediction", data: { outcome: "right" } };
  const answer = await call(`/api/loyalty/action?user_id=${userId}`, action, issued.data.accessToken);
  assert.equal(answer.status, 200);
  await ahead.idle();
  await ahead.close();
}

/** Creates a process over the store of the world whose clock is off. */
async function processAt(world: TestPlatform, offMs: number) {
  const { store, clock } = world;
  const options = { store, secret: testSecret, defaultSpaceId: ids.space, logger: silentLogger } as const;
  const platform = await createPlatform({ ...options, clock: () => clock.now() + offMs });
  const selector = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
  const send = async (method: string, path: string, body?: unknown, token = ""): Promise<Response> =>
    await platform.fetch(
      new Request(`http://club.example${path}`, {
        method,
        headers: { "content-type": "application/json", authorization: `Bearer ${token}` },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      }),
      { address: "192.0.2.1" },
    );
  return {
    close: () => platform.close(),
    async signUp() {
      const created = await send("POST", "/v1/user", { ...selector, data: { username: "Sam" } });
      const record = (await created.json()).data;
      const proof = { type: "sessionRecord", projectId: ids.project, record };
      const issued = await send("POST", "/api/auth/token", proof);
      return { externalId: record.externalId, token: (await issued.json()).data.accessToken as string };
    },
    act: (token: string) => send("POST", "/api/loyalty/action", { action: "cheer" }, token),
    leave: (externalId: string) =>
      send("DELETE", `/v1/user?${new URLSearchParams({ ...selector, externalId })}`),
  };
}

describe("processes whose clocks differ as far as they may serve", () => {
  it("accept each other's tokens, and end them with their user", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    const ahead = await processAt(world, 30_000);
    const behind = await processAt(world, -30_000);
    t.after(async () => {
      await ahead.close();
      await behind.close();
      await world.dispose();
    });
    const { externalId, token } = await ahead.signUp();
    assert.equal((await behind.act(token)).status, 200);
    assert.equal((await behind.leave(externalId)).status, 200);
    // The time for which a process trusts what it has read of a session.
    world.clock.advance(5_000);
    assert.equal((await behind.act(token)).status, 401);
    assert.equal((await ahead.act(token)).status, 401);
  });
});

describe("an idempotency key at a process whose clock is behind", () => {
  it("lets a request take effect once", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    const { store, clock } = world;
    const options = { store, secret: testSecret, defaultSpaceId: ids.space, logger: silentLogger } as const;
    const behind = await createPlatform({ ...options, clock: () => clock.now() - 30_000 });
    t.after(async () => {
      await behind.close();
      await world.dispose();
    });
    const { organisation: organisationId } = ids;
    const permissions = ["rewards:write"] as const;
    const { key, secret } = await behind.apiKeys.create({ organisationId, name: "CRM", permissions });
    const reward = { userId: "sam", type: "metric", currency: "points", amount: 5 };
    const send = async (): Promise<Response> =>
      await behind.fetch(
        new Request("http://club.example/v1/api/audience/internal/rewards/bulk", {
          method: "POST",
          headers: {
            "content-type": "application/json",
            "x-api-key": key,
            "x-api-secret": secret,
            "x-platform-org-id": organisationId,
            "idempotency-key": '"monday"',
          },
          body: JSON.stringify({ rewards: [reward] }),
        }),
      );
    assert.equal((await send()).status, 200);
    assert.equal((await send()).headers.get("idempotent-replayed"), "true");
    const sam = { organisationId, spaceId: ids.space, userId: "sam", projectId: null };
    assert.equal((await behind.loyalty.profile(sam)).metrics.points, 5);
  });
});

describe("a purchase at a process whose clock is far behind", () => {
  it("has the same transaction when it is repeated", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    const { store, clock, platform: ahead } = world;
    const options = { store, secret: testSecret, defaultSpaceId: ids.space, logger: silentLogger } as const;
    const behind = await createPlatform({ ...options, clock: () => clock.now() - 4_000_000 });
    t.after(async () => {
      await behind.close();
      await world.dispose();
    });
    const { organisation: organisationId, space: spaceId } = ids;
    const sam = { organisationId, spaceId, userId: "sam", projectId: null };
    const rewards = [{ type: "metric", metricId: "points", metricQuantity: 5 }] as const;
    await ahead.loyalty.grant(sam, { rewards, reason: "To spend" });
    const order = { key: "order-1", productId: "poster", quantity: 1 };
    const { transactionId } = await behind.loyalty.products.redeem(sam, order);
    assert.notEqual(transactionId, null);
    assert.equal((await behind.loyalty.products.redeem(sam, order)).transactionId, transactionId);
  });
});

describeOnEveryStore("a user of whom a process with a clock ahead has written", open => {
  it("goes on in the present", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const fan = await world.fan("Sam");
    await actAhead(world, fan.userId);
    world.clock.advance(1_000);
    await fan.act("prediction", { outcome: "right" });
    const { data } = (await world.call("/api/loyalty/history", { token: fan.token })).json;
    const times = data.map(({ timestamp }: { timestamp: number }) => timestamp * 1_000 - world.clock.now());
    assert.deepEqual(times, [aheadMs - 1_000, 0]);
    assert.equal((await fan.profile()).metrics.points, 2);
  });
});
