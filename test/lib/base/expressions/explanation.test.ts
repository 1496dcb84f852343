import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compileExplanation, type Failure } from "../../../../lib/base/expressions/mod.ts";
import { environment, type Scope } from "./_environment.ts";

function failures(source: unknown, scope: Scope = {}): readonly Failure[] {
  return compileExplanation(source, environment, "/when")(scope);
}

const points = { var: "points" };
const name = { var: "name" };
const x = { var: "data.x" };

describe("the explanation of a false condition", () => {
  it("is empty where the condition holds", () => {
    assert.deepEqual(failures({ gte: [points, 10] }, { points: 10 }), []);
    assert.deepEqual(failures({ any: [{ eq: [name, "b"] }, { eq: [name, "a"] }] }, { name: "a" }), []);
    assert.deepEqual(failures({ not: { exists: x } }), []);
  });

  it("says where the comparison stands, what it expects and what it found", () => {
    const scope: Scope = { points: 7, name: "ada", badges: ["gold"], x: 3, isMember: false };
    const table: [source: object, expected: string, actual: Failure["actual"]][] = [
      [{ eq: [name, "bob"] }, 'equal to "bob"', "ada"],
      [{ eq: [{ var: "isMember" }, true] }, "equal to true", false],
      [{ ne: [name, "ada"] }, 'not equal to "ada"', "ada"],
      [{ gt: [points, 7] }, "greater than 7", 7],
      [{ gte: [points, 10] }, "at least 10", 7],
      [{ lt: [points, 7] }, "less than 7", 7],
      [{ lte: [points, 6] }, "at most 6", 7],
      [{ between: [points, 8, 9] }, "from 8 to 9", 7],
      [{ in: [name, ["bob", "eve"]] }, 'one of "bob", "eve"', "ada"],
      [{ contains: [name, "z"] }, 'containing "z"', "ada"],
      [{ contains: [{ var: "badges" }, "silver"] }, 'containing "silver"', ["gold"]],
      [{ startsWith: [name, "b"] }, 'starting with "b"', "ada"],
      [{ exists: { var: "data.missing" } }, "present", null],
      [{ gte: [{ var: "data.missing" }, 1] }, "at least 1", null],
    ];
    for (const [source, expected, actual] of table) {
      const path = `/when/${Object.keys(source)[0]}`;
      assert.deepEqual(failures(source, scope), [{ path, expected, actual }], JSON.stringify(source));
    }
  });

  it("calculates what is expected where that depends on the scope", () => {
    const source = { gte: [points, { mul: [x, 2] }] };
    const at = (expected: string): Failure[] => [{ path: "/when/gte", expected, actual: 7 }];
    assert.deepEqual(failures(source, { points: 7, x: 5 }), at("at least 10"));
    assert.deepEqual(failures(source, { points: 7 }), at("at least (no value)"));
    assert.deepEqual(failures({ gte: [{ add: [points, 1] }, 10] }, { points: 6 }), at("at least 10"));
  });

  it("speaks of the value that varies, on whichever side it stands", () => {
    const table: [operator: string, expected: string][] = [
      ["eq", "equal to 10"],
      ["lt", "greater than 10"],
      ["lte", "at least 10"],
    ];
    for (const [operator, expected] of table) {
      const path = `/when/${operator}`;
      assert.deepEqual(failures({ [operator]: [10, points] }, { points: 7 }), [
        { path, expected, actual: 7 },
      ]);
    }
    for (const [operator, expected] of [
      ["gt", "less than 5"],
      ["gte", "at most 5"],
    ] as const) {
      const path = `/when/${operator}`;
      assert.deepEqual(failures({ [operator]: [5, points] }, { points: 7 }), [{ path, expected, actual: 7 }]);
    }
  });

  it("names every part of `all` that fails, and all parts of `any`", () => {
    const parts = [{ eq: [name, "bob"] }, { gte: [points, 5] }, { exists: x }];
    assert.deepEqual(
      failures({ all: parts }, { name: "ada", points: 7 }).map(({ path }) => path),
      ["/when/all/0/eq", "/when/all/2/exists"],
    );
    assert.deepEqual(
      failures({ any: parts }, { name: "ada", points: 4 }).map(({ path }) => path),
      ["/when/any/0/eq", "/when/any/1/gte", "/when/any/2/exists"],
    );
  });

  it("turns round under `not`, and once more under two", () => {
    const scope: Scope = { name: "ada", points: 7 };
    const all = { all: [{ eq: [name, "ada"] }, { gte: [points, 5] }] };
    assert.deepEqual(failures({ not: all }, scope), [
      { path: "/when/not/all/0/eq", expected: 'not equal to "ada"', actual: "ada" },
      { path: "/when/not/all/1/gte", expected: "not at least 5", actual: 7 },
    ]);
    assert.deepEqual(failures({ not: { any: [{ eq: [name, "bob"] }, { ne: [points, 1] }] } }, scope), [
      { path: "/when/not/any/1/ne", expected: "equal to 1", actual: 7 },
    ]);
    assert.deepEqual(failures({ not: { not: { gt: [points, 9] } } }, scope), [
      { path: "/when/not/not/gt", expected: "greater than 9", actual: 7 },
    ]);
  });

  it(`lists the first ${10} constants and counts the others`, () => {
    const expected = (count: number): string | undefined =>
      failures({ in: [x, Array.from({ length: count }, (_, index) => index)] })[0]?.expected;
    assert.equal(expected(10), "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9");
    assert.equal(expected(10 + 2), "one of 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 2 more");
  });
});
