/** Updates take effect once under their ids, and no item fails that was applied. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { AppError } from "../../../lib/base/errors/mod.ts";
import type { Timer } from "../../../lib/http/mod.ts";
import { systemTimer } from "../../../lib/storage/background/mod.ts";
import type { Batch, Commit, Partition, Read, Results, Store } from "../../../lib/storage/mod.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";
import { type BackEndCall, backEnd, pointsOf } from "./_back_end.ts";

const path = "/v1/api/audience/internal/profiles/update-batch";
const dayMs = 86_400_000;
const incr = (value: number): object => ({ points: { op: "incr", value } });

/** What happens to a commit of a user's partition: it works, or its answer is lost before or after its effect. */
type Fate = "works" | "lost before" | "lost after";

/** A store that loses answers about users, and may be away after that. */
class LossyStore implements Store {
  fate: () => Fate = () => "works";
  isAway: boolean = false;
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get traits(): Store["traits"] {
    return this.#store.traits;
  }

  async read<const Q extends readonly Read[]>(partition: Partition, queries: Q): Promise<Results<Q>> {
    if (this.isAway) throw new AppError("storage_unavailable", "Away");
    return await this.#store.read(partition, queries);
  }

  async commit(partition: Partition, batch: Batch): Promise<Commit> {
    if (this.isAway) throw new AppError("storage_unavailable", "Away");
    const fate = partition.includes(":loyalty:") ? this.fate() : "works";
    if (fate === "lost before") throw new AppError("outcome_unknown", "Lost");
    const commit = await this.#store.commit(partition, batch);
    if (fate === "lost after") throw new AppError("outcome_unknown", "Lost");
    return commit;
  }

  ping(): Promise<void> {
    return this.#store.ping();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return Promise.resolve(this.#store[Symbol.asyncDispose]());
  }
}

interface Lossy {
  readonly world: TestPlatform;
  readonly store: LossyStore;
  readonly update: (updates: readonly object[]) => Promise<Answer["json"]>;
  /** Pauses of the request so far, in ms. None of them takes time. */
  readonly pauses: number[];
}

async function lossy(open: OpenStore): Promise<Lossy> {
  const pauses: number[] = [];
  const timer: Timer = (callback, delayMs) => {
    if (![100, 200, 400, 800, 1_600, 3_200].includes(delayMs)) return systemTimer(callback, delayMs);
    pauses.push(delayMs);
    const immediate = setImmediate(callback);
    return () => clearImmediate(immediate);
  };
  let store: LossyStore | undefined;
  const world = await openPlatform(
    async clock => {
      store = new LossyStore(await open(clock));
      return store;
    },
    { timer },
  );
  assert.ok(store !== undefined);
  const call: BackEndCall = await backEnd(world, ["users:write"]);
  const update = async (updates: readonly object[]): Promise<Answer["json"]> => {
    const { status, json, text } = await call(path, { body: { updates } });
    assert.equal(status, 200, text);
    return json.data;
  };
  return { world, store, update, pauses };
}

const once = (fate: Fate): (() => Fate) => {
  let isFirst = true;
  return () => {
    const now = isFirst ? fate : "works";
    isFirst = false;
    return now;
  };
};

