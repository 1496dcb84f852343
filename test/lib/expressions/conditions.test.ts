import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileCondition, compileOperand, type Operand, type Value } from "../../../lib/expressions/mod.ts";

type Scope = Readonly<Record<string, Value>>;

function variables(path: string): Operand<Scope> | null {
  if (!path.startsWith("data.")) return null;
  const name = path.slice("data.".length);
  return scope => (Object.hasOwn(scope, name) ? scope[name] : undefined);
}

function holds(source: unknown, scope: Scope = {}): boolean {
  return compileCondition(source, variables)(scope);
}

const x = { var: "data.x" };

describe("a condition", () => {
  it("compares operands that are equal in type and value", () => {
    const table: [left: unknown, right: unknown, isEqual: boolean][] = [
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
    ];
    for (const [left, right, isEqual] of table) {
      assert.equal(holds({ eq: [left, right] }), isEqual, `${left} eq ${right}`);
      assert.equal(holds({ ne: [left, right] }), !isEqual, `${left} ne ${right}`);
    }
  });

  it("orders numbers among numbers and strings among strings, and nothing else", () => {
    const table: [left: unknown, right: unknown, order: "<" | "=" | ">" | null][] = [
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
      [x, 1, null],
      [1, x, null],
    ];
    for (const [left, right, order] of table) {
      const found = ["gt", "gte", "lt", "lte"].map(operator => holds({ [operator]: [left, right] }));
      const expected = [
        order === ">",
        order === ">" || order === "=",
        order === "<",
        order === "<" || order === "=",
      ];
      assert.deepEqual(found, expected, `${JSON.stringify(left)} ${order} ${JSON.stringify(right)}`);
    }
  });

  it("finds numbers between two bounds, both included", () => {
    const between = (value: Value): boolean => holds({ between: [x, 1, 3] }, { x: value });
    assert.deepEqual([0.999, 1, 2, 3, 3.001].map(between), [false, true, true, true, false]);
    assert.deepEqual([undefined, "2", true].map(between), [false, false, false]);
    assert.equal(holds({ between: [2, 3, 1] }), false);
    assert.equal(holds({ between: [2, "1", 3] }), false);
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
    assert.equal(holds({ contains: [123, "2"] }), false);
    assert.equal(holds({ contains: ["123", 2] }), false);
    assert.equal(holds({ startsWith: ["abc", "ab"] }), true);
    assert.equal(holds({ startsWith: ["abc", "bc"] }), false);
    assert.equal(holds({ startsWith: [x, "a"] }), false);
    assert.equal(holds({ contains: [".*", ".*"] }) && !holds({ contains: ["abc", ".*"] }), true);
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
    const condition = compileCondition({ gt: [x, 1] }, variables);
    assert.deepEqual(
      [0, 1, 2].map(value => condition({ x: value })),
      [false, false, true],
    );
  });
});

describe("an operand", () => {
  it("is a constant or a variable", () => {
    for (const constant of ["a", "", 0, 1.5, true, false]) {
      assert.equal(compileOperand(constant, variables)({}), constant);
    }
    assert.equal(compileOperand(x, variables)({ x: 7 }), 7);
    assert.equal(compileOperand(x, variables)({}), undefined);
  });
});
