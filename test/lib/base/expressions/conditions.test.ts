import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileCondition, type Value } from "../../../../lib/base/expressions/mod.ts";
import { environment, type Scope } from "./_environment.ts";

function holds(source: unknown, scope: Scope = {}): boolean {
  return compileCondition(source, environment)(scope);
}

const x = { var: "data.x" };
const y = { var: "data.y" };
const list: Value = ["a"];

/** Two values as operands in every shape that compiles: variables, and constants where they may meet. */
function shapesOf(left: Value, right: Value): [scope: Scope, operands: unknown[]][] {
  const isConstant = (value: Value): boolean => value !== undefined && typeof value !== "object";
  const shapes: [Scope, unknown[]][] = [[{ x: left, y: right }, [x, y]]];
  if (isConstant(right)) shapes.push([{ x: left }, [x, right]]);
  if (isConstant(left)) shapes.push([{ y: right }, [left, y]]);
  if (isConstant(left) && typeof left === typeof right) shapes.push([{}, [left, right]]);
  return shapes;
}

describe("a condition", () => {
  it("compares operands that are equal in type and value", () => {
    const table: [left: Value, right: Value, isEqual: boolean][] = [
      [1, 1, true],
      [0, -0, true],
      [1, 2, false],
      ["a", "a", true],
      ["a", "A", false],
      ["1", 1, false],
      [true, true, true],
      [true, 1, false],
      [false, "", false],
      ["é", "e\u0301", false],
      [undefined, 0, false],
      [undefined, undefined, false],
      [list, list, false],
    ];
    for (const [left, right, isEqual] of table) {
      for (const [scope, operands] of shapesOf(left, right)) {
        const text = `${JSON.stringify(operands)} in ${JSON.stringify(scope)}`;
        assert.equal(holds({ eq: operands }, scope), isEqual, `eq ${text}`);
        assert.equal(holds({ ne: operands }, scope), !isEqual, `ne ${text}`);
      }
    }
  });

  it("orders numbers among numbers and strings among strings, and nothing else", () => {
    const table: [left: Value, right: Value, order: "<" | "=" | ">" | null][] = [
      [1, 2, "<"],
      [2, 2, "="],
      [-1, -2, ">"],
      [1.5, 1.25, ">"],
      ["a", "b", "<"],
      ["a", "a", "="],
      ["b", "aa", ">"],
      ["10", "9", "<"],
      ["1", 2, null],
      [true, false, null],
      [true, 0, null],
      [undefined, 1, null],
      [1, undefined, null],
      [undefined, "a", null],
      [undefined, undefined, null],
      [list, "a", null],
    ];
    for (const [left, right, order] of table) {
      const expected = [
        order === ">",
        order === ">" || order === "=",
        order === "<",
        order === "<" || order === "=",
      ];
      for (const [scope, operands] of shapesOf(left, right)) {
        // Booleans have no order, so as constants they are refused.
        if (operands.some(operand => typeof operand === "boolean")) continue;
        const found = ["gt", "gte", "lt", "lte"].map(operator => holds({ [operator]: operands }, scope));
        assert.deepEqual(found, expected, `${JSON.stringify(operands)} in ${JSON.stringify(scope)}`);
      }
    }
  });

  it("finds numbers between two bounds, both included", () => {
    const between = (value: Value): boolean => holds({ between: [x, 1, 3] }, { x: value });
    assert.deepEqual([0.999, 1, 2, 3, 3.001].map(between), [false, true, true, true, false]);
    assert.deepEqual([undefined, "2", true].map(between), [false, false, false]);
    assert.equal(holds({ between: [2, 3, 1] }), false);
    assert.equal(holds({ between: [2, x, 3] }, { x: "1" }), false);
    assert.equal(holds({ between: [2, 1, x] }), false);
    assert.equal(holds({ between: [2, x, y] }, { x: 2, y: 2 }), true);
  });

  it("finds a value in a list of constants, by type and value", () => {
    const within = (value: Value): boolean => holds({ in: [x, ["a", 1, true]] }, { x: value });
    assert.deepEqual(["a", 1, true].map(within), [true, true, true]);
    assert.deepEqual(["b", "1", 2, false, undefined].map(within), [false, false, false, false, false]);
    assert.equal(holds({ in: ["a", []] }), false);
  });

  it("finds texts in texts", () => {
    assert.equal(holds({ contains: ["abc", "b"] }), true);
    assert.equal(holds({ contains: ["abc", ""] }), true);
    assert.equal(holds({ contains: ["abc", "B"] }), false);
    assert.equal(holds({ contains: [x, "2"] }, { x: 123 }), false);
    assert.equal(holds({ contains: ["123", x] }, { x: 2 }), false);
    assert.equal(holds({ contains: ["undefined", x] }), false);
    assert.equal(holds({ startsWith: ["abc", "ab"] }), true);
    assert.equal(holds({ startsWith: ["abc", "bc"] }), false);
    assert.equal(holds({ startsWith: [x, "a"] }), false);
    assert.equal(holds({ contains: [".*", ".*"] }) && !holds({ contains: ["abc", ".*"] }), true);
  });

  it("finds texts among the items of a list", () => {
    const found = (items: readonly string[]): boolean => holds({ contains: [x, "ab"] }, { x: items });
    assert.deepEqual([["ab"], ["x", "ab"], [], ["abc"], ["a", "b"]].map(found), [
      true,
      true,
      false,
      false,
      false,
    ]);
    assert.equal(holds({ contains: [{ var: "badges" }, "gold"] }, { badges: ["gold"] }), true);
    assert.equal(holds({ contains: [{ var: "badges" }, "gold"] }), false);
  });

  it("knows whether a variable has a value, also a false one", () => {
    for (const value of [0, "", false, "x"]) assert.equal(holds({ exists: x }, { x: value }), true);
    assert.equal(holds({ exists: x }), false);
    assert.equal(holds({ not: { exists: x } }), true);
  });

  it("joins conditions of any number", () => {
    const [yes, no] = [{ eq: [1, 1] }, { eq: [1, 2] }];
    const lists: [conditions: unknown[], isAll: boolean, isAny: boolean][] = [
      [[yes], true, true],
      [[no], false, false],
      [[yes, yes], true, true],
      [[yes, no], false, true],
      [[no, yes], false, true],
      [[no, no], false, false],
      [[yes, yes, yes], true, true],
      [[yes, yes, no], false, true],
      [[no, no, no], false, false],
      [[no, no, yes], false, true],
      [[no, no, no, no], false, false],
      [[yes, yes, yes, yes], true, true],
      [[yes, yes, yes, no], false, true],
      [[no, no, no, yes], false, true],
    ];
    for (const [conditions, isAll, isAny] of lists) {
      assert.equal(holds({ all: conditions }), isAll, JSON.stringify(conditions));
      assert.equal(holds({ any: conditions }), isAny, JSON.stringify(conditions));
      assert.equal(holds({ not: { all: conditions } }), !isAll, JSON.stringify(conditions));
    }
  });

  it("never sees what a scope inherits", () => {
    for (const name of ["toString", "constructor", "__proto__", "hasOwnProperty"]) {
      assert.equal(holds({ exists: { var: `data.${name}` } }), false, name);
      assert.equal(holds({ exists: { var: `data.${name}` } }, { [name]: 1 }), true, name);
    }
  });

  it("is compiled once and decides for every scope on its own", () => {
    const condition = compileCondition({ gt: [x, 1] }, environment);
    assert.deepEqual(
      [0, 1, 2].map(value => condition({ x: value })),
      [false, false, true],
    );
  });
});
