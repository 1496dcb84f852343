/** The recipes of the guide of loyalty that depend on more than one user's loyalty, over HTTP. */

import assert from "node:assert/strict";
import { afterEach, it } from "node:test";
import { spaceUserPartition } from "../../lib/fans/loyalty/user/state.ts";
import { ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { recipeOf } from "../support/recipes.ts";
import { describeOnStores } from "../support/stores.ts";
import { type WatchedStore, watching } from "../support/watched_store.ts";
import { newKey } from "./_operations.ts";

const hourMs = 3_600_000;

describeOnStores("rules for some fans", open => {
  let world: TestPlatform;
  let store: WatchedStore;
  let headers: Readonly<Record<string, string>>;
  afterEach(() => world.dispose());

  async function openClub(document: object, settings?: Readonly<Record<string, unknown>>): Promise<void> {
    const watch = watching(open, opened => {
      store = opened;
    });
    const organisations = seed.organisations.map(one =>
      settings === undefined ? one : { ...one, settings },
    );
    world = await openPlatform(watch, {
      seed: { ...seed, organisations, loyalty: { [ids.space]: document } },
    });
    const { key, secret } = await newKey(world);
    headers = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": ids.organisation };
  }
  async function setFields(userId: string, customFields: object): Promise<void> {
    const path = "/v1/api/audience/internal/profiles/update-batch";
    const body = { updates: [{ userId, customFields }] };
    const { json } = await world.call(path, { method: "POST", headers, body });
    assert.equal(json.data?.summary.succeeded, 1, JSON.stringify(json));
  }
  async function checkIn(userId: string): Promise<number> {
    const before = (await world.platform.loyalty.profile(user(userId))).metrics.points ?? 0;
    await world.platform.loyalty.report(user(userId), { action: "checkin", data: {}, isClientReport: false });
    return ((await world.platform.loyalty.profile(user(userId))).metrics.points ?? 0) - before;
  }
  const user = (userId: string) => ({
    organisationId: ids.organisation,
    spaceId: ids.space,
    projectId: ids.project,
    userId,
  });

  it("read the custom fields that the profile has at the time of the action", async () => {
    await openClub(recipeOf("Only for some fans"));
    const { userId } = await world.fan("Sam");
    assert.equal(await checkIn(userId), 0);
    await setFields(userId, { member: true });
    assert.equal(await checkIn(userId), 10);
    await setFields(userId, { shirt: "L" });
    assert.equal(await checkIn(userId), 20);
    await setFields(userId, { member: false });
    assert.equal(await checkIn(userId), 0);
    const { differences } = await world.platform.loyalty.replay(user(userId));
    assert.deepEqual(differences, []);
    const body = { userId, action: "checkin", data: {} };
    const { json } = await world.call("/internal/loyalty/dry-run", { headers, body });
    assert.deepEqual(json.data.rules[0].failures, [
      { path: "/rules/0/when/eq", expected: "equal to true", actual: false },
    ]);
  });

  it("count days on the clocks of the fan, and limits of products too", async () => {
    const product = {
      ...{
        id: "tea",
        title: "",
        prices: [{ currency: "points", amount: 1 }],
        fulfilment: { type: "manual" },
      },
      limits: { perUser: 1, window: "day" },
    };
    await openClub(
      { ...recipeOf("Days of the fan's own clocks"), products: [product] },
      { audience: { customFields: { timeZone: { type: "string" } } } },
    );
    const { userId } = await world.fan("Sam");
    const canRedeem = async (): Promise<unknown> =>
      (await world.platform.loyalty.products.list(user(userId)))[0]?.reasons;
    await setFields(userId, { timeZone: "Pacific/Auckland" });
    world.clock.advance((34 - (new Date(world.clock.now()).getUTCHours() % 24)) * 3_600_000);
    // 10:00 to 11:00 UTC, which is in Auckland an hour or two before midnight.
    assert.equal(await checkIn(userId), 1);
    await world.platform.loyalty.products.redeem(user(userId), { key: "1", productId: "tea", quantity: 1 });
    world.clock.advance(15 * 60_000);
    assert.deepEqual(
      [await checkIn(userId), await canRedeem()],
      [0, ["limit_reached", "insufficient_balance"]],
    );
    world.clock.advance(3 * 3_600_000);
    assert.deepEqual([await checkIn(userId), await canRedeem()], [2, []]);
    assert.deepEqual((await world.platform.loyalty.replay(user(userId))).differences, []);
  });

  it("read the segments that back ends set, which searches find", async () => {
    await openClub(recipeOf("Only for a segment"), {
      audience: { customFields: { segments: { type: "list" } } },
    });
    const fan = await world.fan("Sam");
    const { userId } = fan;
    assert.equal(await checkIn(userId), 0);
    await setFields(userId, { segments: ["season-ticket"] });
    assert.equal(await checkIn(userId), 0);
    await setFields(userId, { segments: ["season-ticket", "vip"] });
    assert.equal(await checkIn(userId), 50);
    const own = { token: fan.token, headers: { "x-platform-org-id": ids.organisation } };
    const patch = {
      ...own,
      method: "PATCH",
      headers: { ...own.headers, "content-type": "application/merge-patch+json" },
      body: { customFields: { segments: ["vip"] } },
    };
    const { status, json: refused } = await world.call("/v1/api/audience/profile", patch);
    assert.deepEqual(
      [status, refused.errors?.[0]?.pointer],
      [400, "/customFields/segments"],
      JSON.stringify(refused),
    );
    const shown = await world.call("/v1/api/audience/profile", own);
    assert.deepEqual(shown.json.data.customFields, { segments: ["season-ticket", "vip"] });
    const found = async (segment: string): Promise<unknown> => {
      const body = {
        filter: { contains: [{ var: "customFields.segments" }, segment] },
        fields: ["userId", "customFields.segments"],
      };
      const path = "/v1/api/audience/internal/users/search";
      return (await world.call(path, { method: "POST", headers, body })).json.data;
    };
    const row = { userId, customFields: { segments: ["season-ticket", "vip"] } };
    assert.deepEqual([await found("vip"), await found("vi")], [[row], []]);
    const { differences } = await world.platform.loyalty.replay(user(userId));
    assert.deepEqual(differences, []);
    await setFields(userId, { segments: null });
    assert.equal(await checkIn(userId), 0);
    const body = { userId, action: "checkin", data: {} };
    const { json } = await world.call("/internal/loyalty/dry-run", { headers, body });
    assert.deepEqual(json.data.rules[0].failures, [
      { path: "/rules/0/when/contains", expected: 'containing "vip"', actual: [] },
    ]);
  });

  it("cost a known fan no further round trip, and a document without custom fields reads none", async () => {
    for (const [document, isRead] of [
      [recipeOf("Only for some fans"), true],
      [recipeOf("At most so many points a day"), false],
    ] as const) {
      await openClub(document);
      const { userId } = await world.fan("Sam");
      await setFields(userId, { member: true });
      const action = isRead ? "checkin" : "visit";
      const report = { action, data: {}, isClientReport: false };
      await world.platform.loyalty.report(user(userId), report);
      await world.platform.idle();
      const [reads, commits] = [store.reads.length, store.commits.length];
      await world.platform.loyalty.report(user(userId), report);
      const partition = spaceUserPartition(user(userId));
      const made = store.commits.slice(commits).filter(commit => commit.partition === partition);
      assert.deepEqual([store.reads.length - reads, made.length], [0, 1]);
      const checked = made[0]?.batch.checks?.map(({ key }) => key);
      assert.deepEqual(checked, isRead ? ["loyalty", "profile"] : ["loyalty"]);
      if (isRead) await world.dispose();
    }
  });

  it("sell a product to a tier and a segment, a few each day", async () => {
    const segments = { audience: { customFields: { segments: { type: "list" } } } };
    await openClub(recipeOf("Products for a tier, and some each day"), segments);
    world.clock.advance((24 - new Date(world.clock.now()).getUTCHours()) * hourMs);
    const { loyalty } = world.platform;
    const fans = [await world.fan("Ann"), await world.fan("Bob"), await world.fan("Cal")].map(
      fan => fan.userId,
    );
    const [ann = "", bob = "", cal = ""] = fans;
    const offer = async (userId: string): Promise<unknown> =>
      (await loyalty.products.list(user(userId))).map(({ stock, reasons }) => [stock, reasons])[0];
    const buy = async (userId: string, key: string): Promise<string> => {
      try {
        return (await loyalty.products.redeem(user(userId), { key, productId: "signed-shirt", quantity: 1 }))
          .id;
      } catch (error) {
        return (error as { code: string }).code;
      }
    };
    for (const userId of fans) {
      const data = { amount: userId === ann ? 100 : 99 };
      await loyalty.report(user(userId), { action: "purchase", data, isClientReport: false });
    }
    await setFields(bob, { segments: ["vip"] });
    const two = { type: "limited", available: 2 };
    assert.deepEqual(await Promise.all(fans.map(offer)), [
      [two, []],
      [two, []],
      [two, ["not_available"]],
    ]);
    assert.equal(await buy(cal, "1"), "not_available");
    const bought = [await buy(ann, "1"), await buy(bob, "1")];
    assert.ok(
      bought.every(id => id.startsWith("red_")),
      String(bought),
    );
    assert.equal(await buy(ann, "2"), "out_of_stock");
    assert.equal((await loyalty.profile(user(ann))).metrics.points, 50);
    world.clock.advance(2_000);
    assert.equal(await offer(ann), undefined);
    // The next day begins at midnight in Berlin.
    world.clock.advance(24 * hourMs);
    assert.deepEqual(await offer(ann), [two, []]);
    const third = await buy(ann, "3");
    // What is given back of the day before is not for sale today.
    await loyalty.products.refund(user(ann), bought[0] ?? "", { restocks: true });
    world.clock.advance(2_000);
    assert.deepEqual(await offer(ann), [{ type: "limited", available: 1 }, []]);
    await loyalty.products.refund(user(ann), third, { restocks: true });
    world.clock.advance(2_000);
    assert.deepEqual(await offer(ann), [two, []]);
    assert.deepEqual((await loyalty.replay(user(ann))).differences, []);
  });

  it("keep a tier and its progress whatever the fan buys, and a merged fan brings along what was earned", async () => {
    await openClub(recipeOf("Tiers that shopping does not take"));
    const { loyalty } = world.platform;
    const [{ userId }, other] = [await world.fan("Sam"), await world.fan("Sue")];
    const earn = (of: string, amount: number) =>
      loyalty.report(user(of), { action: "purchase", data: { amount }, isClientReport: false });
    const tier = async (): Promise<unknown> =>
      (await loyalty.reader.summary(user(userId), { type: "record", key: "profile" })).view.tier;
    await earn(userId, 200);
    const order = { key: "1", productId: "scarf", quantity: 1 };
    await loyalty.products.redeem(user(userId), order);
    assert.deepEqual(await tier(), {
      id: "silver",
      name: "Silver",
      progress: { current: 200, target: 500, percent: 25 },
    });
    await earn(other.userId, 290);
    await loyalty.products.redeem(user(other.userId), order);
    await loyalty.merge(user(other.userId), user(userId));
    assert.equal((await loyalty.profile(user(userId))).metrics.points, 330);
    assert.deepEqual(((await tier()) as { progress: object }).progress, {
      current: 490,
      target: 500,
      percent: 97,
    });
    await earn(userId, 10);
    assert.deepEqual(await tier(), { id: "gold", name: "Gold", progress: null });
    const { balances } = (await loyalty.reader.summary(user(userId), { type: "record", key: "profile" }))
      .view;
    assert.deepEqual([balances.points?.lifetimeEarned, balances.points?.lifetimeSpent], [500, 160]);
    assert.deepEqual((await loyalty.replay(user(userId))).differences, []);
    assert.equal((await loyalty.reconcile(user(userId))).ok, true);
  });

  it("let a tier fall by time alone, and the history shows it", async () => {
    await openClub(recipeOf("Tiers that have to be kept"));
    const { userId } = await world.fan("Sam");
    const report = { action: "purchase", data: { amount: 600 }, isClientReport: false };
    await world.platform.loyalty.report(user(userId), report);
    const tier = async (): Promise<unknown> =>
      (await world.platform.loyalty.reader.summary(user(userId), { type: "record", key: "profile" })).view
        .tier;
    assert.deepEqual(await tier(), { id: "gold", name: "Gold", progress: null });
    world.clock.advance(400 * 24 * 60 * 60 * 1_000);
    assert.equal(await tier(), null);
    const lost = (await world.platform.loyalty.history(user(userId), {})).at(-1);
    assert.equal(lost?.type, "milestoneLost");
    assert.deepEqual(lost?.payload.milestoneChanges, { tiers: { oldValue: "gold", newValue: "" } });
  });
});
