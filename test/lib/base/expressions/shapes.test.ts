/** The shape of expressions takes what the compiler takes, and refuses what is no expression. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { createRandom } from "../../../../adapters/conformance/random.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { compileCondition, expressionShapes } from "../../../../lib/base/expressions/mod.ts";
import { environment } from "./_environment.ts";
import { randomCondition } from "./_generator.ts";

const seeds = 2_000;
const depth = 3;

const { condition, calculation } = expressionShapes(shapes => ({
  count: v.strictObject({ action: v.string(), where: v.exactOptional(shapes.condition) }),
}));

describe("the shape of expressions", () => {
  it("takes every condition that is well formed", () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const source = randomCondition(createRandom(seed), depth);
      assert.doesNotThrow(() => compileCondition(source, environment));
      assert.ok(v.is(condition, source), `seed ${seed}: ${JSON.stringify(source)}`);
    }
  });

  it("refuses what the compiler refuses for its form", () => {
    const name = { var: "name" };
    for (const source of [
      {},
      [],
      "eq",
      null,
      { eq: ["a", name], ne: ["a", name] },
      { equals: ["a", name] },
      { eq: [name] },
      { eq: [name, "a", "b"] },
      { between: [{ var: "points" }, 1] },
      { all: [] },
      { all: { eq: ["a", name] } },
      { not: [{ eq: ["a", name] }] },
      { in: [name, "a"] },
      { in: [name, [name]] },
      { exists: "name" },
      { eq: [{ var: 1 }, "a"] },
      { gt: [{ add: [1] }, 0] },
      { gt: [{ sub: [3, 2, 1] }, 0] },
      { gt: [{ floor: [1] }, 0] },
      { gt: [{ add: [1, "2"] }, 0] },
      { gt: [{ power: [2, 2] }, 0] },
      { gt: [{ if: [{ eq: ["a", name] }, 1] }, 0] },
      { gt: [{ if: [{ eq: ["a", name] }, 1, "b"] }, 0] },
      { gt: [{ if: [true, 1, 2] }, 0] },
    ]) {
      const text = JSON.stringify(source);
      assert.throws(() => compileCondition(source, environment), AppError, text);
      assert.equal(v.is(condition, source), false, text);
    }
  });

  it("has the aggregates of its area, with expressions in them, and no others", () => {
    const where = { eq: [{ var: "data.p" }, 1] };
    assert.equal(v.is(calculation, { count: { action: "cheer", where } }), true);
    assert.equal(v.is(calculation, { add: [1, { count: { action: "cheer" } }] }), true);
    assert.equal(v.is(calculation, { count: { action: "cheer", where: { is: [] } } }), false);
    assert.equal(v.is(calculation, { sum: { action: "cheer", of: 1 } }), false);
  });
});
