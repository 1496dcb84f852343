import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { type BoardLocation, locateBoard } from "../../../../lib/fans/leaderboards/scores/resolve_board.ts";
import type {
  RecordedScore,
  ResolveTarget,
  ScoreUpdate,
  TargetRefusal,
} from "../../../../lib/fans/leaderboards/scores/score_delivery.ts";
import { ScoreDelivery } from "../../../../lib/fans/leaderboards/scores/score_delivery.ts";
import { defaultBoard } from "../../../../lib/fans/leaderboards/settings/board_settings.ts";
import type { Batch, Commit, Partition } from "../../../../lib/storage/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids } from "../../../support/platform.ts";
import { describeOnDatabases, type OpenStore } from "../../../support/stores.ts";
import { WatchedStore } from "../../../support/watched_store.ts";

/** Refuses the next commits to the board `overall`, or writes them and loses the answer. */
class FaultyStore extends WatchedStore {
  refusals = 0;
  losses = 0;

  override async commit(to: Partition, batch: Batch): Promise<Commit> {
    if (this.refusals > 0 && to === partition) {
      this.refusals -= 1;
      throw new AppError("storage_unavailable", "Cannot reach the store");
    }
    const done = await super.commit(to, batch);
    if (this.losses === 0) return done;
    this.losses -= 1;
    throw new AppError("outcome_unknown", "Cannot tell whether it was written");
  }
}

const overall = `desc/${ids.project}//overall`;
const partition = `p:${ids.project}:board::overall`;
const update = (score: number, asOf: number, target = overall) => ({ target, score, at: 1_000 + asOf, asOf });

interface Setup {
  readonly store: FaultyStore;
  readonly delivery: ScoreDelivery;
  readonly givenUp: unknown[];
  readonly refused: [target: string, because: TargetRefusal, count: number][];
  /** The scores that users' records have. */
  readonly records: Map<string, RecordedScore>;
}

/** Locates targets by their ids alone. */
function locationOfTarget(target: string): BoardLocation {
  const [order, projectId = "", eventId = "", leaderboardId = ""] = target.split("/");
  const known = locations.get(target);
  const address = { projectId, eventId: eventId === "" ? null : eventId, leaderboardId, season: "" };
  const declaration = {
    ...defaultBoard(leaderboardId),
    order: order === "asc" ? "asc" : "desc",
  } as const;
  const location = known ?? locateBoard(declaration, address);
  locations.set(target, location);
  return location;
}
const locations = new Map<string, BoardLocation>();

async function setup(
  open: OpenStore,
  t: { after(end: () => Promise<void>): void },
  resolveTarget: ResolveTarget = async target => locationOfTarget(target),
): Promise<Setup> {
  const store = new FaultyStore(await open(createTestClock().now));
  t.after(() => store[Symbol.asyncDispose]());
  const givenUp: unknown[] = [];
  const refused: Setup["refused"] = [];
  const records: Setup["records"] = new Map();
  const delivery = new ScoreDelivery({
    store,
    resolveTarget,
    readScore: async (_, userId) => records.get(userId) ?? null,
    waitingMax: 1_200,
    onGivenUp: error => givenUp.push(error),
    onRefused: (...refusal) => refused.push(refusal),
  });
  return { store, givenUp, refused, delivery, records };
}

function deliver(
  delivery: ScoreDelivery,
  userId: string,
  updates: readonly ScoreUpdate[],
  delivered: () => void,
): void {
  delivery.deliver(userId, updates, isDelivered => {
    if (isDelivered) delivered();
  });
}

async function scores(store: FaultyStore, of: Partition = partition): Promise<Record<string, number>> {
  const [{ entries }] = await store.read(of, [{ type: "board", key: "board", limit: 1_000 }]);
  return Object.fromEntries(entries.map(({ member, score }) => [member, score]));
}

