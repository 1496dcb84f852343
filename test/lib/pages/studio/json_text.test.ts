/** JSON documents as they are edited in the studio. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  differences,
  merge,
  readJson,
  spanOf,
} from "../../../../lib/pages/studio/page/documents/json_text.ts";

describe("the text of a document", () => {
  const text = '{ "a~/b": [1, {"id": "x"}], "__proto__": "kept" }';

  it("is read with the place of every part", () => {
    const read = readJson(text);
    assert.equal(read.fault, null);
    assert.equal(JSON.stringify(read.value), '{"a~/b":[1,{"id":"x"}],"__proto__":"kept"}');
    const at = (pointer: string) => text.slice(...spanOf(read, pointer));
    assert.equal(at("/a~0~1b/1"), '{"id": "x"}');
    assert.equal(at("/a~0~1b/1/id"), '"x"');
    assert.equal(at("/a~0~1b/1/missing/deeper"), '{"id": "x"}', "the nearest part around what is missing");
    assert.equal(at("/other"), text);
  });

  it("is read like JSON.parse, or refused with the place of the fault", () => {
    const values = ['"\\u00e9\\n\\"é"', "-0.5e+3", "[]", "{}", " [ true , null ] ", '{"a":{"b":[]}}'];
    for (const each of values) assert.deepEqual(readJson(each).value, JSON.parse(each), each);
    const faults = {
      "": 0,
      "[1,]": 3,
      '{"a" 1}': 5,
      "{a: 1}": 1,
      '["\n"]': 1,
      "[01]": 2,
      "[1] 2": 4,
      '{"a": 1, "a": 2}': 9,
      '["\\x"]': 1,
    };
    for (const [each, at] of Object.entries(faults)) assert.equal(readJson(each).fault?.at, at, each);
    assert.match(readJson("[".repeat(100_000)).fault?.detail ?? "", /at most 100/);
  });
});

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
      conflicts: [["rules", "a", "points"]],
    });
  });
});
