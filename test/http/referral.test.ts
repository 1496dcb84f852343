/** Effects on the user whom an action names, over HTTP and with processes that die. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { registrationMs } from "../../lib/fans/loyalty/due_users.ts";
import type { Platform } from "../../lib/mod.ts";
import { createDyingStore, type Death, moments } from "../support/dying_store.ts";
import { ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { openProcesses, type Processes } from "../support/processes.ts";
import { recipeOf } from "../support/recipes.ts";
import { describeOnStores } from "../support/stores.ts";
import { newKey } from "./_operations.ts";

const recipe = recipeOf("Bring a friend");
const unlimited = { ...recipe, rules: [{ ...(recipe.rules as object[])[0], limits: [] }] };
const user = (userId: string) => ({
  organisationId: ids.organisation,
  spaceId: ids.space,
  projectId: ids.project,
  userId,
});
const [friend, referrer] = [user("friend"), user("referrer")];

describeOnStores("a rule with an effect on another user", open => {
  async function withWorld(document: object, play: (world: TestPlatform) => Promise<void>): Promise<void> {
    const world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
    try {
      await play(world);
    } finally {
      await world.dispose();
    }
  }
  const pointsOf = async ({ platform }: Pick<TestPlatform, "platform">, userId: string) =>
    (await platform.loyalty.profile(user(userId))).metrics.points ?? 0;
  const report = (
    platform: Platform,
    userId: string,
    data: Readonly<Record<string, string>>,
    actionId?: string,
  ) =>
    platform.loyalty.report(user(userId), {
      action: "joined",
      data,
      isClientReport: false,
      ...(actionId === undefined ? {} : { actionId }),
    });

  it("rewards the fan whom the profile of the friend names at the first purchase", async () => {
    const field = { customFields: { referrerId: { type: "string" } } };
    const organisations = seed.organisations.map(one => ({ ...one, settings: { audience: field } }));
    const document = recipeOf("A reward at a friend's first purchase");
    const world = await openPlatform(open, {
      seed: { ...seed, organisations, loyalty: { [ids.space]: document } },
    });
    try {
      const [ann, bob, cal] = [await world.fan("Ann"), await world.fan("Bob"), await world.fan("Cal")];
      const { key, secret } = await newKey(world);
      const headers = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": ids.organisation };
      const body = { updates: [{ userId: bob.userId, customFields: { referrerId: ann.userId } }] };
      const path = "/v1/api/audience/internal/profiles/update-batch";
      await world.call(path, { method: "POST", headers, body });
      const buy = (userId: string) =>
        world.platform.loyalty.report(user(userId), {
          action: "purchase",
          data: { amount: 1 },
          isClientReport: false,
        });
      for (const userId of [cal.userId, bob.userId, bob.userId]) await buy(userId);
      const all = [ann, bob, cal].map(({ userId }) => pointsOf(world, userId));
      assert.deepEqual(await Promise.all(all), [50, 0, 0]);
      assert.deepEqual((await world.platform.loyalty.replay(user(bob.userId))).differences, []);
    } finally {
      await world.dispose();
    }
  });

  it("rewards both, once, and the boards and histories of both show it", async () => {
    await withWorld(recipe, async world => {
      const [ann, bob] = [await world.fan("Ann"), await world.fan("Bob")];
      for (const _ of [1, 2]) await report(world.platform, bob.userId, { referrerId: ann.userId }, "join");
      assert.equal((await bob.profile()).metrics.points, 5);
      assert.equal((await ann.profile()).metrics.points, 10);
      const [{ type, payload } = assert.fail(), ...others] = await ann.client.loyalty.listLoyaltyHistory();
      assert.deepEqual(others, []);
      assert.deepEqual(
        [type, payload.metadata, payload.reason],
        ["rewardGranted", { ruleId: "bring-a-friend", fromUserId: bob.userId }, "Rule bring-a-friend"],
      );
      for (const one of [ann, bob]) {
        const { differences } = await world.platform.loyalty.replay(user(one.userId));
        assert.deepEqual(differences, []);
        assert.equal((await world.platform.loyalty.reconcile(user(one.userId))).ok, true);
      }
    });
  });

  it("records why the named user got nothing, in the history of the user who acted", async () => {
    await withWorld(unlimited, async world => {
      const [ann, bob, old] = [await world.fan("Ann"), await world.fan("Bob"), await world.fan("Old")];
      await world.platform.loyalty.merge(user(old.userId), user(ann.userId));
      const named = [bob.userId, "nobody", "", "x".repeat(129), old.userId];
      for (const referrerId of named) await report(world.platform, bob.userId, { referrerId });
      await report(world.platform, bob.userId, {});
      const history = await bob.client.loyalty.listLoyaltyHistory();
      const refused = history.filter(({ type }) => type === "rewardRefused");
      const unknown = "Cannot give the reward as the action names nobody who is known";
      assert.deepEqual(
        refused.map(({ payload }) => [payload.reason, payload.metadata]),
        ["Cannot give the reward as the action names its own user", unknown, unknown, unknown].map(
          (reason, n) => [reason, { ruleId: "bring-a-friend", userId: named[n] }],
        ),
      );
      assert.equal((await bob.profile()).metrics.points, 30);
      // The reward of a user who was merged is the account's.
      assert.equal(await pointsOf(world, ann.userId), 10);
      const { differences } = await world.platform.loyalty.replay(user(bob.userId));
      assert.deepEqual(differences, []);
      const listed = [];
      for await (const { userId } of world.platform.loyalty.users(ids.organisation)) listed.push(userId);
      assert.equal(listed.includes("nobody"), false);
    });
  });

  it("rewards the users whom the actions of a batch name", async () => {
    await withWorld(unlimited, async world => {
      const [ann, bob, cid] = [await world.fan("Ann"), await world.fan("Bob"), await world.fan("Cid")];
      const reports = [ann, cid, ann].map(({ userId }) => ({
        action: "joined",
        data: { referrerId: userId },
        isClientReport: false,
      }));
      assert.deepEqual(await world.platform.loyalty.reportAll(user(bob.userId), reports), { applied: 3 });
      assert.equal(await pointsOf(world, ann.userId), 20);
      assert.equal(await pointsOf(world, cid.userId), 10);
    });
  });

  it("gives what it can of everything that a reward may be", async () => {
    const gift = { user: { var: "data.referrerId" } };
    const document = {
      metrics: [{ id: "points", title: "" }],
      inventory: [{ id: "badges", title: "", items: [{ id: "star", title: "" }] }],
      coupons: [{ id: "tea", title: "", type: "shared", code: "TEA" }],
      rewards: [
        { id: "pack", title: "", effects: [{ type: "metric", metricId: "points", metricQuantity: 7 }] },
      ],
      actions: [{ name: "joined" }],
      rules: [
        {
          id: "all",
          trigger: { action: "joined" },
          caps: [{ metricId: "points", max: 1 }],
          effects: [
            { type: "metric", metricId: "points", metricQuantity: { var: "data.amount" }, ...gift },
            { type: "inventory", inventorySetId: "badges", inventoryItemId: "star", ...gift },
            { type: "coupon", couponId: "tea", ...gift },
            { type: "reward", rewardId: "pack", ...gift },
          ],
        },
      ],
    };
    await withWorld(document, async world => {
      const [ann, bob] = [await world.fan("Ann"), await world.fan("Bob")];
      for (const amount of [2.9, -5]) {
        const data = { referrerId: ann.userId, amount };
        await world.platform.loyalty.report(user(bob.userId), {
          action: "joined",
          data,
          isClientReport: false,
        });
      }
      const { metrics, inventory } = await world.platform.loyalty.profile(user(ann.userId));
      assert.equal(metrics.points, 2 + 7 + 7);
      assert.deepEqual(inventory.badges, ["star"]);
      assert.equal((await world.platform.loyalty.coupon(user(ann.userId), "tea")).coupon_code, "TEA");
      assert.equal(await pointsOf(world, bob.userId), 0);
    });
  });
});

describeOnStores("a process that dies while a user is rewarded for another", open => {
  async function openWorld(): Promise<Processes> {
    const world = await openProcesses(open, recipe);
    const platform = await world.process();
    await platform.loyalty.profile(referrer);
    return world;
  }
  const join = (platform: Platform) =>
    platform.loyalty.report(friend, {
      action: "joined",
      actionId: "join",
      data: { referrerId: referrer.userId },
      isClientReport: false,
    });
  async function live(world: Processes, death: Death): Promise<{ isDone: boolean; operations: number }> {
    const store = createDyingStore(world.store);
    const platform = await world.process(store);
    store.dieAt(death);
    const isDone = await join(platform).then(
      () => true,
      () => false,
    );
    await platform.idle();
    return { isDone, operations: store.operations };
  }
  async function points(platform: Platform): Promise<readonly number[]> {
    const all: number[] = [];
    for (const one of [friend, referrer]) {
      all.push((await platform.loyalty.profile(one)).metrics.points ?? 0);
      const { differences } = await platform.loyalty.replay(one).catch(() => ({ differences: [] }));
      assert.deepEqual(differences, []);
    }
    return all;
  }

  it("rewards a user for many others who are reported to two processes at once", async () => {
    await using world = await openWorld();
    const processes = [await world.process(), await world.process()];
    const friends = Array.from({ length: 20 }, (_, n) => user(`friend-${n}`));
    const report = { action: "joined", actionId: "join", data: { referrerId: referrer.userId } };
    await Promise.all(
      friends.flatMap(one =>
        processes.map(async ({ loyalty }) => {
          await loyalty.report(one, { ...report, isClientReport: false });
          await loyalty.processDueUser(one);
        }),
      ),
    );
    for (const { loyalty } of processes)
      assert.equal((await loyalty.profile(referrer)).metrics.points, 10 * friends.length);
    assert.equal((await processes[0]?.loyalty.history(referrer, {}))?.length, friends.length);
  });

  it("rewards both once, whether the report is repeated or the sweep finds what is left", async () => {
    await using calm = await openWorld();
    const { operations } = await live(calm, { at: Number.POSITIVE_INFINITY, when: "before" });
    assert.ok(operations >= 5, String(operations));
    for (let at = 0; at < operations; at++) {
      for (const when of moments) {
        for (const isRepeated of [true, false]) {
          const name = `died ${when} operation ${at}, ${isRepeated ? "repeated" : "swept"}`;
          await using world = await openWorld();
          const { isDone } = await live(world, { at, when });
          const platform = await world.process();
          if (isRepeated) {
            await join(platform);
            assert.deepEqual(await points(platform), [5, 10], name);
          }
          world.clock.advance(registrationMs);
          await platform.work();
          await platform.idle();
          const end = await points(platform);
          const isNothing = end.every(one => one === 0);
          if (isRepeated || isDone || !isNothing) assert.deepEqual(end, [5, 10], name);
          assert.equal((await platform.loyalty.sweep()).processed, 0, name);
        }
      }
    }
  });
});