describeOnDatabases("the delivery of scores", open => {
  it("writes the updates of one turn in one commit, and confirms each user's", async t => {
    const { store, delivery } = await setup(open, t);
    const delivered: string[] = [];
    for (let user = 0; user < 100; user++) {
      deliver(delivery, `u${user}`, [update(user, 1)], () => delivered.push(`u${user}`));
    }
    assert.deepEqual([store.commits.length, delivered.length], [0, 0]);
    await delivery.idle();
    assert.equal(store.commits.length, 1);
    assert.equal(delivered.length, 100);
    assert.equal((await scores(store)).u99, -99);
  });

  it("writes at most 500 updates per commit, in the order of their arrival", async t => {
    const { store, delivery } = await setup(open, t);
    const count = 1_001;
    for (let user = 0; user < count; user++) deliver(delivery, `u${user}`, [update(1, 1)], () => {});
    await delivery.idle();
    assert.deepEqual(
      store.commits.map(({ batch }) => batch.writes.length),
      [500, 500, 1],
    );
    const members = store.commits.flatMap(({ batch }) =>
      batch.writes.map(write => (write.type === "score" ? write.member : "")),
    );
    assert.deepEqual(
      members,
      Array.from({ length: count }, (_, user) => `u${user}`),
    );
  });

  it("adds updates that arrive during a commit to the next one", async t => {
    const { store, delivery } = await setup(open, t);
    let reached = (): void => {};
    const first = new Promise<void>(resolve => {
      reached = resolve;
    });
    deliver(delivery, "first", [update(1, 1)], () => {
      for (let user = 0; user < 10; user++) deliver(delivery, `u${user}`, [update(1, 1)], reached);
    });
    await first;
    await delivery.idle();
    assert.deepEqual(
      store.commits.map(({ batch }) => batch.writes.length),
      [1, 10],
    );
  });

  it("confirms a user's updates when all of their boards have them", async t => {
    const { store, delivery } = await setup(open, t);
    const other = `asc/${ids.project}/${ids.event}/round_1`;
    let confirmed = 0;
    deliver(delivery, "u", [update(5, 1), update(7, 1, other)], () => {
      confirmed += 1;
    });
    await delivery.idle();
    assert.equal(confirmed, 1);
    assert.deepEqual(await scores(store), { u: -5 });
    assert.deepEqual(await scores(store, `p:${ids.project}:board:${ids.event}:round_1`), { u: 7 });
  });

  it("retries, and a repeated write changes nothing", async t => {
    const { store, delivery, givenUp } = await setup(open, t);
    let confirmed = 0;
    store.refusals = 2;
    deliver(delivery, "u", [update(5, 1)], () => {
      confirmed += 1;
    });
    await delivery.idle();
    store.losses = 2;
    deliver(delivery, "u", [update(6, 2)], () => {
      confirmed += 1;
    });
    await delivery.idle();
    assert.deepEqual([confirmed, givenUp, await scores(store)], [2, [], { u: -6 }]);
  });

  it("gives up after the last attempt, reports it, and continues with later updates", async t => {
    const { store, delivery, givenUp } = await setup(open, t);
    let confirmed = 0;
    const count = (): void => {
      confirmed += 1;
    };
    store.refusals = 3;
    deliver(delivery, "u", [update(5, 1), update(5, 1, `desc/${ids.project}//goals`)], count);
    await delivery.idle();
    assert.equal(confirmed, 0);
    assert.equal(givenUp.length, 1);
    assert.ok(givenUp[0] instanceof AppError);
    assert.deepEqual(await scores(store), {});
    deliver(delivery, "u", [update(6, 2)], count);
    await delivery.idle();
    assert.deepEqual([confirmed, await scores(store)], [1, { u: -6 }]);
  });

  it("ends with each user's newest score, whatever the order and number of deliveries", async t => {
    const { store, delivery } = await setup(open, t);
    const random = createRandom(7);
    const updates = Array.from({ length: 20 }, (_, revision) => update(revision * 3 + 1, revision + 1));
    const arrivals = ["a", "b", "c"].flatMap(user =>
      [...updates, ...updates].map(one => ({ user, one, key: random.next() })),
    );
    for (const { user, one } of arrivals.sort((x, y) => x.key - y.key)) {
      deliver(delivery, user, [one], () => {});
      if (random.chance(0.2)) await delivery.idle();
    }
    await delivery.idle();
    assert.deepEqual(await scores(store), { a: -58, b: -58, c: -58 });
    const [location] = await store.read(partition, [{ type: "standing", key: "board", member: "a" }]);
    assert.equal(location?.tie, 1_020);
  });

  it("reads no record while entries get the scores that are delivered", async t => {
    const store = new FaultyStore(await open(createTestClock().now));
    t.after(() => store[Symbol.asyncDispose]());
    const delivery = new ScoreDelivery({
      store,
      resolveTarget: async target => locationOfTarget(target),
      readScore: () => assert.fail("nothing has to be read"),
      onGivenUp: error => assert.fail(String(error)),
      onRefused: () => {},
    });
    for (const asOf of [1, 2, 2, 3]) {
      deliver(delivery, "u", [update(asOf * 5, asOf)], () => {});
      await delivery.idle();
    }
    assert.deepEqual(await scores(store), { u: -15 });
  });

  it("takes the score on record from a board that has seen a later revision", async t => {
    const { store, delivery, records } = await setup(open, t);
    deliver(delivery, "u", [update(20, 9)], () => {});
    await delivery.idle();
    for (const lost of [update(13, 8), update(16, 9), update(17, 10)]) {
      records.set("u", lost);
      deliver(delivery, "u", [lost], () => {});
      await delivery.idle();
      assert.deepEqual(await scores(store), { u: -lost.score });
    }
    const [entry] = await store.read(partition, [{ type: "standing", key: "board", member: "u" }]);
    assert.equal(entry?.tie, 1_010);
  });

  it("ends with the score on record where a newer one arrives while it overwrites a lost one", async t => {
    const store = new FaultyStore(await open(createTestClock().now));
    t.after(() => store[Symbol.asyncDispose]());
    let recorded = update(13, 8);
    const errors: unknown[] = [];
    const of = (readScore: () => Promise<RecordedScore | null>): ScoreDelivery =>
      new ScoreDelivery({
        ...{ store, resolveTarget: async target => locationOfTarget(target), readScore },
        onGivenUp: error => errors.push(error),
        onRefused: () => {},
      });
    const other = of(async () => recorded);
    async function act(next: ScoreUpdate): Promise<void> {
      recorded = next;
      deliver(other, "u", [next], () => {});
      await other.idle();
    }
    let reads = 0;
    const slow = of(async () => {
      const read = recorded;
      reads += 1;
      if (reads === 1) await act(update(14, 9));
      if (reads === 2) await act(update(30, 31));
      return read;
    });
    await act(update(20, 30));
    recorded = update(13, 8);
    deliver(slow, "u", [update(13, 8)], () => {});
    await slow.idle();
    assert.deepEqual([errors, await scores(store)], [[], { u: -30 }]);
    assert.ok(reads > 2);
  });

  it("ends with the scores on record, whichever process delivers in which order after lost writes", async t => {
    const random = createRandom(11);
    const store = new FaultyStore(await open(createTestClock().now));
    t.after(() => store[Symbol.asyncDispose]());
    const users = ["a", "b", "c", "d"];
    const records = new Map<string, RecordedScore>();
    const errors: unknown[] = [];
    const [first, second] = [0, 1].map(
      () =>
        new ScoreDelivery({
          ...{ store, resolveTarget: async target => locationOfTarget(target) },
          readScore: async (_, userId) => records.get(userId) ?? null,
          onGivenUp: error => errors.push(error),
          onRefused: () => {},
        }),
    ) as [ScoreDelivery, ScoreDelivery];
    for (let step = 0; step < 400; step++) {
      const user = random.pick(users);
      const { score, asOf } = records.get(user) ?? { score: 0, asOf: 0 };
      const isLost = random.chance(0.1);
      const next = isLost
        ? update(Math.max(0, score - random.integer(9)), Math.max(0, asOf - random.integer(5)))
        : update(score + random.integer(4), asOf + 1);
      records.set(user, next);
      if (!isLost) deliver(random.chance(0.5) ? first : second, user, [next], () => {});
      if (random.chance(0.1)) await Promise.all([first.idle(), second.idle()]);
    }
    for (const user of users) {
      const { score, asOf } = records.get(user) ?? assert.fail();
      const next = update(score + 1, asOf + 1);
      records.set(user, next);
      deliver(first, user, [next], () => {});
    }
    await Promise.all([first.idle(), second.idle()]);
    assert.deepEqual(errors, []);
    assert.deepEqual(
      await scores(store),
      Object.fromEntries(users.map(user => [user, -(records.get(user)?.score ?? 0)])),
    );
  });

  it("does not rank refused updates, counts them by target, and drops them", async t => {
    const { store, delivery, refused } = await setup(open, t, async target =>
      target.endsWith("old") ? "closed" : target.endsWith("gone") ? "undeclared" : locationOfTarget(target),
    );
    let confirmed = 0;
    const count = (): void => {
      confirmed += 1;
    };
    deliver(delivery, "a", [update(5, 1), update(6, 1, `${overall}/old`)], count);
    deliver(delivery, "b", [update(6, 1, `${overall}/old`)], count);
    deliver(delivery, "c", [update(6, 1, "desc/p//gone")], count);
    await delivery.idle();
    assert.deepEqual([confirmed, await scores(store)], [3, { a: -5 }]);
    assert.deepEqual(refused, [
      [`${overall}/old`, "closed", 2],
      ["desc/p//gone", "undeclared", 1],
    ]);
  });

  it("waits for targets that are being resolved, and gives up those that fail", async t => {
    const { store, delivery, givenUp } = await setup(open, t, async target => {
      if (target.endsWith("broken")) throw new AppError("storage_unavailable", "Cannot reach the store");
      return locationOfTarget(target);
    });
    let confirmed = 0;
    const count = (): void => {
      confirmed += 1;
    };
    deliver(delivery, "a", [update(5, 1)], count);
    deliver(delivery, "b", [update(5, 1), update(5, 1, "desc/p//broken")], count);
    await delivery.idle();
    assert.deepEqual([confirmed, givenUp.length], [1, 1]);
    assert.deepEqual(await scores(store), { a: -5, b: -5 });
  });

  it("gives up updates whose settings are invalid", async t => {
    const { delivery, givenUp } = await setup(open, t, () => {
      throw new AppError("internal_error", "Cannot use the settings");
    });
    deliver(delivery, "a", [update(5, 1)], () => assert.fail("it has no place"));
    await delivery.idle();
    assert.equal(givenUp.length, 1);
  });

  it("follows settings that change while the platform runs", async t => {
    let answer: Awaited<ReturnType<ResolveTarget>> = locationOfTarget(overall);
    const { delivery, refused } = await setup(open, t, async () => answer);
    deliver(delivery, "early", [update(1, 1)], () => {});
    await delivery.idle();
    answer = "undeclared";
    deliver(delivery, "late", [update(1, 1)], () => {});
    await delivery.idle();
    assert.deepEqual(refused, [[overall, "undeclared", 1]]);
  });

  it("spreads the users of a sharded board over its partitions", async t => {
    const address = { projectId: ids.project, eventId: null, leaderboardId: "wide", season: "" };
    const wide = locateBoard({ ...defaultBoard("wide"), shards: 4 }, address);
    const { store, delivery } = await setup(open, t, async () => wide);
    for (let user = 0; user < 40; user++) deliver(delivery, `u${user}`, [update(user, 1)], () => {});
    await delivery.idle();
    assert.equal(store.commits.length, 4);
    const parts = await Promise.all(wide.shards.map(shard => scores(store, shard)));
    assert.ok(parts.every(part => Object.keys(part).length > 0));
    assert.equal(Object.keys(Object.assign({}, ...parts)).length, 40);
  });

  it("is idle at once without updates", async t => {
    const { store, delivery } = await setup(open, t);
    deliver(delivery, "u", [], () => assert.fail("there was nothing to deliver"));
    await delivery.idle();
    assert.deepEqual(store.commits, []);
  });
});

describeOnDatabases("a full score delivery", open => {
  it("leaves new updates to the users' records", async t => {
    const { store, delivery } = await setup(open, t);
    const many = Array.from({ length: 1_200 }, (_, index) => update(index, index + 1));
    deliver(delivery, "u", many, () => {});
    deliver(delivery, "late", [update(1, 1)], () => assert.fail("it was taken"));
    await delivery.idle();
    assert.deepEqual(Object.keys(await scores(store)), ["u"]);
    deliver(delivery, "late", [update(1, 1)], () => {});
    await delivery.idle();
    assert.deepEqual(Object.keys(await scores(store)).sort(), ["late", "u"]);
  });
});
