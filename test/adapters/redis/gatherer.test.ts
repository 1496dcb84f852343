import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Gatherer } from "../../../adapters/redis/call_groups.ts";
import { answerMsMax, pendingCallsMax } from "../../../adapters/redis/keys.ts";

interface Made {
  readonly items: readonly number[];
  readonly deadline: number;
  answer(answers?: readonly number[]): void;
  fail(error: Error): void;
}

/** A gatherer of numbers, and the calls that it has made. */
function gatherer(sizeMax = 100): { made: Made[]; ask: (item: number, lane?: string) => Promise<number> } {
  const made: Made[] = [];
  const gathering = new Gatherer<string, number, number>({
    call: (_, items, { deadline = 0 }) =>
      new Promise((resolve, reject) => {
        const answer = (answers = items.map(item => -item)) => resolve(answers);
        made.push({ items, deadline, answer, fail: reject });
      }),
    sizeOf: item => item,
    sizeMax,
  });
  return { made, ask: (item, lane = "a") => gathering.ask(lane, lane, item) };
}

function turn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve));
}

describe("calls that are gathered", () => {
  it("carry what one turn of the event loop asks for, each with its own answer", async () => {
    const { made, ask } = gatherer();
    const before = performance.now();
    const asked = [ask(1), Promise.resolve().then(() => ask(2)), ask(3), ask(9, "b")];
    await turn();
    assert.deepEqual(
      made.map(({ items }) => items),
      [[1, 3, 2], [9]],
    );
    for (const { answer } of made) answer();
    assert.deepEqual(await Promise.all(asked), [-1, -2, -3, -9]);
    const deadline = made[0]?.deadline ?? 0;
    assert.ok(deadline >= before + answerMsMax && deadline <= performance.now() + answerMsMax);
  });

  it("are at most two at a time per lane, and carry next what waited for them", async () => {
    const { made, ask } = gatherer();
    const asked: Promise<number>[] = [];
    for (const item of [1, 2, 3, 4]) {
      asked.push(ask(item));
      await turn();
    }
    assert.deepEqual(
      made.map(({ items }) => items),
      [[1], [2]],
    );
    made[0]?.answer();
    await turn();
    assert.deepEqual(made[2]?.items, [3, 4]);
    for (const { answer } of made) answer();
    assert.deepEqual(await Promise.all(asked), [-1, -2, -3, -4]);
  });

  it("are answered one per turn, so that the next one leaves before the other's answers are handled", async () => {
    const { made, ask } = gatherer(1);
    const asked = [ask(1), ask(2)];
    await turn();
    const again = asked[0]?.then(() => ask(3));
    let isSecondAnswered = false;
    const second = asked[1]?.then(() => {
      isSecondAnswered = true;
    });
    for (const { answer } of made) answer();
    for (let ticks = 0; ticks < 8; ticks++) await new Promise(resolve => process.nextTick(resolve));
    assert.deepEqual([made.length, isSecondAnswered], [3, false]);
    made[2]?.answer();
    await second;
    assert.equal(await again, -3);
  });

  it("are no larger than they may be, unless by a single item", async () => {
    const { made, ask } = gatherer(10);
    const asked = [4, 6, 1, 99, 2].map(item => ask(item));
    await turn();
    for (let index = 0; index < 4; index++) {
      made[index]?.answer();
      await turn();
    }
    assert.deepEqual(
      made.map(({ items }) => items),
      [[4, 6], [1], [99], [2]],
    );
    assert.deepEqual(await Promise.all(asked), [-4, -6, -1, -99, -2]);
  });

  it("that fail reject all their requests, and waiting requests fail as not sent", async () => {
    const { made, ask } = gatherer();
    const asked: Promise<number>[] = [];
    for (const item of [1, 2, 3]) {
      asked.push(ask(item));
      await turn();
    }
    const settled = Promise.allSettled(asked);
    const lost = new Error("lost");
    made[0]?.fail(lost);
    await turn();
    made[1]?.answer();
    const [first, second, third] = await settled;
    assert.deepEqual(first, { status: "rejected", reason: lost });
    assert.deepEqual(second, { status: "fulfilled", value: -2 });
    assert.ok(third?.status === "rejected");
    assert.equal(third.reason.code, "storage_unavailable");
    assert.equal(made.length, 2);
    const later = ask(5);
    await turn();
    made[2]?.answer();
    assert.equal(await later, -5, "the lane works again");
  });

  it("are refused where too many wait", async () => {
    const { made, ask } = gatherer();
    const asked = [ask(1)];
    await turn();
    asked.push(ask(2));
    await turn();
    for (let index = 0; index < pendingCallsMax; index++) asked.push(ask(0));
    await assert.rejects(ask(3), { code: "storage_unavailable" });
    for (let index = 0; index < 3; index++) {
      made[index]?.answer();
      await turn();
    }
    assert.equal((await Promise.all(asked)).length, pendingCallsMax + 2);
  });
});
