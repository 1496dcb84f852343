/** JSON documents as they are edited in the studio. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { readJson, spanOf } from "../../../../lib/pages/studio/page/documents/json_text.ts";

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
