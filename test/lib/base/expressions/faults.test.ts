import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError, type FieldError } from "../../../../lib/base/errors/mod.ts";
import { nodesMax } from "../../../../lib/base/expressions/_terms.ts";
import {
  compileCondition,
  compileExplanation,
  compileNumber,
  depthMax,
  type Environment,
  type ValueType,
} from "../../../../lib/base/expressions/mod.ts";

const types: Readonly<Record<string, ValueType>> = {
  x: "number",
  text: "string",
  flag: "boolean",
  list: "list",
  any: "any",
};
const environment: Environment<unknown> = {
  variable: path => (Object.hasOwn(types, path) ? { type: types[path] ?? "any", read: () => 1 } : null),
  aggregate: () => ({ type: "number", read: () => 1 }),
};

function faultsOf(task: () => unknown): readonly FieldError[] {
  try {
    task();
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, "validation_failed");
    assert.ok(error.fields !== undefined && error.fields.length > 0);
    return error.fields;
  }
}

/** The pointer at which a condition is refused, or null where it is accepted. */
function refusedAt(source: unknown, pointer = "/when"): string | null {
  const faults = faultsOf(() => compileCondition(source, environment, pointer));
  assert.ok(faults.length <= 1, JSON.stringify(faults));
  return faults[0]?.pointer ?? null;
}

/** `not` around `not` …, so many conditions deep. */
function nested(depth: number): unknown {
  let source: unknown = { eq: [1, 1] };
  for (let level = 1; level < depth; level++) source = { not: source };
  return source;
}

