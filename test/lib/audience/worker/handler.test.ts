import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import {
  createDeadLetters,
  type DeadLetter,
  type DeadLetters,
  deadLetterMsMax,
  deadLettersMax,
} from "../../../../lib/audience/worker/dead_letters.ts";
import {
  appliedAtOnceMax,
  attemptsMax,
  createActionHandler,
  retryPauseMsMin,
} from "../../../../lib/audience/worker/handler.ts";
import type { QueuedAction } from "../../../../lib/audience/worker/queued_action.ts";
import { AppError, type ErrorCode } from "../../../../lib/errors/mod.ts";
import { silentLogger } from "../../../../lib/http/mod.ts";
import { createTestClock } from "../../../support/clock.ts";

const action: QueuedAction = {
  organisationId: "club",
  spaceId: "space",
  userId: "fan",
  action: "cheer",
  data: {},
  actionId: "1",
  at: 1,
};
const taken = { id: "7-0", action, handOuts: 1 };

interface World {
  readonly pauses: number[];
  readonly letters: DeadLetters;
  /** Handles the action; each failure is thrown once, then it takes effect. */
  handle(failures: readonly unknown[], handOuts?: number): Promise<{ reports: number; isEnded: boolean }>;
}

function openWorld(): World {
  const clock = createTestClock();
  const letters = createDeadLetters({ store: createMemoryStore({ clock: clock.now }), clock: clock.now });
  const pauses: number[] = [];
  return {
    pauses,
    letters,
    async handle(failures, handOuts = 1) {
      let reports = 0;
      const handler = createActionHandler({
        sink: {
          async report() {
            const failure = failures[reports];
            reports += 1;
            if (failure !== undefined) throw failure;
          },
        },
        deadLetters: letters,
        clock: clock.now,
        timer(callback, delayMs) {
          pauses.push(delayMs);
          clock.advance(delayMs);
          callback();
          return () => {};
        },
        logger: silentLogger,
      });
      const isEnded = await handler({ ...taken, handOuts }, async () => reports < 1_000);
      return { reports, isEnded };
    },
  };
}

const failure = (code: ErrorCode): AppError => new AppError(code, `Failed as ${code}`);
const first = { offset: 0, limit: 10 };

describe("an action in the hands of a worker", () => {
  it("is tried again after growing pauses, and no letter is written once it takes effect", async () => {
    const world = openWorld();
    const failures = [failure("busy"), failure("outcome_unknown"), new Error("odd"), failure("conflict")];
    assert.deepEqual(await world.handle(failures), { reports: 5, isEnded: true });
    assert.deepEqual(
      world.pauses,
      [1, 2, 4, 8].map(factor => factor * retryPauseMsMin),
    );
    assert.equal((await world.letters.list("club", first)).size, 0);
  });

  it(`is dead after ${attemptsMax} failures, with the reason of the last`, async () => {
    const world = openWorld();
    const failures = Array.from({ length: attemptsMax }, () => failure("conflict"));
    assert.deepEqual(await world.handle(failures), { reports: attemptsMax, isEnded: true });
    const { letters } = await world.letters.list("club", first);
    assert.deepEqual(
      letters.map(({ id, attempts, reason }) => [id, attempts, reason.code]),
      [["7-0", attemptsMax, "conflict"]],
    );
  });

  for (const code of ["forbidden", "validation_failed", "not_found", "rate_limited"] as const) {
    it(`is dead at once where it is refused as ${code}`, async () => {
      const world = openWorld();
      assert.deepEqual(await world.handle([failure(code)]), { reports: 1, isEnded: true });
      const [letter] = (await world.letters.list("club", first)).letters;
      assert.deepEqual([letter?.reason.code, letter?.attempts], [code, 1]);
    });
  }

  it("waits for a store that is out of reach, however long, without using up its tries", async () => {
    const world = openWorld();
    const failures = Array.from({ length: 50 }, () => failure("storage_unavailable"));
    assert.deepEqual(await world.handle(failures), { reports: 51, isEnded: true });
    assert.equal((await world.letters.list("club", first)).size, 0);
  });

  it("is another worker's where this one may not act any more", async () => {
    const world = openWorld();
    const failures = Array.from({ length: 2_000 }, () => failure("storage_unavailable"));
    assert.equal((await world.handle(failures)).isEnded, false);
  });

  it("is not tried once more where it has ended its workers too often", async () => {
    const world = openWorld();
    assert.deepEqual(await world.handle([], attemptsMax + 1), { reports: 0, isEnded: true });
    assert.equal((await world.letters.list("club", first)).size, 1);
  });
});

