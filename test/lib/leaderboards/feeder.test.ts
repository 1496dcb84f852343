import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom } from "../../../adapters/conformance/random.ts";
import { AppError } from "../../../lib/errors/mod.ts";
import {
  type BoardLocation,
  createScoreDelivery,
  feedAttemptsMax,
  feedBatchMax,
  feedWaitingMax,
  locateBoard,
  type ResolveTarget,
  type ScoreDelivery,
  type TargetRefusal,
} from "../../../lib/leaderboards/mod.ts";
import { declarationDefaults } from "../../../lib/leaderboards/settings/board_settings.ts";
import type { Batch, Commit, Partition } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { ids } from "../../support/platform.ts";
import { describeOnEveryStore, type OpenStore } from "../../support/stores.ts";
import { WatchedStore } from "../../support/watched_store.ts";

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
  readonly feeder: ScoreDelivery;
  readonly givenUp: unknown[];
  readonly refused: [target: string, because: TargetRefusal, count: number][];
}

/** Places of targets as their ids alone tell them. */
function placeOfTarget(target: string): BoardLocation {
  const [order, projectId = "", eventId = "", leaderboardId = ""] = target.split("/");
  const known = locations.get(target);
  const address = { projectId, eventId: eventId === "" ? null : eventId, leaderboardId, season: "" };
  const declaration = {
    ...declarationDefaults,
    id: leaderboardId,
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
  findPlace: ResolveTarget = placeOfTarget,
): Promise<Setup> {
  const store = new FaultyStore(await open(createTestClock().now));
  t.after(() => store[Symbol.asyncDispose]());
  const givenUp: unknown[] = [];
  const refused: Setup["refused"] = [];
  const feeder = createScoreDelivery({
    store,
    resolveTarget: findPlace,
    onGivenUp: error => givenUp.push(error),
    onRefused: (...refusal) => refused.push(refusal),
  });
  return { store, givenUp, refused, feeder };
}

async function scores(store: FaultyStore, of: Partition = partition): Promise<Record<string, number>> {
  const [{ entries }] = await store.read(of, [{ type: "board", key: "board", limit: 1_000 }]);
  return Object.fromEntries(entries.map(({ member, score }) => [member, score]));
}

describeOnEveryStore("the feeder of boards", open => {
  it("brings the updates of one turn to a board in one commit, and says when each user's are there", async t => {
    const { store, feeder } = await setup(open, t);
    const delivered: string[] = [];
    for (let user = 0; user < 100; user++) {
      feeder.deliver(`u${user}`, [update(user, 1)], () => delivered.push(`u${user}`));
    }
    assert.deepEqual([store.commits.length, delivered.length], [0, 0]);
    await feeder.idle();
    assert.equal(store.commits.length, 1);
    assert.equal(delivered.length, 100);
    assert.equal((await scores(store)).u99, -99);
  });

  it("carries at most so many writes per commit, in the order of their arrival", async t => {
    const { store, feeder } = await setup(open, t);
    const count = 2 * feedBatchMax + 1;
    for (let user = 0; user < count; user++) feeder.deliver(`u${user}`, [update(1, 1)], () => {});
    await feeder.idle();
    assert.deepEqual(
      store.commits.map(({ batch }) => batch.writes.length),
      [feedBatchMax, feedBatchMax, 1],
    );
    const members = store.commits.flatMap(({ batch }) =>
      batch.writes.map(write => (write.type === "score" ? write.member : "")),
    );
    assert.deepEqual(
      members,
      Array.from({ length: count }, (_, user) => `u${user}`),
    );
  });

  it("takes what arrives while a commit is under way along with the next", async t => {
    const { store, feeder } = await setup(open, t);
    let reached = (): void => {};
    const first = new Promise<void>(resolve => {
      reached = resolve;
    });
    feeder.deliver("first", [update(1, 1)], () => {
      for (let user = 0; user < 10; user++) feeder.deliver(`u${user}`, [update(1, 1)], reached);
    });
    await first;
    await feeder.idle();
    assert.deepEqual(
      store.commits.map(({ batch }) => batch.writes.length),
      [1, 10],
    );
  });

  it("confirms a user's updates when they are on all of their boards", async t => {
    const { store, feeder } = await setup(open, t);
    const other = `asc/${ids.project}/${ids.event}/round_1`;
    let confirmed = 0;
    feeder.deliver("u", [update(5, 1), update(7, 1, other)], () => {
      confirmed += 1;
    });
    await feeder.idle();
    assert.equal(confirmed, 1);
    assert.deepEqual(await scores(store), { u: -5 });
    assert.deepEqual(await scores(store, `p:${ids.project}:board:${ids.event}:round_1`), { u: 7 });
  });

  it("tries again, and what was written twice changes nothing", async t => {
    const { store, feeder, givenUp } = await setup(open, t);
    let confirmed = 0;
    store.refusals = feedAttemptsMax - 1;
    feeder.deliver("u", [update(5, 1)], () => {
      confirmed += 1;
    });
    await feeder.idle();
    store.losses = feedAttemptsMax - 1;
    feeder.deliver("u", [update(6, 2)], () => {
      confirmed += 1;
    });
    await feeder.idle();
    assert.deepEqual([confirmed, givenUp, await scores(store)], [2, [], { u: -6 }]);
  });

  it("gives up after the last attempt, tells of it, confirms nothing, and goes on with what comes", async t => {
    const { store, feeder, givenUp } = await setup(open, t);
    let confirmed = 0;
    const count = (): void => {
      confirmed += 1;
    };
    store.refusals = feedAttemptsMax;
    feeder.deliver("u", [update(5, 1), update(5, 1, `desc/${ids.project}//goals`)], count);
    await feeder.idle();
    assert.equal(confirmed, 0);
    assert.equal(givenUp.length, 1);
    assert.ok(givenUp[0] instanceof AppError);
    assert.deepEqual(await scores(store), {});
    feeder.deliver("u", [update(6, 2)], count);
    await feeder.idle();
    assert.deepEqual([confirmed, await scores(store)], [1, { u: -6 }]);
  });

  it("ends with each user's newest score in whatever order and however often updates arrive", async t => {
    const { store, feeder } = await setup(open, t);
    const random = createRandom(7);
    const updates = Array.from({ length: 20 }, (_, revision) => update(revision * 3 + 1, revision + 1));
    const arrivals = ["a", "b", "c"].flatMap(user =>
      [...updates, ...updates].map(one => ({ user, one, key: random.next() })),
    );
    for (const { user, one } of arrivals.sort((x, y) => x.key - y.key)) {
      feeder.deliver(user, [one], () => {});
      if (random.chance(0.2)) await feeder.idle();
    }
    await feeder.idle();
    assert.deepEqual(await scores(store), { a: -58, b: -58, c: -58 });
    const [location] = await store.read(partition, [{ type: "standing", key: "board", member: "a" }]);
    assert.equal(location?.tie, 1_020);
  });

  it("does not rank what is refused, counts it by target, and keeps it no longer", async t => {
    const { store, feeder, refused } = await setup(open, t, target =>
      target.endsWith("old") ? "closed" : target.endsWith("gone") ? "undeclared" : placeOfTarget(target),
    );
    let confirmed = 0;
    const count = (): void => {
      confirmed += 1;
    };
    feeder.deliver("a", [update(5, 1), update(6, 1, `${overall}/old`)], count);
    feeder.deliver("b", [update(6, 1, `${overall}/old`)], count);
    feeder.deliver("c", [update(6, 1, "desc/p//gone")], count);
    await feeder.idle();
    assert.deepEqual([confirmed, await scores(store)], [3, { a: -5 }]);
    assert.deepEqual(refused, [
      [`${overall}/old`, "closed", 2],
      ["desc/p//gone", "undeclared", 1],
    ]);
  });

  it("waits for locations that are not known yet, and gives up what has none", async t => {
    const { store, feeder, givenUp } = await setup(open, t, async target => {
      if (target.endsWith("broken")) throw new AppError("storage_unavailable", "Cannot reach the store");
      return placeOfTarget(target);
    });
    let confirmed = 0;
    const count = (): void => {
      confirmed += 1;
    };
    feeder.deliver("a", [update(5, 1)], count);
    feeder.deliver("b", [update(5, 1), update(5, 1, "desc/p//broken")], count);
    await feeder.idle();
    assert.deepEqual([confirmed, givenUp.length], [1, 1]);
    assert.deepEqual(await scores(store), { a: -5, b: -5 });
  });

  it("gives up what settings that are not valid leave without a place", async t => {
    const { feeder, givenUp } = await setup(open, t, () => {
      throw new AppError("internal_error", "Cannot use the settings");
    });
    feeder.deliver("a", [update(5, 1)], () => assert.fail("it has no place"));
    await feeder.idle();
    assert.equal(givenUp.length, 1);
  });

  it("looks for a location once in a turn, and anew in the next, when settings may have changed", async t => {
    const asked: string[] = [];
    let answer: ReturnType<ResolveTarget> = placeOfTarget(overall);
    const { feeder, refused } = await setup(open, t, target => {
      asked.push(target);
      return answer;
    });
    for (let user = 0; user < 10; user++) feeder.deliver(`u${user}`, [update(1, 1)], () => {});
    assert.deepEqual(asked, [overall]);
    await feeder.idle();
    answer = "undeclared";
    feeder.deliver("late", [update(1, 1)], () => {});
    await feeder.idle();
    assert.deepEqual(asked, [overall, overall]);
    assert.deepEqual(refused, [[overall, "undeclared", 1]]);
  });

  it("spreads the users of a sharded board over its partitions", async t => {
    const address = { projectId: ids.project, eventId: null, leaderboardId: "wide", season: "" };
    const wide = locateBoard({ ...declarationDefaults, id: "wide", shards: 4 }, address);
    const { store, feeder } = await setup(open, t, () => wide);
    for (let user = 0; user < 40; user++) feeder.deliver(`u${user}`, [update(user, 1)], () => {});
    await feeder.idle();
    assert.equal(store.commits.length, 4);
    const parts = await Promise.all(wide.shards.map(shard => scores(store, shard)));
    assert.ok(parts.every(part => Object.keys(part).length > 0));
    assert.equal(Object.keys(Object.assign({}, ...parts)).length, 40);
  });

  it("is idle at once when it was given nothing", async t => {
    const { store, feeder } = await setup(open, t);
    feeder.deliver("u", [], () => assert.fail("there was nothing to deliver"));
    await feeder.idle();
    assert.deepEqual(store.commits, []);
  });
});

describeOnEveryStore("a full feeder", (open, on) => {
  it("leaves new updates to the users' records", {
    skip: on === "Redis" && "the bound is the process's own",
  }, async t => {
    const { store, feeder } = await setup(open, t);
    const many = Array.from({ length: feedWaitingMax }, (_, index) => update(index, index + 1));
    feeder.deliver("u", many, () => {});
    feeder.deliver("late", [update(1, 1)], () => assert.fail("it was taken"));
    await feeder.idle();
    assert.deepEqual(Object.keys(await scores(store)), ["u"]);
    feeder.deliver("late", [update(1, 1)], () => {});
    await feeder.idle();
    assert.deepEqual(Object.keys(await scores(store)).sort(), ["late", "u"]);
  });
});
