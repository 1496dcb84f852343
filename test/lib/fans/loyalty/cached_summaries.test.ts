/** A cached summary of a user equals the summary of a process with empty caches. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { createPlatform, type Platform } from "../../../../lib/mod.ts";
import type { Partition, Read, ReadRecord, Results } from "../../../../lib/storage/mod.ts";
import { quickKernels } from "../../../support/kernels.ts";
import {
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
  testSecret,
} from "../../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../../support/stores.ts";
import { WatchedStore, watching } from "../../../support/watched_store.ts";

const member = { organisationId: ids.organisation, spaceId: ids.space, projectId: null, userId: "ann" };
const profileRead: ReadRecord = { type: "record", key: "profile" };
const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
const steps = 60;

/** Points that become usable and lapse, notifications that do not last, and a challenge that begins anew every week. */
const document = {
  ...loyalty,
  timeZone: "Europe/Berlin",
  notifications: { keepFor: { days: 10 } },
  metrics: [
    ...loyalty.metrics,
    { id: "coins", title: "", lots: { activatesAfter: { hours: 30 }, expires: { after: { days: 45 } } } },
  ],
  rules: [
    ...loyalty.rules,
    {
      id: "coins",
      trigger: { action: "prediction" },
      effects: [{ type: "metric", metricId: "coins", metricQuantity: 2 }],
    },
  ],
  challenges: loyalty.challenges.map(challenge => ({
    ...challenge,
    period: "week",
    recurrence: "onExpiration",
    showInProfile: true,
  })),
};

/** Another process on the same store. */
function newProcess({ store, clock }: TestPlatform): Promise<Platform> {
  const passwordKernels = quickKernels();
  return createPlatform({ store, clock: clock.now, secret: testSecret, passwordKernels });
}

function openClub(open: OpenStore): Promise<TestPlatform> {
  return openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
}

async function predict({ loyalty }: Platform, outcome = "exact"): Promise<void> {
  await loyalty.report(member, { action: "prediction", data: { outcome }, isClientReport: false });
}

/** Lets something happen after a look has begun and before it reads records. */
class LateRecords extends WatchedStore {
  before: (() => Promise<void>) | null = null;

  override async read<const Q extends readonly Read[]>(
    partition: Partition,
    queries: Q,
  ): Promise<Results<Q>> {
    const { before } = this;
    if (before === null || !queries.some(({ key }) => key === "inbox")) return super.read(partition, queries);
    this.before = null;
    await before();
    return super.read(partition, queries);
  }
}

describeOnStores("the cached summary of a user", open => {
  it("stays correct after changes in this process or another, and as time passes", async () => {
    const world = await openClub(open);
    const other = await newProcess(world);
    const random = createRandom(11);
    const happens: readonly (() => Promise<unknown>)[] = [
      () => predict(random.pick([world.platform, other]), random.pick(["exact", "right", "wrong"])),
      async () => {
        const { inbox } = random.pick([world.platform, other]).loyalty;
        const { items } = await inbox.list(member);
        const first = items.find(({ isRead }) => !isRead);
        if (first !== undefined) await inbox.markRead(member, first.id);
      },
      async () => world.clock.advance(random.pick([1, minuteMs, 7 * 60 * minuteMs, dayMs, 5 * dayMs])),
      async () => world.clock.advance(random.pick([1, minuteMs, 40 * dayMs])),
      async () => {},
    ];
    for (let step = 0; step < steps; step++) {
      await random.pick(happens)();
      const other = await newProcess(world);
      const { view } = await other.loyalty.reader.summary(member, profileRead);
      // Twice or thrice, so that what was remembered is told as well.
      for (let round = 0; round < 3; round++) {
        const seen = await world.platform.loyalty.reader.summary(member, profileRead);
        assert.deepEqual(seen.view, view, `step ${step}, round ${round}`);
      }
      await other.close();
    }
    await other.close();
    await world.dispose();
  });

  it("costs one read of the user's partition, and is the same object, as long as it stays the same", async () => {
    let watched: WatchedStore | undefined;
    const world = await openClub(watching(open, store => (watched = store)));
    const { reader: summaries } = world.platform.loyalty;
    await predict(world.platform);
    await world.platform.idle();
    await summaries.summary(member, profileRead);
    const { view } = await summaries.summary(member, profileRead);
    watched?.reads.splice(0);
    assert.equal((await summaries.summary(member, profileRead)).view, view);
    assert.equal(watched?.reads.length, 1);
    world.clock.advance(minuteMs);
    assert.equal((await summaries.summary(member, profileRead)).view, view);
    await predict(world.platform);
    assert.notEqual((await summaries.summary(member, profileRead)).view, view);
    await world.dispose();
  });

  it("ends with notifications that last no longer, although nothing else changes", async () => {
    const world = await openPlatform(open);
    const { reader: summaries } = world.platform.loyalty;
    await predict(world.platform);
    const unread = async (): Promise<number> =>
      (await summaries.summary(member, profileRead)).view.unreadNotifications;
    assert.deepEqual([await unread(), await unread(), await unread()], [1, 1, 1]);
    world.clock.advance(31 * dayMs);
    assert.equal(await unread(), 0);
    await world.dispose();
  });

  it("ends when points begin to expire soon, although nothing else changes", async () => {
    const metrics = [{ id: "coins", title: "", lots: { expires: { after: { days: 45 } } } }];
    const effects = [{ type: "metric", metricId: "coins", metricQuantity: 2 }];
    const rules = [{ id: "coins", trigger: { action: "prediction" }, effects }];
    const coins = { metrics, rules, actions: [{ name: "prediction", clientReportable: true }] };
    const world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: coins } } });
    const { reader: summaries } = world.platform.loyalty;
    await predict(world.platform);
    const soon = async (): Promise<number | undefined> =>
      (await summaries.summary(member, profileRead)).view.balances.coins?.expiringSoon.length;
    assert.deepEqual([await soon(), await soon(), await soon()], [0, 0, 0]);
    world.clock.advance(16 * dayMs);
    assert.deepEqual([await soon(), await soon(), await soon()], [1, 1, 1]);
    await world.dispose();
  });

  it("is not remembered from notifications that were read before the state", async () => {
    let late: LateRecords | undefined;
    const world = await openPlatform(async clock => (late = new LateRecords(await open(clock))));
    const { reader: summaries } = world.platform.loyalty;
    await predict(world.platform, "right");
    const other = await newProcess(world);
    if (late !== undefined) late.before = () => predict(world.platform);
    await other.loyalty.reader.summary(member, profileRead);
    assert.equal(late?.before, null);
    const { view } = await summaries.summary(member, profileRead);
    assert.equal(view.unreadNotifications, 1);
    assert.deepEqual((await other.loyalty.reader.summary(member, profileRead)).view, view);
    await other.close();
    await world.dispose();
  });

  it("shows another configuration as soon as that is known", async () => {
    const world = await openClub(open);
    const { reader: summaries } = world.platform.loyalty;
    await predict(world.platform);
    for (let round = 0; round < 3; round++) await summaries.summary(member, profileRead);
    const metrics = [...document.metrics, { id: "stars", title: "Stars", defaultValue: 4 }];
    await world.platform.loyaltyVersions.put(ids.space, { document: { ...document, metrics }, by: "test" });
    world.clock.advance(minuteMs);
    const { view } = await summaries.summary(member, profileRead);
    assert.equal(view.metrics.stars, 4);
    await world.dispose();
  });
});
