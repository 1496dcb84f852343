/** The condition language by example: what authors write, and what it decides. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  compileCondition,
  compileExplanation,
  compileNumber,
  type Environment,
  type Value,
} from "../../../../lib/base/expressions/mod.ts";

/** The variables of an area when a rule is decided. */
interface Fan {
  readonly data: Readonly<Record<string, Value>>;
  readonly points: number;
  readonly badges: readonly string[];
  /** Days in a row with an action. */
  readonly streaks: Readonly<Record<string, number>>;
}

/** An area tells the compiler which variables it has, of which types, and how a scope is asked for them. */
const area: Environment<Fan> = {
  variable(path) {
    if (path === "user.metrics.points") return { type: "number", read: fan => fan.points };
    if (path === "user.inventory.badges") return { type: "list", read: fan => fan.badges };
    if (!path.startsWith("data.")) return null;
    const name = path.slice("data.".length);
    return { type: "any", read: ({ data }) => (Object.hasOwn(data, name) ? data[name] : undefined) };
  },
  aggregate(kind, definition) {
    if (kind !== "streak") return null;
    const { action } = definition as { action: string };
    return { type: "number", read: fan => fan.streaks[action] ?? 0 };
  },
};

const fan: Fan = {
  data: { correct: true, round: 3, sport: "tennis", odds: 4.5 },
  points: 120,
  badges: ["early-bird"],
  streaks: { checkin: 6 },
};

const points = { var: "user.metrics.points" };

describe("a rule may ask", () => {
  const table: [question: string, when: object, isTrue: boolean][] = [
    ["for a value that was reported", { eq: [{ var: "data.correct" }, true] }, true],
    ["for one of several values", { in: [{ var: "data.sport" }, ["tennis", "golf"]] }, true],
    ["for a number in a range", { between: [{ var: "data.round" }, 1, 7] }, true],
    ["for the beginning of a text", { startsWith: [{ var: "data.sport" }, "table"] }, false],
    ["whether anything was reported at all", { exists: { var: "data.seat" } }, false],
    ["what the user has collected", { contains: [{ var: "user.inventory.badges" }, "early-bird"] }, true],
    ["what the user has earned before", { gte: [points, 100] }, true],
    ["how long the user has kept going", { gte: [{ streak: { action: "checkin", unit: "day" } }, 7] }, false],
    ["how two values relate, calculated", { gt: [points, { mul: [{ var: "data.round" }, 50] }] }, false],
    [
      "for several things together",
      {
        all: [
          { eq: [{ var: "data.correct" }, true] },
          { any: [{ gte: [{ var: "data.odds" }, 4] }, { eq: [{ var: "data.round" }, 7] }] },
          { not: { contains: [{ var: "user.inventory.badges" }, "oracle"] } },
        ],
      },
      true,
    ],
  ];
  for (const [question, when, isTrue] of table) {
    it(question, () => {
      assert.equal(compileCondition(when, area)(fan), isTrue);
    });
  }
});

describe("an amount", () => {
  it("may depend on what was reported and on the user", () => {
    const byOdds = { floor: { mul: [{ var: "data.odds" }, 10] } };
    const upTo200 = { min: [{ var: "data.bonus" }, { sub: [200, points] }] };
    assert.equal(compileNumber(byOdds, area)(fan), 45);
    assert.equal(compileNumber(upTo200, area)({ ...fan, data: { bonus: 500 } }), 80);
    assert.equal(compileNumber(upTo200, area)(fan), 0, "nothing was reported as bonus");
  });
});

describe("who asks why a rule did not fire", () => {
  it("learns what each comparison expected and found", () => {
    const when = {
      all: [
        { eq: [{ var: "data.correct" }, true] },
        { gte: [{ streak: { action: "checkin", unit: "day" } }, 7] },
        { any: [{ gte: [points, 500] }, { contains: [{ var: "user.inventory.badges" }, "oracle"] }] },
      ],
    };
    assert.deepEqual(compileExplanation(when, area, "/rules/4/when")(fan), [
      { path: "/rules/4/when/all/1/gte", expected: "at least 7", actual: 6 },
      { path: "/rules/4/when/all/2/any/0/gte", expected: "at least 500", actual: 120 },
      { path: "/rules/4/when/all/2/any/1/contains", expected: 'containing "oracle"', actual: ["early-bird"] },
    ]);
  });
});