describeOnStores("updates of profiles", open => {
  it("are answered under their id as the first time, for 7 days", async t => {
    const { world, update } = await lossy(open);
    t.after(() => world.dispose());
    const one = { userId: "a", updateId: "u1", displayName: "One", metrics: incr(5) };
    const [first] = (await update([one])).results;
    assert.deepEqual([first.id, first.status, first.version], ["u1", "succeeded", 1]);
    assert.equal(typeof first.transactionId, "string");
    await update([{ userId: "a", displayName: "Two", metrics: incr(1) }]);
    world.clock.advance(7 * dayMs - 1);
    const repeated = await update([{ ...one, displayName: "Three" }, one]);
    assert.deepEqual(repeated.results, [first, { ...first, index: 1 }]);
    assert.equal(await pointsOf(world, "a"), 6);
    // Another user's update of the same id is another update.
    assert.equal((await update([{ ...one, userId: "b" }])).results[0].version, 1);
    assert.equal(await pointsOf(world, "b"), 5);
    world.clock.advance(dayMs);
    assert.equal((await update([one])).results[0].version, 3);
    assert.equal(await pointsOf(world, "a"), 11);
    const user = { organisationId: ids.organisation, spaceId: ids.space, userId: "a", projectId: null };
    assert.deepEqual((await world.platform.loyalty.replay(user)).differences, []);
  });

  it("are remembered where they changed nothing, and where they change the profile alone", async t => {
    const { world, update } = await lossy(open);
    t.after(() => world.dispose());
    const zero = { userId: "a", updateId: "zero", metrics: { points: { op: "set", value: 0 } } };
    const [first] = (await update([zero])).results;
    const name = { userId: "a", updateId: "name", displayName: "One", expectedVersion: 1 };
    const [named] = (await update([name])).results;
    await update([{ userId: "a", displayName: "Two", metrics: incr(9) }]);
    assert.deepEqual((await update([zero])).results, [first]);
    assert.deepEqual((await update([name])).results, [named]);
    assert.equal(await pointsOf(world, "a"), 9);
  });

  it("sent to two processes at once take effect once", async t => {
    const { world, update } = await lossy(open);
    t.after(() => world.dispose());
    const updates = Array.from({ length: 20 }, (_, n) => ({
      userId: `user-${n % 5}`,
      updateId: `u${n}`,
      metrics: incr(1),
    }));
    const answers = await Promise.all([update(updates), update(updates), update(updates)]);
    for (const { results } of answers) assert.deepEqual(results, answers[0].results);
    for (let n = 0; n < 5; n++) assert.equal(await pointsOf(world, `user-${n}`), 4);
  });

  for (const fate of ["lost before", "lost after"] as const) {
    it(`take effect once if the answer of the store is ${fate} their effect`, async t => {
      const { world, store, update, pauses } = await lossy(open);
      t.after(() => world.dispose());
      await update([{ userId: "a", displayName: "Zero" }]);
      for (const more of [{}, { updateId: "u1" }, { expectedVersion: 3, metrics: undefined }]) {
        store.fate = once(fate);
        const { summary, results } = await update([
          { userId: "a", displayName: JSON.stringify(more).slice(1), metrics: incr(2), ...more },
        ]);
        assert.deepEqual([summary.succeeded, summary.failed], [1, 0]);
        assert.equal(typeof results[0].transactionId, "metrics" in more ? "undefined" : "string");
      }
      assert.equal(await pointsOf(world, "a"), 4);
      assert.deepEqual(pauses, [], "the next look at the store told");
    });

    it(`wait for a store that is away after an answer was ${fate} their effect`, async t => {
      const { world, store, update, pauses } = await lossy(open);
      t.after(() => world.dispose());
      await update([{ userId: "a", displayName: "A" }]);
      store.fate = () => {
        store.isAway = true;
        store.fate = () => "works";
        return fate;
      };
      const answered = update([{ userId: "a", metrics: incr(2) }]);
      while (pauses.length < 3) await new Promise(setImmediate);
      store.isAway = false;
      assert.equal((await answered).results[0].status, "succeeded");
      assert.equal(await pointsOf(world, "a"), 2);
    });

    it(`are of unknown status if the store stays away after an answer was ${fate} their effect`, async t => {
      const { world, store, update, pauses } = await lossy(open);
      t.after(() => world.dispose());
      const updates = Array.from({ length: 40 }, (_, n) => ({
        userId: `u${n}`,
        updateId: `${n}`,
        metrics: incr(2),
      }));
      await update(updates.map(({ userId }) => ({ userId, displayName: "A" })));
      let commits = 0;
      store.fate = () => {
        commits += 1;
        if (commits < 10) return "works";
        store.isAway = true;
        return fate;
      };
      const { summary, errors, results } = await update(updates);
      assert.equal(errors, true);
      assert.equal(summary.succeeded + summary.failed + summary.unknown, 40);
      assert.ok(summary.unknown > 0 && summary.failed > 0, JSON.stringify(summary));
      for (const { status, error } of results) {
        if (status === "unknown") assert.deepEqual([error.code, error.retryable], ["outcome_unknown", true]);
      }
      assert.equal(Math.max(...pauses), 3_200);
      store.fate = () => "works";
      store.isAway = false;
      for (const { userId, status } of results) {
        if (status === "failed") assert.equal(await pointsOf(world, userId), 0, "a failed item was applied");
      }
      assert.equal((await update(updates)).summary.succeeded, 40);
      for (const { userId } of updates) assert.equal(await pointsOf(world, userId), 2);
    });
  }

  it("say of no item that it failed while every third answer is lost", async t => {
    const { world, store, update } = await lossy(open);
    t.after(() => world.dispose());
    let commits = 0;
    store.fate = () => {
      commits += 1;
      if (commits % 3 !== 0) return "works";
      return commits % 2 === 0 ? "lost before" : "lost after";
    };
    const updates = Array.from({ length: 300 }, (_, n) => ({ userId: `u${n % 60}`, metrics: incr(1) }));
    const { summary } = await update(updates);
    assert.deepEqual(summary, { total: 300, succeeded: 300, duplicate: 0, failed: 0 });
    for (let n = 0; n < 60; n++) assert.equal(await pointsOf(world, `u${n}`), 5);
  });
});
