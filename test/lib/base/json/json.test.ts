/** JSON values that are compared and merged part by part. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { differences, merge } from "../../../../lib/base/json/mod.ts";

describe("two documents", () => {
  const rule = (id: string, points: number) => ({ id, points });

  it("differ part by part, and in lists by the ids of their items", () => {
    const found = differences(
      { rules: [rule("a", 1), rule("b", 2), rule("c", 3)], zone: "UTC", tags: ["x"] },
      { rules: [rule("new", 9), rule("c", 3), rule("a", 4)], tags: ["x", "y"] },
    );
    assert.deepEqual(
      found.map(({ op, path }) => `${op} ${path.join(".")}`),
      [
        "change rules.a.points",
        "remove rules.b",
        "add rules.new",
        "order rules",
        "remove zone",
        "change tags",
      ],
    );
    assert.deepEqual(differences({ a: 1, b: [] }, { b: [], a: 1 }), [], "the order of members says nothing");
    assert.deepEqual(differences([rule("a", 1)], []), [{ op: "remove", path: ["a"], from: rule("a", 1) }]);
  });

  it("differ by whole lists and down to a depth where that is asked", () => {
    const [from, to] = [
      { list: [rule("a", 1)], inner: { a: { b: 1 } } },
      { list: [rule("a", 2)], inner: { a: { b: 2 } } },
    ];
    const paths = (how: object): string[] => differences(from, to, how).map(({ path }) => path.join("."));
    assert.deepEqual(paths({}), ["list.a.points", "inner.a.b"]);
    assert.deepEqual(paths({ hasWholeLists: true }), ["list", "inner.a.b"]);
    assert.deepEqual(paths({ depth: 1, path: ["at"] }), ["at.list", "at.inner"]);
  });

  it("join where they changed other parts, and keep mine where both changed one", () => {
    const base = { rules: [rule("a", 1), rule("b", 2), rule("c", 3)], zone: "UTC" };
    const mine = { rules: [rule("a", 5), rule("c", 3), rule("mine", 7)], zone: "UTC" };
    const theirs = {
      rules: [rule("a", 6), rule("b", 2), rule("c", 4), rule("theirs", 8)],
      zone: "Europe/Berlin",
    };
    assert.deepEqual(merge(base, mine, theirs), {
      value: {
        rules: [rule("a", 5), rule("c", 4), rule("mine", 7), rule("theirs", 8)],
        zone: "Europe/Berlin",
      },
      conflicts: [{ path: ["rules", "a", "points"], mine: 5, theirs: 6 }],
      taken: [["rules", "c", "points"], ["rules", "theirs"], ["zone"]],
    });
  });
});
