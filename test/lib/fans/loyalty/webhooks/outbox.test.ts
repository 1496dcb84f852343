/** Announcements, dead letters, and disabled services. */

import assert from "node:assert/strict";
import { it } from "node:test";
import type { Announcement } from "../../../../../lib/base/outbound/outbound.ts";
import {
  createDeliveryStore,
  webhookDeadLettersMax,
  webhookKeys,
  webhookPartition,
} from "../../../../../lib/fans/loyalty/webhooks/deliveries.ts";
import { type Store, storageLimits, type Write } from "../../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { describeOnDatabases } from "../../../../support/stores.ts";
import { answered, configOf, happen, member, placeOf, type Telling, tellingOf } from "./_receiver.ts";

const webhookDeadMsMax = 14 * 24 * 3_600_000;
const webhookDeliveriesWaitingMax = 10_000;
const endpointFreshMs = 5_000;
const failureNotedMs = 60_000;
const webhookFailingMsMax = 5 * 24 * 3_600_000;
const webhookFailureGapMsMax = 24 * 3_600_000;
const webhookRetryMsMin = 5_000;
const webhookTriedMsMax = 3 * 24 * 3_600_000;

const place = placeOf("w");
const page = { offset: 0, limit: 100 };

function exported(at: number, id: string = "export:1"): Announcement {
  return {
    organisationId: "o",
    spaceId: "s",
    id,
    area: "audience",
    event: "exportCompleted",
    at,
    data: { exportId: "1" },
  };
}

async function worked({ webhooks }: Telling): Promise<void> {
  await webhooks.work();
  await webhooks.idle();
}

/** Lets so many members stand on a webhook's board, without their letters. */
async function crowd(
  store: Store,
  key: string,
  { count, score }: { count: number; score: number },
): Promise<void> {
  const writes = Array.from(
    { length: count },
    (_, n): Write => ({ type: "score", op: "set", key, member: `filler-${n}`, score }),
  );
  for (let from = 0; from < count; from += storageLimits.writesMax) {
    const batch = { writes: writes.slice(from, from + storageLimits.writesMax) };
    assert.ok((await store.commit(webhookPartition(place), batch)).ok);
  }
}

