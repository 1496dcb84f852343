import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import { AppError, type ErrorCode } from "../../../../../lib/base/errors/mod.ts";
import {
  type DeadAction,
  DeadLetterQueue,
} from "../../../../../lib/fans/audience/worker/dead_letter_queue.ts";
import {
  createActionProcessor,
  type TakenAction,
} from "../../../../../lib/fans/audience/worker/process_actions.ts";
import type { QueuedAction } from "../../../../../lib/fans/audience/worker/queued_action.ts";
import { silentLogger } from "../../../../../lib/http/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { sinkOf } from "./_sink.ts";

const action: QueuedAction = {
  organisationId: "club",
  spaceId: "space",
  userId: "fan",
  action: "cheer",
  data: {},
  actionId: "1",
  at: 1,
};

function taken(actionId: string, deliveries = 1): TakenAction {
  return { id: `${actionId}-0`, action: { ...action, actionId }, deliveries };
}

interface World {
  readonly pauses: number[];
  /** Ids of the actions that took effect. */
  readonly applied: string[];
  readonly deadLetters: DeadLetterQueue;
  /** Events of the log with their fields. */
  readonly logged: (readonly [event: string, fields: unknown])[];
  /** Processes actions; each failure of an action is thrown once, then it takes effect. */
  process(
    actions: readonly TakenAction[],
    failures?: Readonly<Record<string, readonly unknown[]>>,
  ): Promise<{ readonly attempts: number; readonly finished: number }>;
}

function openWorld(): World {
  const clock = createTestClock();
  const deadLetters = new DeadLetterQueue({
    store: createMemoryStore({ clock: clock.now }),
    clock: clock.now,
  });
  const pauses: number[] = [];
  const applied: string[] = [];
  const logged: World["logged"] = [];
  return {
    logged,
    pauses,
    applied,
    deadLetters,
    async process(actions, failures = {}) {
      let attempts = 0;
      const waiting = new Map(Object.entries(failures).map(([id, errors]) => [id, [...errors]]));
      const process = createActionProcessor({
        sink: sinkOf(async (_, { actionId = "" }) => {
          attempts += 1;
          const failure = waiting.get(actionId)?.shift();
          if (failure !== undefined) throw failure;
          applied.push(actionId);
        }),
        deadLetters,
        name: "worker",
        clock: clock.now,
        timer(callback, delayMs) {
          pauses.push(delayMs);
          clock.advance(delayMs);
          callback();
          return () => {};
        },
        logger: { enabled: () => true, log: (_, event, fields) => void logged.push([event, fields]) },
      });
      const finished = await process(actions, async () => attempts < 1_000);
      return { attempts, finished };
    },
  };
}

const failure = (code: ErrorCode): AppError => new AppError(code, `Failed as ${code}`);
const times = (count: number, code: ErrorCode): readonly AppError[] =>
  Array.from({ length: count }, () => failure(code));
const first = { offset: 0, limit: 10 };

describe("a queued action", () => {
  it("is retried after growing pauses and has no dead letter once it takes effect", async () => {
    const world = openWorld();
    const failures = [failure("busy"), failure("internal_error"), new Error("odd"), failure("conflict")];
    assert.deepEqual(await world.process([taken("1")], { 1: failures }), { attempts: 5, finished: 1 });
    assert.deepEqual(world.pauses, [50, 100, 200, 400]);
    assert.equal((await world.deadLetters.list("club", first)).size, 0);
  });

  it("becomes a dead letter after 5 failures, with the reason of the last", async () => {
    const world = openWorld();
    const failures = { 1: times(5, "conflict") };
    assert.deepEqual(await world.process([taken("1")], failures), { attempts: 5, finished: 1 });
    const { dead } = await world.deadLetters.list("club", first);
    assert.deepEqual(
      dead.map(({ id, attempts, reason }) => [id, attempts, reason.code]),
      [["1-0", 5, "conflict"]],
    );
  });

  for (const code of ["forbidden", "validation_failed", "not_found", "rate_limited"] as const) {
    it(`becomes a dead letter at once if it is refused as ${code}`, async () => {
      const world = openWorld();
      const failures = { 1: [failure(code)] };
      assert.deepEqual(await world.process([taken("1")], failures), { attempts: 1, finished: 1 });
      const [dead] = (await world.deadLetters.list("club", first)).dead;
      assert.deepEqual([dead?.reason.code, dead?.attempts], [code, 1]);
      const facts = { deadLetterId: "1-0", organisationId: "club", spaceId: "space", action: "cheer" };
      assert.deepEqual(world.logged, [["action_dead", { ...facts, code, message: `Failed as ${code}` }]]);
    });
  }

  for (const code of ["storage_unavailable", "outcome_unknown"] as const) {
    it(`waits for a store that fails as ${code}, however long, without using up its attempts`, async () => {
      const world = openWorld();
      const failures = { 1: times(50, code) };
      assert.deepEqual(await world.process([taken("1")], failures), { attempts: 51, finished: 1 });
      assert.deepEqual(new Set(world.pauses), new Set([250]));
      assert.equal((await world.deadLetters.list("club", first)).size, 0);
    });
  }

  it("is left to another worker once this one has lost the shard", async () => {
    const world = openWorld();
    const { finished } = await world.process([taken("1")], { 1: times(2_000, "storage_unavailable") });
    assert.equal(finished, 0);
  });

  it("is applied however often it was handed out, as answers of the queue may have been lost", async () => {
    const world = openWorld();
    assert.deepEqual(await world.process([taken("1", 6)]), { attempts: 1, finished: 1 });
    assert.deepEqual(await world.process([taken("2", 60)]), { attempts: 1, finished: 1 });
    assert.equal((await world.deadLetters.list("club", first)).size, 0);
  });

  it("is not tried again after 5 workers died over it", async () => {
    const world = openWorld();
    for (let n = 0; n < 5; n++) await world.deadLetters.noteTry(taken("1"), `dead-${n}`);
    assert.deepEqual(await world.process([taken("1", 11)]), { attempts: 0, finished: 1 });
    const { dead } = await world.deadLetters.list("club", first);
    assert.deepEqual(
      dead.map(({ id, attempts, reason }) => [id, attempts, reason.code]),
      [["1-0", 5, "internal_error"]],
    );
  });

  it("is tried again by a worker that noted its own try before", async () => {
    const world = openWorld();
    for (let n = 0; n < 5; n++) await world.deadLetters.noteTry(taken("1"), "worker");
    assert.deepEqual(await world.process([taken("1", 11)]), { attempts: 1, finished: 1 });
  });
});

