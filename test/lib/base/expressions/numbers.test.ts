import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import {
  compileCondition,
  compileNumber,
  type Environment,
  type VariableDeclaration,
} from "../../../../lib/base/expressions/mod.ts";
import { environment, type Scope } from "./_environment.ts";

function amount(source: unknown, scope: Scope = {}): number {
  return compileNumber(source, environment)(scope);
}

const x = { var: "data.x" };
const points = { var: "points" };

describe("a number", () => {
  it("is a constant or a variable", () => {
    for (const constant of [0, 1.5, -3]) assert.equal(amount(constant), constant);
    assert.equal(amount(points, { points: 7 }), 7);
    assert.equal(amount(x, { x: 7 }), 7);
  });

  it("is calculated", () => {
    const table: [source: object, value: number][] = [
      [{ add: [1, 2] }, 3],
      [{ add: [1, 2, 3, 4] }, 10],
      [{ sub: [1, 3] }, -2],
      [{ mul: [2, 3] }, 6],
      [{ mul: [2, 3, 4] }, 24],
      [{ div0: [7, 2] }, 3.5],
      [{ div0: [7, 0] }, 0],
      [{ div0: [-7, 0] }, 0],
      [{ div0: [0, 0] }, 0],
      [{ min: [3, 1, 2] }, 1],
      [{ max: [3, 4, 2] }, 4],
      [{ floor: 1.9 }, 1],
      [{ floor: -1.1 }, -2],
      [{ round: 1.5 }, 2],
      [{ round: -1.5 }, -1],
      [{ round: { mul: [x, 1.5] } }, 15],
      [{ if: [{ gt: [x, 9] }, points, 1] }, 20],
      [{ if: [{ gt: [x, 10] }, points, { if: [{ exists: x }, 2, 3] }] }, 2],
      [{ min: [{ mul: [{ sub: [x, 4] }, 10] }, { max: [points, 50] }] }, 50],
    ];
    for (const [source, value] of table) {
      assert.equal(amount(source, { x: 10, points: 20 }), value, JSON.stringify(source));
    }
  });

  it("is decimal: no amount of cents to 1,000.00 loses a part to binary fractions, at any common rate", () => {
    const rates = [1, 5, 10, 15, 25, 33, 75, 100, 150, 175, 250, 700, 1_000, 1_234, 10_000];
    const compiled = rates.map(rate =>
      compileNumber<Scope>({ floor: { mul: [x, rate / 1_000, 100] } }, environment),
    );
    for (let cents = 1; cents <= 100_000; cents++) {
      for (const [index, rate] of rates.entries()) {
        const points = compiled[index]?.({ x: cents / 100 });
        const exact = Math.floor((cents * rate) / 1_000);
        if (points !== exact) assert.fail(`${cents / 100} at ${rate / 1_000}: ${points}, not ${exact}`);
      }
    }
  });

  it("rounds each operation to 9 decimal digits, and to 15 significant ones where it is large", () => {
    const table: [source: object, value: number][] = [
      [{ add: [0.1, 0.2] }, 0.3],
      [{ sub: [0.3, 0.1] }, 0.2],
      [{ sub: [0.1, 0.3] }, -0.2],
      [{ mul: [1.005, 1_000] }, 1_005],
      [{ div0: [4.35, 0.01] }, 435],
      [{ div0: [1, 3] }, 0.333333333],
      [{ div0: [-2, 3] }, -0.666666667],
      [{ mul: [0.00001, 0.00001] }, 0],
      [{ sub: [123_456_789.1, 123_456_789] }, 0.1],
      [{ add: [12_345_678.1, 0.2] }, 12_345_678.3],
      [{ mul: [999_999_999.99, 1.1] }, 1_099_999_999.989],
    ];
    for (const [source, value] of table) assert.equal(amount(source), value, JSON.stringify(source));
  });

  it("is 0, never -0, where it has no value or none that is finite", () => {
    const huge = Number.MAX_VALUE;
    const sources = [x, { add: [x, 1] }, { div0: [x, 0] }, { max: [1, x] }, { floor: x }];
    for (const source of sources) {
      for (const value of [undefined, "7", true, ["7"]]) {
        assert.equal(amount(source, { x: value }), 0, `${JSON.stringify(source)} of ${value}`);
      }
    }
    assert.equal(amount(points, { points: Number.NaN }), 0);
    for (const source of [{ mul: [huge, 10] }, { add: [huge, huge] }, { div0: [huge, 1e-10] }]) {
      assert.equal(amount(source), 0, JSON.stringify(source));
    }
    for (const source of [{ mul: [-1, 0] }, { round: -0.4 }, { round: x }, -0]) {
      assert.ok(Object.is(amount(source, { x: -0.2 }), 0), JSON.stringify(source));
    }
  });

  it("has no value in a comparison where it cannot be calculated", () => {
    const holds = (source: unknown): boolean => compileCondition(source, environment)({ x: "7" });
    const sum = { add: [x, 1] };
    for (const operator of ["eq", "gt", "gte", "lt", "lte"]) {
      assert.equal(holds({ [operator]: [sum, 8] }), false, operator);
    }
    assert.equal(holds({ ne: [sum, 8] }), true);
    assert.equal(holds({ between: [sum, -1e9, 1e9] }), false);
    assert.equal(holds({ in: [sum, [8]] }), false);
  });
});