describeOnDatabases("stored messages for webhooks", open => {
  it("are sent at once, under an id that stays, to those who ask for them", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const telling = tellingOf(store, clock.now, configOf("w"));
    await telling.webhooks.announce(exported(clock.now()));
    await telling.webhooks.announce({ ...exported(clock.now()), event: "somethingElse" });
    await telling.webhooks.idle();
    assert.deepEqual(
      telling.taken.map(({ id, type, at, data }) => ({ id, type, at, data })),
      [{ id: "s:w:export:1", type: "audience.exportCompleted", at: clock.now(), data: { exportId: "1" } }],
    );
    await worked(telling);
    assert.equal(telling.asked, 1);
    const { deliveries: deliveryStore } = await telling.webhooks.status(place, {
      id: "w",
      url: "https://w.example.org/",
      events: [],
    });
    assert.deepEqual(deliveryStore, { waiting: 0, dead: 0 });
  });

  it("outlive the process that stored them", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const before = tellingOf(store, clock.now, configOf("w"));
    before.says = () => answered();
    await before.webhooks.announce(exported(clock.now()));
    await before.webhooks.idle();
    clock.advance(2 * webhookRetryMsMin);
    const after = tellingOf(store, clock.now, configOf("w"));
    await worked(after);
    assert.deepEqual(
      after.taken.map(({ id }) => id),
      ["s:w:export:1"],
    );
  });

  it("that fail for days are dead letters, which an operator can replay", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const telling = tellingOf(store, clock.now, configOf("w"));
    const announcedAt = clock.now();
    telling.says = () => answered(500);
    await telling.webhooks.announce(exported(announcedAt));
    while (clock.now() < announcedAt + webhookTriedMsMax + 24 * 3_600_000) {
      await worked(telling);
      clock.advance(3_600_000);
    }
    const { asked } = telling;
    assert.ok(asked > 5 && asked < 30, String(asked));
    const { deadLetters, total } = await telling.webhooks.deadLetters(place, page);
    assert.equal(total, 1);
    const [{ deliveryId, attempts } = assert.fail()] = deadLetters;
    assert.equal(attempts, asked);
    telling.says = () => undefined;
    const unknown = `wdl_${"0".repeat(32)}`;
    assert.deepEqual(await telling.webhooks.replay(place, [deliveryId, unknown]), [deliveryId]);
    await telling.webhooks.idle();
    assert.deepEqual(
      telling.taken.map(message => [message.id, message.at]),
      [["s:w:export:1", announcedAt]],
    );
    assert.equal((await telling.webhooks.deadLetters(place, page)).total, 0);
  });

  it("are removed together with their webhook", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const telling = tellingOf(store, clock.now, configOf("w"));
    telling.says = () => answered();
    await telling.webhooks.announce(exported(clock.now()));
    await telling.webhooks.idle();
    telling.config = configOf();
    clock.advance(2 * webhookRetryMsMin);
    await worked(telling);
    telling.config = configOf("w");
    telling.says = () => undefined;
    clock.advance(3_600_000);
    await worked(telling);
    assert.equal(telling.asked, 1);
  });

  it("are dead at once where too many wait", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const deliveryStore = createDeliveryStore({ store, clock: clock.now });
    const letter = { id: "one", type: "t", at: clock.now(), data: null };
    await crowd(store, webhookKeys.waiting, {
      count: webhookDeliveriesWaitingMax - 1,
      score: clock.now() + 1,
    });
    await deliveryStore.queue(place, letter);
    assert.deepEqual(await deliveryStore.counts(place), { waiting: webhookDeliveriesWaitingMax, dead: 0 });
    await deliveryStore.queue(place, letter);
    await deliveryStore.queue(place, { ...letter, id: "two" });
    assert.deepEqual(await deliveryStore.counts(place), { waiting: webhookDeliveriesWaitingMax, dead: 1 });
    assert.match((await deliveryStore.listDead(place, page)).deadLetters[0]?.reason ?? "", /are waiting/);
  });

  it("that are dead are bounded in number and age, the oldest go first", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const deliveryStore = createDeliveryStore({ store, clock: clock.now });
    const dead = { type: "t", at: 0, data: null, since: 0, attempts: 1, reason: "why" };
    await deliveryStore.moveToDeadLetters(place, { ...dead, id: "oldest" });
    const [oldest = assert.fail()] = (await deliveryStore.listDead(place, page)).deadLetters;
    clock.advance(1);
    await crowd(store, webhookKeys.dead, { count: webhookDeadLettersMax - 1, score: clock.now() });
    assert.equal((await deliveryStore.counts(place)).dead, webhookDeadLettersMax);
    clock.advance(1);
    await deliveryStore.moveToDeadLetters(place, { ...dead, id: "newest" });
    await deliveryStore.moveToDeadLetters(place, { ...dead, id: "newest" });
    assert.equal((await deliveryStore.counts(place)).dead, webhookDeadLettersMax);
    assert.deepEqual(await deliveryStore.replay(place, [oldest.deliveryId]), []);
    const { deadLetters: shown } = await deliveryStore.listDead(place, { offset: 0, limit: 1 });
    assert.equal(shown[0]?.id, "newest");
    clock.advance(webhookDeadMsMax);
    assert.deepEqual(await deliveryStore.listDead(place, page), { deadLetters: [], total: 0 });
    assert.equal((await deliveryStore.counts(place)).dead, 0);
  });
});