describe("the faults of a condition", () => {
  it("are located by a JSON Pointer", () => {
    const table: [source: unknown, pointer: string][] = [
      [null, "/when"],
      ["eq", "/when"],
      [[], "/when"],
      [[{ eq: [1, 1] }], "/when"],
      [{}, "/when"],
      [{ eq: [1, 1], ne: [1, 1] }, "/when"],
      [{ matches: ["a", ".*"] }, "/when/matches"],
      [{ toString: [1, 1] }, "/when/toString"],
      [{ constructor: [1, 1] }, "/when/constructor"],
      [{ "a/b~c": [] }, "/when/a~1b~0c"],
      [{ "\ud800": [] }, "/when/\ufffd"],
      [{ ["x".repeat(129)]: [] }, `/when/${"x".repeat(128)}`],
      [{ all: [] }, "/when/all"],
      [{ any: {} }, "/when/any"],
      [{ all: [{ eq: [1, 1] }, { eq: [1] }] }, "/when/all/1/eq"],
      [{ not: { any: [{ gt: [1, 2, 3] }] } }, "/when/not/any/0/gt"],
      [{ eq: [1, null] }, "/when/eq/1"],
      [{ eq: [1, [1]] }, "/when/eq/1"],
      [{ eq: [{ var: "y" }, 1] }, "/when/eq/0/var"],
      [{ eq: [{ var: 7 }, 1] }, "/when/eq/0/var"],
      [{ eq: [{ var: "x", and: 1 }, 1] }, "/when/eq/0"],
      [{ eq: [{ median: "x" }, 1] }, "/when/eq/0"],
      [{ eq: [Number.NaN, 1] }, "/when/eq/0"],
      [{ eq: [Number.POSITIVE_INFINITY, 1] }, "/when/eq/0"],
      [{ between: [1, 2] }, "/when/between"],
      [{ between: [1, 2, {}] }, "/when/between/2"],
      [{ in: [1] }, "/when/in"],
      [{ in: [1, 2] }, "/when/in"],
      [{ in: [1, [2], 3] }, "/when/in"],
      [{ in: [{ var: "y" }, [2]] }, "/when/in/0/var"],
      [{ in: [1, [2, { var: "x" }]] }, "/when/in/1/1"],
      [{ in: [1, [null]] }, "/when/in/1/0"],
      [{ exists: "x" }, "/when/exists"],
      [{ exists: { var: "y" } }, "/when/exists/var"],
    ];
    for (const [source, pointer] of table) assert.equal(refusedAt(source), pointer, JSON.stringify(source));
    assert.equal(refusedAt({ eq: [1] }, ""), "/eq");
  });

  it("are all reported at once", () => {
    const source = {
      all: [
        { eq: [1] },
        { gt: [{ var: "y" }, "1", 2] },
        { between: [{ var: "text" }, null, { var: "y" }] },
        { any: [{ in: [{ var: "list" }, [{}, "a", []]] }, { exists: { var: "y" } }] },
        { matches: [] },
      ],
    };
    const pointers = faultsOf(() => compileCondition(source, environment)).map(({ pointer }) => pointer);
    assert.deepEqual(pointers.sort(), [
      "/all/0/eq",
      "/all/1/gt",
      "/all/2/between/0",
      "/all/2/between/1",
      "/all/2/between/2/var",
      "/all/3/any/0/in/0",
      "/all/3/any/0/in/1/0",
      "/all/3/any/0/in/1/2",
      "/all/3/any/1/exists/var",
      "/all/4/matches",
    ]);
  });

  it("are the same for a condition and its explanation", () => {
    const sources: unknown[] = [{ eq: [1] }, { all: [{ gt: ["a", 1] }, null] }, nested(depthMax + 1), 7];
    for (const source of sources) {
      assert.deepEqual(
        faultsOf(() => compileExplanation(source, environment, "/when")),
        faultsOf(() => compileCondition(source, environment, "/when")),
      );
    }
  });

  it("include comparisons that could never hold", () => {
    const [x, text, flag, list, any] = ["x", "text", "flag", "list", "any"].map(path => ({ var: path }));
    const sum = { add: [x, 1] };
    const table: [source: unknown, pointer: string | null][] = [
      [{ eq: [x, 1] }, null],
      [{ eq: [x, "1"] }, "/when/eq"],
      [{ eq: [text, 1] }, "/when/eq"],
      [{ ne: [flag, "true"] }, "/when/ne"],
      [{ eq: [x, text] }, "/when/eq"],
      [{ eq: [sum, "1"] }, "/when/eq"],
      [{ eq: [any, text] }, null],
      [{ eq: [any, "1"] }, null],
      [{ eq: [list, "a"] }, "/when/eq/0"],
      [{ eq: ["a", list] }, "/when/eq/1"],
      [{ gt: [flag, 1] }, "/when/gt/0"],
      [{ gt: [1, true] }, "/when/gt/1"],
      [{ lte: [text, 5] }, "/when/lte"],
      [{ lte: [text, "m"] }, null],
      [{ between: [x, 1, "2"] }, "/when/between/2"],
      [{ between: [text, 1, 2] }, "/when/between/0"],
      [{ between: [any, sum, x] }, null],
      [{ in: [x, [1, "2"]] }, "/when/in/1/1"],
      [{ in: [text, [true]] }, "/when/in/1/0"],
      [{ in: [list, ["a"]] }, "/when/in/0"],
      [{ in: [any, ["a", 1, true]] }, null],
      [{ contains: [list, "a"] }, null],
      [{ contains: [text, any] }, null],
      [{ contains: [list, 1] }, "/when/contains/1"],
      [{ contains: [x, "1"] }, "/when/contains/0"],
      [{ contains: [text, list] }, "/when/contains/1"],
      [{ startsWith: [list, "a"] }, "/when/startsWith/0"],
      [{ startsWith: [text, 1] }, "/when/startsWith/1"],
    ];
    for (const [source, pointer] of table) assert.equal(refusedAt(source), pointer, JSON.stringify(source));
  });

  it("include amounts that are no numbers", () => {
    const refused = (source: unknown): string | null =>
      faultsOf(() => compileNumber(source, environment, "/amount"))[0]?.pointer ?? null;
    const table: [source: unknown, pointer: string | null][] = [
      [{ add: [{ var: "x" }, { var: "any" }] }, null],
      ["5", "/amount"],
      [true, "/amount"],
      [null, "/amount"],
      [{ var: "text" }, "/amount"],
      [{ var: "list" }, "/amount"],
      [{ add: [1, "2"] }, "/amount/add/1"],
      [{ add: [1] }, "/amount/add"],
      [{ add: 1 }, "/amount/add"],
      [{ sub: [1, 2, 3] }, "/amount/sub"],
      [{ div0: [1] }, "/amount/div0"],
      [{ floor: [1] }, "/amount/floor"],
      [{ round: { var: "flag" } }, "/amount/round"],
      [{ mul: [2, { max: [1, { floor: "3" }] }] }, "/amount/mul/1/max/1/floor"],
      [{ pow: [2, 3] }, "/amount"],
      [{ eq: [1, 1] }, "/amount"],
    ];
    for (const [source, pointer] of table) assert.equal(refused(source), pointer, JSON.stringify(source));
  });

  it("name the correct form", () => {
    const table: [source: unknown, detail: string][] = [
      [{ eq: [{ var: "x" }, "1"] }, "Compare values of one type, as a number and a string never do"],
      [{ contains: [{ var: "x" }, "1"] }, "Give a string or a list, as a number never is one"],
      [{ in: [{ var: "text" }, [1]] }, "List only strings here, as the first operand is one"],
      [{ eq: [{ var: "y" }, 1] }, "Name a variable that exists here"],
      [{ exists: "x" }, 'Give {"var": path}'],
      [{ gt: [1] }, "Give a list of 2 operands"],
      [nested(depthMax + 1), `Nest operators at most ${depthMax} deep`],
    ];
    for (const [source, detail] of table) {
      assert.equal(faultsOf(() => compileCondition(source, environment))[0]?.detail, detail);
    }
  });

  it("include nesting beyond the bound", () => {
    assert.equal(refusedAt(nested(depthMax)), null);
    assert.equal(refusedAt(nested(depthMax + 1)), `/when${"/not".repeat(depthMax)}`);
    assert.equal(refusedAt(nested(100_000)), `/when${"/not".repeat(depthMax)}`);
    const calculation = (depth: number): unknown => (depth === 0 ? 1 : { floor: calculation(depth - 1) });
    assert.equal(refusedAt({ eq: [1, calculation(depthMax - 1)] }), null);
    assert.equal(refusedAt({ eq: [1, calculation(depthMax)] }), `/when/eq/1${"/floor".repeat(depthMax - 1)}`);
    assert.equal(faultsOf(() => compileNumber(calculation(depthMax), environment)).length, 0);
    assert.equal(faultsOf(() => compileNumber(calculation(depthMax + 1), environment)).length, 1);
    assert.equal(faultsOf(() => compileNumber(calculation(5_000), environment)).length, 1);
  });

  it("include operators and operands beyond the bound, constants of lists counted too", () => {
    // Each comparison is three: the operator and two operands; the group is one.
    const comparisons = (count: number): unknown => ({ all: Array(count).fill({ eq: [1, 1] }) });
    const most = Math.floor((nodesMax - 1) / 3);
    assert.equal(refusedAt(comparisons(most)), null);
    assert.match(refusedAt(comparisons(most + 1)) ?? "", new RegExp(`^/when/all/${most}`));
    const list = (count: number): unknown => ({
      in: [1, Array.from({ length: count }, (_, index) => index)],
    });
    assert.equal(refusedAt(list(nodesMax - 2)), null);
    assert.equal(refusedAt(list(nodesMax - 1)), `/when/in/1/${nodesMax - 2}`);
    assert.equal(refusedAt(list(100_000)), `/when/in/1/${nodesMax - 2}`);
    // The operator of the aggregate and every value of its definition, which is one more than the list's items.
    const aggregate = (count: number): unknown => ({ eq: [1, { count: Array(count).fill(1) }] });
    assert.equal(refusedAt(aggregate(nodesMax - 4)), null);
    assert.equal(refusedAt(aggregate(nodesMax - 3)), "/when/eq/1/count");
    const endless: unknown[] = [];
    endless.push(endless);
    assert.equal(refusedAt({ eq: [1, { count: endless }] }), "/when/eq/1/count");
    const sum = (count: number): unknown => ({ add: Array(count).fill(1) });
    assert.equal(faultsOf(() => compileNumber(sum(nodesMax - 1), environment)).length, 0);
    assert.equal(faultsOf(() => compileNumber(sum(nodesMax), environment)).length, 1);
  });
});