describe("the queued actions of one user", () => {
  it("are applied in order, each retried before the next", async () => {
    const world = openWorld();
    const actions = ["1", "2", "3", "4"].map(id => taken(id));
    const failures = { 2: times(2, "conflict"), 4: times(1, "storage_unavailable") };
    assert.deepEqual(await world.process(actions, failures), { attempts: 7, finished: 4 });
    assert.deepEqual(world.applied, ["1", "2", "3", "4"]);
    assert.deepEqual(world.pauses, [50, 100, 250]);
  });

  it("continue behind one that becomes a dead letter", async () => {
    const world = openWorld();
    const actions = [taken("1"), taken("2"), taken("3", 6), taken("4"), taken("5")];
    for (let n = 0; n < 5; n++) await world.deadLetters.noteTry(taken("3"), `dead-${n}`);
    const failures = { 2: [failure("forbidden")], 5: times(5, "conflict") };
    assert.equal((await world.process(actions, failures)).finished, 5);
    assert.deepEqual(world.applied, ["1", "4"]);
    const { dead } = await world.deadLetters.list("club", first);
    assert.deepEqual(new Set(dead.map(({ id }) => id)), new Set(["2-0", "3-0", "5-0"]));
  });
});

describe("dead letters", () => {
  const dead = (n: number, at: number): DeadAction => {
    const reason = { code: "forbidden", message: "No" } as const;
    return { id: `${n}-0`, action, reason, attempts: 1, at };
  };

  it("expire after 7 days, to the millisecond", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock: clock.now });
    const deadLetters = new DeadLetterQueue({ store, clock: clock.now });
    await deadLetters.add(dead(1, clock.now()));
    clock.advance(7 * 86_400_000 - 1);
    assert.equal((await deadLetters.list("club", first)).dead.length, 1);
    clock.advance(1);
    assert.deepEqual(await deadLetters.list("club", first), { dead: [], size: 0 });
  });

  it("are at most 10,000 of an organisation: a further one drops the oldest and reports that", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock: clock.now });
    const deadLetters = new DeadLetterQueue({ store, clock: clock.now });
    for (let n = 0; n < 10_000; n++) assert.equal(await deadLetters.add(dead(n, clock.now() + n)), false);
    assert.equal(await deadLetters.add(dead(10_000, clock.now() + 10_000)), true);
    assert.equal((await deadLetters.list("club", first)).size, 10_000);
    assert.deepEqual(await deadLetters.get("club", ["0-0"]), []);
  });
});

describe("the actions of many users", () => {
  it("are applied 128 at a time, the others in line, and a retry waits outside", async () => {
    const clock = createTestClock();
    const reported: string[] = [];
    const open = new Map<string, (error?: AppError) => void>();
    const pauses: (() => void)[] = [];
    const process = createActionProcessor({
      sink: sinkOf(
        (_, { actionId = "" }) =>
          new Promise((resolve, reject) => {
            reported.push(actionId);
            open.set(actionId, error => (error === undefined ? resolve(null) : reject(error)));
          }),
      ),
      deadLetters: new DeadLetterQueue({ store: createMemoryStore(), clock: clock.now }),
      name: "worker",
      clock: clock.now,
      timer(callback) {
        pauses.push(callback);
        return () => {};
      },
      logger: silentLogger,
    });
    const ids = Array.from({ length: 131 }, (_, index) => `${index}`);
    const ends = ids.map(id => process([taken(id)], async () => true));
    const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
    await turn();
    assert.deepEqual(reported, ids.slice(0, 128));
    open.get("1")?.(failure("storage_unavailable"));
    open.get("0")?.();
    await turn();
    assert.deepEqual(reported, ids.slice(0, 130));
    assert.equal(pauses.length, 1);
    pauses[0]?.();
    open.get("2")?.();
    await turn();
    // The retry is behind the one that waited in line before.
    assert.deepEqual(reported.slice(130), ["130"]);
    open.get("3")?.();
    await turn();
    assert.equal(reported.at(-1), "1");
    for (const end of open.values()) end();
    assert.deepEqual(new Set(await Promise.all(ends)), new Set([1]));
  });
});