describeOnDatabases("a service behind a webhook", open => {
  const webhook = configOf("w").webhooks[0] ?? { id: "", url: "", events: [] };

  it("that answers 410 receives nothing until an operator enables it", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const telling = tellingOf(store, clock.now, config);
    telling.says = () => answered(410);
    for (let n = 0; n < 3; n++)
      await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    assert.equal(await telling.webhooks.deliver(member), null);
    assert.equal(telling.asked, 1);
    const { disabled, deliveries: deliveryStore } = await telling.webhooks.status(place, webhook);
    assert.deepEqual(disabled, { at: clock.now(), reason: "gone" });
    assert.equal(deliveryStore.dead, 3);
    const { deadLetters: dead } = await telling.webhooks.deadLetters(place, page);
    assert.deepEqual(dead.map(({ attempts }) => attempts).sort(), [0, 0, 1]);

    telling.says = () => undefined;
    await telling.webhooks.enable(place, webhook);
    assert.equal((await telling.webhooks.status(place, webhook)).disabled, null);
    await telling.webhooks.replay(
      place,
      dead.map(({ deliveryId }) => deliveryId),
    );
    await telling.webhooks.idle();
    assert.equal(telling.taken.length, 3);
  });

  it("at another address is another one", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const telling = tellingOf(store, clock.now, config);
    telling.says = () => answered(410);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    await telling.webhooks.deliver(member);
    const moved = { ...webhook, url: "https://new.example.org/" };
    telling.config = { ...config, webhooks: [moved] };
    telling.says = () => undefined;
    await happen(store, { config, now: clock.now(), types: ["milestoneReached"] });
    await telling.webhooks.deliver(member);
    assert.equal(telling.taken[0]?.url, "https://new.example.org/");
    assert.equal((await telling.webhooks.status(place, moved)).disabled, null);
  });

  it("that takes nothing for days is given up, one that takes something is not", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const telling = tellingOf(store, clock.now, configOf("w"));
    const fail = async (): Promise<void> => {
      telling.says = () => answered(500);
      await telling.webhooks.announce(exported(clock.now(), `export:${clock.now()}`));
      await worked(telling);
    };
    await fail();
    const since = clock.now();
    while (clock.now() < since + webhookFailingMsMax - webhookFailureGapMsMax / 2) {
      assert.equal((await telling.webhooks.status(place, webhook)).disabled, null);
      clock.advance(webhookFailureGapMsMax / 2);
      await fail();
    }
    assert.equal((await telling.webhooks.status(place, webhook)).failingSince, since);
    telling.says = () => undefined;
    clock.advance(webhookFailureGapMsMax / 2);
    await worked(telling);
    const { failingSince, lastFailure } = await telling.webhooks.status(place, webhook);
    assert.equal(failingSince, null);
    assert.match(lastFailure?.reason ?? "", /answered 500/);

    await fail();
    const again = clock.now();
    while (clock.now() < again + webhookFailingMsMax) {
      clock.advance(webhookFailureGapMsMax / 2);
      await fail();
    }
    assert.equal((await telling.webhooks.status(place, webhook)).disabled?.reason, "failing");
  });

  it("that failed once, long ago, is not given up for it", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const telling = tellingOf(store, clock.now, config);
    telling.says = () => answered(500);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    await telling.webhooks.deliver(member);
    clock.advance(webhookFailingMsMax + 1);
    await happen(store, { config, now: clock.now(), types: ["milestoneReached"] });
    await telling.webhooks.deliver(member);
    assert.equal(telling.asked, 3);
    const { disabled, failingSince } = await telling.webhooks.status(place, webhook);
    assert.equal(disabled, null);
    assert.equal(failingSince, clock.now());
  });

  it("that is known to fail is noted once a minute, and found out about within seconds by others", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const one = tellingOf(store, clock.now, config);
    const other = tellingOf(store, clock.now, config);
    await other.webhooks.announce(exported(clock.now(), "export:0"));
    await other.webhooks.idle();
    one.says = () => answered(500);
    await one.webhooks.announce(exported(clock.now()));
    await one.webhooks.idle();
    const { lastFailure } = await one.webhooks.status(place, webhook);
    clock.advance(failureNotedMs - 1);
    await one.webhooks.announce(exported(clock.now(), "export:2"));
    await one.webhooks.idle();
    assert.deepEqual((await one.webhooks.status(place, webhook)).lastFailure, lastFailure);
    one.says = () => answered(410);
    await one.webhooks.announce(exported(clock.now(), "export:3"));
    await one.webhooks.idle();
    clock.advance(endpointFreshMs);
    const { asked } = other;
    await other.webhooks.announce(exported(clock.now(), "export:4"));
    await other.webhooks.idle();
    assert.equal(other.asked, asked);
  });

  it("that fails again and again is left alone for some seconds", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const telling = tellingOf(store, clock.now, configOf("w"));
    telling.says = () => answered();
    for (let n = 0; n < 20; n++) await telling.webhooks.announce(exported(clock.now(), `export:${n}`));
    await worked(telling);
    assert.equal(telling.asked, 5);
    assert.equal((await telling.webhooks.status(place, webhook)).deliveries.waiting, 20);
  });

  it("receives the messages of one organisation while it refuses those of another with the same URL", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const telling = tellingOf(store, clock.now, configOf("w"));
    telling.says = ({ id }) => (id.startsWith("strange") ? answered(429, 600_000) : undefined);
    for (let n = 0; n < 20; n++) {
      const strange = { ...exported(clock.now(), `export:${n}`), organisationId: "x", spaceId: "strange" };
      await telling.webhooks.announce(strange);
    }
    await worked(telling);
    await telling.webhooks.announce(exported(clock.now()));
    await worked(telling);
    assert.deepEqual(
      telling.taken.map(({ id }) => id),
      ["s:w:export:1"],
    );
  });
});