describe("dead letters", () => {
  const letter = (n: number, at: number): DeadLetter => {
    const reason = { code: "forbidden", message: "No" } as const;
    return { id: `${n}-0`, action, reason, attempts: 1, at };
  };

  it("go after 7 days, at the millisecond", async () => {
    const clock = createTestClock();
    const letters = createDeadLetters({ store: createMemoryStore({ clock: clock.now }), clock: clock.now });
    await letters.keep(letter(1, clock.now()));
    clock.advance(deadLetterMsMax - 1);
    assert.equal((await letters.list("club", first)).letters.length, 1);
    clock.advance(1);
    assert.deepEqual(await letters.list("club", first), { letters: [], size: 0 });
  });

  it(`are at most ${deadLettersMax} of an organisation: the oldest goes, and whoever keeps the next is told`, async () => {
    const clock = createTestClock();
    const letters = createDeadLetters({ store: createMemoryStore({ clock: clock.now }), clock: clock.now });
    for (let n = 0; n < deadLettersMax; n++)
      assert.equal(await letters.keep(letter(n, clock.now() + n)), false);
    assert.equal(await letters.keep(letter(deadLettersMax, clock.now() + deadLettersMax)), true);
    assert.equal((await letters.list("club", first)).size, deadLettersMax);
    assert.deepEqual(await letters.get("club", ["0-0"]), []);
  });
});

describe("actions that are handled side by side", () => {
  it(`are applied ${appliedAtOnceMax} at a time, the others in line, and one that pauses takes no place`, async () => {
    const clock = createTestClock();
    const reported: string[] = [];
    const open = new Map<string, (error?: AppError) => void>();
    const pauses: (() => void)[] = [];
    const handler = createActionHandler({
      sink: {
        report: (_, { actionId }) =>
          new Promise((resolve, reject) => {
            reported.push(actionId);
            open.set(actionId, error => (error === undefined ? resolve(null) : reject(error)));
          }),
      },
      deadLetters: createDeadLetters({ store: createMemoryStore(), clock: clock.now }),
      clock: clock.now,
      timer(callback) {
        pauses.push(callback);
        return () => {};
      },
      logger: silentLogger,
    });
    const ids = Array.from({ length: appliedAtOnceMax + 3 }, (_, index) => `${index}`);
    const ends = ids.map(actionId =>
      handler({ id: actionId, action: { ...action, actionId }, handOuts: 1 }, async () => true),
    );
    const turn = (): Promise<void> => new Promise(resolve => setImmediate(resolve));
    await turn();
    assert.deepEqual(reported, ids.slice(0, appliedAtOnceMax));
    open.get("1")?.(failure("storage_unavailable"));
    open.get("0")?.();
    await turn();
    assert.deepEqual(reported, ids.slice(0, appliedAtOnceMax + 2));
    assert.equal(pauses.length, 1);
    pauses[0]?.();
    open.get("2")?.();
    await turn();
    // Whoever was in line before goes first.
    assert.deepEqual(reported.slice(appliedAtOnceMax + 2), [`${appliedAtOnceMax + 2}`]);
    open.get("3")?.();
    await turn();
    assert.equal(reported.at(-1), "1");
    for (const end of open.values()) end();
    assert.deepEqual(new Set(await Promise.all(ends)), new Set([true]));
  });
});
