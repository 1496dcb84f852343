import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../lib/errors/mod.ts";
import { compileCondition, depthMax, type Environment, nodesMax } from "../../../lib/expressions/mod.ts";

const environment: Environment<unknown> = {
  variable: path => (path === "x" ? { type: "number", read: () => 1 } : null),
};

/** The pointer at which a condition is refused, or null where it is accepted. */
function refusedAt(source: unknown, pointer = "/when"): string | null {
  try {
    compileCondition(source, environment, pointer);
    return null;
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, "validation_failed");
    assert.equal(error.fields?.length, 1);
    return error.fields?.[0]?.pointer ?? "";
  }
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
      [{}, "/when"],
      [{ eq: [1, 1], ne: [1, 1] }, "/when"],
      [{ matches: ["a", ".*"] }, "/when/matches"],
      [{ toString: [1, 1] }, "/when/toString"],
      [{ constructor: [1, 1] }, "/when/constructor"],
      [{ "a/b~c": [] }, "/when/a~1b~0c"],
      [{ all: [] }, "/when/all"],
      [{ any: {} }, "/when/any"],
      [{ all: [{ eq: [1, 1] }, { eq: [1] }] }, "/when/all/1/eq"],
      [{ not: { any: [{ gt: [1, 2, 3] }] } }, "/when/not/any/0/gt"],
      [{ eq: [1, null] }, "/when/eq/1"],
      [{ eq: [1, [1]] }, "/when/eq/1"],
      [{ eq: [{ var: "y" }, 1] }, "/when/eq/0/var"],
      [{ eq: [{ var: 7 }, 1] }, "/when/eq/0/var"],
      [{ eq: [{ var: "x", and: 1 }, 1] }, "/when/eq/0"],
      [{ eq: [{ sum: "x" }, 1] }, "/when/eq/0"],
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

  it("include nesting beyond the bound", () => {
    assert.equal(refusedAt(nested(depthMax)), null);
    assert.equal(refusedAt(nested(depthMax + 1)), `/when${"/not".repeat(depthMax)}`);
    assert.ok(refusedAt(nested(100_000)) !== null);
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
  });
});
