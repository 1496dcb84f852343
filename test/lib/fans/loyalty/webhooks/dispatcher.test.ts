/** Webhook messages about users' transactions. */

import assert from "node:assert/strict";
import { it } from "node:test";
import type { WebhookMessage } from "../../../../../lib/base/outbound/outbound.ts";
import { spaceUserPartition } from "../../../../../lib/fans/loyalty/user/state.ts";
import type { ProgressByWebhook } from "../../../../../lib/fans/loyalty/webhooks/progress.ts";
import type { Store } from "../../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { describeOnStores } from "../../../../support/stores.ts";
import { answered, configOf, happen, member, nothing, placeOf, tellingOf } from "./_receiver.ts";

const webhookPageMax = 100;
const webhookRetryJitter = 0.2;
const webhookRetryMsMax = 8 * 3_600_000;
const webhookRetryMsMin = 5_000;
const webhookTriedMsMax = 3 * 24 * 3_600_000;

async function progress(store: Store): Promise<ProgressByWebhook> {
  const [stored] = await store.read(spaceUserPartition(member), [{ type: "record", key: "webhooks" }]);
  return JSON.parse(stored?.value ?? "{}");
}

describeOnStores("webhooks", open => {
  it("receive the events that they subscribe to, in order, and each once", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const { taken, webhooks } = tellingOf(store, clock.now, config);
    const said = { config, now: clock.now() };
    await happen(store, { ...said, types: ["missionCompleted", "challengeCompleted", "milestoneReached"] });
    clock.advance(1_000);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    assert.equal(await webhooks.deliver(member), null);
    assert.equal(await webhooks.deliver(member), null);
    assert.deepEqual(
      taken.map(({ type }) => type),
      ["loyalty.challengeCompleted", "loyalty.milestoneReached", "loyalty.challengeCompleted"],
    );
    assert.equal(new Set(taken.map(({ id }) => id)).size, 3);
    const [first] = taken as [WebhookMessage];
    assert.equal(first.url, "https://w.example.org/");
    assert.equal(new TextDecoder().decode(first.key), "s/w");
    assert.equal(first.at, said.now);
    const { transaction } = first.data as { transaction: Record<string, unknown> };
    assert.deepEqual(transaction.payload, nothing);
    assert.equal(transaction.timestamp, Math.floor(said.now / 1_000));
  });

  it("receive no event from before they were configured", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    await happen(store, { config: configOf(), now: clock.now(), types: ["challengeCompleted"] });
    clock.advance(1);
    const config = configOf("w");
    const { taken, webhooks } = tellingOf(store, clock.now, config);
    await webhooks.deliver(member);
    assert.equal(taken.length, 0);
    await happen(store, { config, now: clock.now(), types: ["milestoneReached"] });
    await webhooks.deliver(member);
    assert.deepEqual(
      taken.map(({ type }) => type),
      ["loyalty.milestoneReached"],
    );
  });

  it("receive a failed message again under the same id, and later ones wait for it", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const telling = tellingOf(store, clock.now, config);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    const ids: string[] = [];
    telling.says = ({ id }) => {
      ids.push(id);
      return answered();
    };
    const retryAt = (await telling.webhooks.deliver(member)) ?? 0;
    assert.deepEqual(telling.failures, ["w"]);
    await happen(store, { config, now: clock.now(), types: ["milestoneReached"] });
    telling.says = () => undefined;
    assert.equal(await telling.webhooks.deliver(member), retryAt);
    assert.equal(telling.asked, 1);
    clock.advance(retryAt - clock.now());
    assert.equal(await telling.webhooks.deliver(member), null);
    assert.deepEqual(
      telling.taken.map(({ type }) => type),
      ["loyalty.challengeCompleted", "loyalty.milestoneReached"],
    );
    assert.deepEqual(ids, [telling.taken[0]?.id]);
    assert.equal((await progress(store)).w?.failure, undefined);
  });

  it("receive retries after growing pauses; in the end the message is a dead letter and the next event follows", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const telling = tellingOf(store, clock.now, config);
    const beganAt = clock.now();
    await happen(store, { config, now: beganAt, types: ["challengeCompleted"] });
    telling.says = ({ type }) => (type.endsWith("challengeCompleted") ? answered(500) : undefined);
    const pauses: number[] = [];
    for (;;) {
      const at = await telling.webhooks.deliver(member);
      if (at === null) break;
      pauses.push(at - clock.now());
      clock.advance(at - clock.now());
      if (pauses.length === 1) await happen(store, { config, now: clock.now(), types: ["milestoneReached"] });
    }
    const pauseOf = (n: number): number => Math.min(webhookRetryMsMax, webhookRetryMsMin * 4 ** n);
    // The last one is short: a service that failed that often is left alone before it is told the next event.
    for (const [n, pause] of pauses.slice(0, -1).entries()) {
      assert.ok(Math.abs(pause - pauseOf(n)) <= webhookRetryJitter * pauseOf(n) + 1, `${n}: ${pause}`);
    }
    assert.ok(clock.now() - beganAt > webhookTriedMsMax);
    assert.ok(clock.now() - beganAt < webhookTriedMsMax + 2 * webhookRetryMsMax);
    assert.deepEqual(
      telling.taken.map(({ type }) => type),
      ["loyalty.milestoneReached"],
    );
    const { deadLetters, total } = await telling.webhooks.deadLetters(placeOf("w"), { offset: 0, limit: 10 });
    assert.equal(total, 1);
    assert.equal(deadLetters[0]?.type, "loyalty.challengeCompleted");
    assert.equal(deadLetters[0]?.attempts, pauses.length);
    assert.equal(deadLetters[0]?.reason, "Cannot deliver the webhook: the service answered 500");
  });

  it("are left alone as long as they ask for, within the longest pause", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const telling = tellingOf(store, clock.now, config);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    telling.says = () => answered(429, 600_000);
    assert.equal(await telling.webhooks.deliver(member), clock.now() + 600_000);
    const other = { ...member, userId: "other" };
    assert.equal(await telling.webhooks.deliver(other), null);
    clock.advance(600_000);
    telling.says = () => answered(503, Number.MAX_SAFE_INTEGER);
    assert.equal(await telling.webhooks.deliver(member), clock.now() + webhookRetryMsMax);
  });

  it("that failed are tried again by the work of the process when their time has come", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const telling = tellingOf(store, clock.now, config);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    telling.says = () => answered();
    telling.webhooks.enqueue(member);
    await telling.webhooks.idle();
    telling.says = () => undefined;
    await telling.webhooks.work();
    await telling.webhooks.idle();
    assert.equal(telling.asked, 1);
    clock.advance(2 * webhookRetryMsMin);
    await telling.webhooks.work();
    await telling.webhooks.idle();
    assert.equal(telling.taken.length, 1);
    await telling.webhooks.work();
    await telling.webhooks.idle();
    assert.equal(telling.asked, 2);
  });

  it("do not wait for one another", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("bad", "good");
    const telling = tellingOf(store, clock.now, config);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    telling.says = ({ url }) => (url.includes("bad") ? answered() : undefined);
    assert.notEqual(await telling.webhooks.deliver(member), null);
    assert.deepEqual(
      telling.taken.map(({ url }) => url),
      ["https://good.example.org/"],
    );
    telling.says = () => undefined;
    clock.advance(2 * webhookRetryMsMin);
    assert.equal(await telling.webhooks.deliver(member), null);
    assert.equal(telling.taken.length, 2);
  });

  it("receive events that are days old once, and not again", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const telling = tellingOf(store, clock.now, config);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    clock.advance(webhookTriedMsMax + 1);
    assert.equal(await telling.webhooks.deliver(member), null);
    assert.equal(telling.taken.length, 1);
    telling.says = () => answered(500);
    await happen(store, { config, now: clock.now() - webhookTriedMsMax - 1, types: ["challengeCompleted"] });
    assert.equal(await telling.webhooks.deliver(member), null);
    assert.equal(telling.asked, 2);
    const { deadLetters } = await telling.webhooks.deadLetters(placeOf("w"), { offset: 0, limit: 10 });
    assert.deepEqual(
      deadLetters.map(({ attempts, reason }) => [attempts, reason]),
      [[1, "Cannot deliver the webhook: the service answered 500"]],
    );
  });

  it("receive more events than a page of history holds, in the background too", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const { taken, webhooks } = tellingOf(store, clock.now, config);
    for (let n = 0; n < webhookPageMax + 5; n++) {
      await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    }
    webhooks.enqueue(member);
    await webhooks.idle();
    assert.equal(taken.length, webhookPageMax + 5);
  });

  it("are forgotten when they are configured no more", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const happening = { now: clock.now(), types: ["challengeCompleted"] };
    await happen(store, { ...happening, config: configOf("a", "b") });
    await happen(store, { ...happening, config: configOf("b") });
    assert.deepEqual(Object.keys(await progress(store)), ["b"]);
    await happen(store, { ...happening, config: configOf() });
    assert.deepEqual(await progress(store), {});
  });
});
