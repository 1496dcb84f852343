import assert from "node:assert/strict";
import { it } from "node:test";
import type { LoyaltyConfig } from "../../../lib/loyalty/config.ts";
import type { HistoryRecord } from "../../../lib/loyalty/history.ts";
import { type Member, memberPartition } from "../../../lib/loyalty/member.ts";
import { compileConfig } from "../../../lib/loyalty/mod.ts";
import { emptyState } from "../../../lib/loyalty/state.ts";
import { printRecord } from "../../../lib/loyalty/stored_record.ts";
import { printState } from "../../../lib/loyalty/stored_state.ts";
import {
  createWebhookDispatch,
  type WebhookDispatch,
  webhookPageMax,
  webhookTriedMsMax,
} from "../../../lib/loyalty/webhooks/dispatch.ts";
import {
  type AllProgress,
  beginProgress,
  parseProgress,
  readProgress,
} from "../../../lib/loyalty/webhooks/progress.ts";
import type { WebhookMessage } from "../../../lib/ports/webhook_sender.ts";
import type { Store, Write } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { describeOnStores } from "../../support/stores.ts";

const member: Member = { organisationId: "o", spaceId: "s", userId: "u", projectId: null };
const nothing = {
  metricChanges: {},
  inventoryChanges: { received: [], lost: [] },
  milestoneChanges: {},
};

function configOf(...ids: string[]): LoyaltyConfig {
  const webhooks = ids.map(id => ({
    id,
    url: `https://${id}.example.org/`,
    events: ["challengeCompleted", "milestoneReached"],
  }));
  return compileConfig({ webhooks }).config;
}

interface Service {
  readonly taken: WebhookMessage[];
  readonly failures: string[];
  readonly dispatch: WebhookDispatch;
  isUp: boolean;
}

function service(store: Store, clock: () => number, config: LoyaltyConfig): Service {
  const taken: WebhookMessage[] = [];
  const failures: string[] = [];
  const made: Service = {
    taken,
    failures,
    isUp: true,
    dispatch: createWebhookDispatch({
      store,
      clock,
      config: () => config,
      keyOf: (spaceId, id) => new TextEncoder().encode(`${spaceId}/${id}`),
      onFailed: id => failures.push(id),
      sender: {
        async send(message) {
          if (!made.isUp) throw new Error("down");
          taken.push(message);
        },
      },
    }),
  };
  return made;
}

/** Writes what a decision of the engine writes of a history, one commit per record. */
async function happen(
  store: Store,
  { config, now, types }: { config: LoyaltyConfig; now: number; types: string[] },
): Promise<void> {
  const partition = memberPartition(member);
  const [stored, state] = await store.read(partition, [readProgress, { type: "record", key: "loyalty" }]);
  const records: number = state === null ? 0 : JSON.parse(state.value).records;
  const transactions = types.map(type => ({ type, payload: nothing, entries: [] }));
  const record: HistoryRecord = { kind: "action", at: now, config: "1", transactions };
  const writes: Write[] = [
    { type: "put", key: "loyalty", value: printState({ ...emptyState(null), records: records + 1 }) },
    { type: "append", key: "history", value: printRecord(record), at: now, maxLength: 10_000 },
    ...beginProgress(config.webhooks, parseProgress(stored), { now, records }),
  ];
  assert.ok((await store.commit(partition, { writes })).ok);
}

async function progress(store: Store): Promise<AllProgress> {
  const [stored] = await store.read(memberPartition(member), [readProgress]);
  return parseProgress(stored);
}

describeOnStores("webhooks", open => {
  it("are told the events that they ask for, in order, and each once", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const { taken, dispatch } = service(store, clock.now, config);
    const said = { config, now: clock.now() };
    await happen(store, { ...said, types: ["missionCompleted", "challengeCompleted", "milestoneReached"] });
    clock.advance(1_000);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    assert.equal(await dispatch.deliver(member), true);
    assert.equal(await dispatch.deliver(member), true);
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

  it("learn nothing of what happened before they were configured", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    await happen(store, { config: configOf(), now: clock.now(), types: ["challengeCompleted"] });
    clock.advance(1);
    const config = configOf("w");
    const { taken, dispatch } = service(store, clock.now, config);
    await dispatch.deliver(member);
    assert.equal(taken.length, 0);
    await happen(store, { config, now: clock.now(), types: ["milestoneReached"] });
    await dispatch.deliver(member);
    assert.deepEqual(
      taken.map(({ type }) => type),
      ["loyalty.milestoneReached"],
    );
  });

  it("are told later, under the same id, what they did not take, and nothing overtakes it", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const made = service(store, clock.now, config);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    made.isUp = false;
    assert.equal(await made.dispatch.deliver(member), false);
    assert.deepEqual(made.failures, ["w"]);
    await happen(store, { config, now: clock.now(), types: ["milestoneReached"] });
    made.isUp = true;
    assert.equal(await made.dispatch.deliver(member), true);
    assert.deepEqual(
      made.taken.map(({ type }) => type),
      ["loyalty.challengeCompleted", "loyalty.milestoneReached"],
    );
  });

  it("do not wait for one another", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("bad", "good");
    const { taken, dispatch } = service(store, clock.now, config);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    const failing = createWebhookDispatch({
      store,
      clock: clock.now,
      config: () => config,
      keyOf: () => new Uint8Array(32),
      onFailed: () => {},
      sender: {
        send: async message => {
          if (message.url.includes("bad")) throw new Error("down");
          taken.push(message);
        },
      },
    });
    assert.equal(await failing.deliver(member), false);
    assert.deepEqual(
      taken.map(({ url }) => url),
      ["https://good.example.org/"],
    );
    assert.equal(await dispatch.deliver(member), true);
    assert.equal(taken.length, 2);
  });

  it("are given up after some days", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const { taken, dispatch } = service(store, clock.now, config);
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    clock.advance(webhookTriedMsMax + 1);
    assert.equal(await dispatch.deliver(member), true);
    assert.deepEqual(taken, []);
  });

  it("are told more than a page of history holds, in the background too", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    const { taken, dispatch } = service(store, clock.now, config);
    for (let n = 0; n < webhookPageMax + 5; n++) {
      await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    }
    dispatch.enqueue(member);
    await dispatch.idle();
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

  it("leave a service alone that fails again and again", async () => {
    const clock = createTestClock();
    await using store = await open(clock.now);
    const config = configOf("w");
    await happen(store, { config, now: clock.now(), types: ["challengeCompleted"] });
    let asked = 0;
    const dispatch = createWebhookDispatch({
      store,
      clock: clock.now,
      config: () => config,
      keyOf: () => new Uint8Array(32),
      onFailed: () => {},
      sender: {
        send: async () => {
          asked += 1;
          throw new Error("down");
        },
      },
    });
    for (let n = 0; n < 20; n++) await dispatch.deliver(member);
    assert.equal(asked, 5);
  });
});