describe("an aggregate", () => {
  const asked: [kind: string, definition: unknown, pointer: string][] = [];
  const counting: Environment<Scope> = {
    ...environment,
    aggregate(kind, definition, pointer): VariableDeclaration<Scope> | null {
      asked.push([kind, definition, pointer]);
      if (definition === "nowhere") return null;
      if (definition === "broken") {
        const fields = [
          { pointer: `${pointer}/action`, detail: "Name an action" },
          { pointer: `${pointer}/window`, detail: "Give a window" },
        ];
        throw new AppError("validation_failed", "Cannot use the aggregate", { fields });
      }
      return { type: "number", read: scope => scope[kind] };
    },
  };

  function pointersOf(task: () => unknown): readonly string[] {
    try {
      task();
      return [];
    } catch (error) {
      assert.ok(error instanceof AppError);
      return (error.fields ?? []).map(field => field.pointer);
    }
  }

  it("is resolved by the area, with its pointer, and compares like a variable", () => {
    asked.length = 0;
    const definition = { action: "checkin", window: { last: 7, unit: "day" } };
    const source = { all: [{ gte: [{ count: definition }, 3] }, { lt: [{ streak: definition }, 2] }] };
    const condition = compileCondition(source, counting, "/when");
    assert.deepEqual(asked, [
      ["count", definition, "/when/all/0/gte/0/count"],
      ["streak", definition, "/when/all/1/lt/0/streak"],
    ]);
    assert.equal(condition({ count: 3, streak: 1 }), true);
    assert.equal(condition({ count: 3, streak: 2 }), false);
    assert.equal(compileNumber({ mul: [{ sum: definition }, 2] }, counting)({ sum: 21 }), 42);
  });

  it("is refused where it has no place or its definition is at fault", () => {
    const refused = (definition: unknown, area: Environment<Scope>): readonly string[] =>
      pointersOf(() => compileCondition({ gte: [{ sum: definition }, 1] }, area, "/when"));
    assert.deepEqual(refused("nowhere", counting), ["/when/gte/0"]);
    assert.deepEqual(refused({}, environment), ["/when/gte/0"]);
    assert.deepEqual(refused("broken", counting), ["/when/gte/0/sum/action", "/when/gte/0/sum/window"]);
  });

  it("lets faults through that are none of the document's", () => {
    const failing: Environment<Scope> = {
      ...environment,
      aggregate(): never {
        throw new RangeError("a mistake of the program");
      },
    };
    assert.throws(() => compileNumber({ count: {} }, failing), RangeError);
  });
});
