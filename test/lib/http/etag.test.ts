import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  admitChange,
  isNotModified,
  matchesTag,
  preconditionCharsMax,
  versionTag,
} from "../../../lib/http/replies/byte_reply.ts";

const request = (headers: Readonly<Record<string, string>>): Request =>
  new Request("http://platform.test/", { headers });

describe("entity tags", () => {
  it("match what a field lists, or anything that exists", () => {
    const tag = versionTag(7);
    assert.equal(tag, '"v7"');
    for (const list of ['"v7"', '"a", "v7"', '"v7","b"', " * ", '"with, comma", "v7"']) {
      assert.equal(matchesTag(list, tag), true, list);
    }
    for (const list of ["", "v7", '"v70"', '"v"', '"V7"', 'W/"v7"', '"*"']) {
      assert.equal(matchesTag(list, tag), false, list);
    }
    assert.equal(matchesTag('W/"v7"', tag, { weak: true }), true);
    assert.equal(matchesTag("*", null), false);
  });

  it(`are read from at most ${preconditionCharsMax} characters`, () => {
    const list = (chars: number): string => '"v7"'.padStart(chars, " ");
    assert.equal(matchesTag(list(preconditionCharsMax), '"v7"'), true);
    assert.equal(matchesTag(list(preconditionCharsMax + 1), '"v7"'), false);
  });

  it("spare a body that the caller has", () => {
    assert.equal(isNotModified(request({ "if-none-match": 'W/"v7"' }), '"v7"'), true);
    assert.equal(isNotModified(request({ "if-none-match": '"v6"' }), '"v7"'), false);
    assert.equal(isNotModified(request({}), '"v7"'), false);
  });
});

describe("a change", () => {
  const code = (
    headers: Readonly<Record<string, string>>,
    tag: string | null,
    required?: boolean,
  ): string => {
    try {
      admitChange(request(headers), tag, { what: "it", ...(required === undefined ? {} : { required }) });
      return "admitted";
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  it("of what exists must name its state, unless that is not required", () => {
    assert.equal(code({}, '"v1"'), "precondition_required");
    assert.equal(code({}, '"v1"', false), "admitted");
    for (const required of [true, false]) {
      assert.equal(code({ "if-match": '"v1"' }, '"v1"', required), "admitted");
      assert.equal(code({ "if-match": "*" }, '"v1"', required), "admitted");
      assert.equal(code({ "if-match": '"v0"' }, '"v1"', required), "precondition_failed");
      assert.equal(code({ "if-none-match": "*" }, '"v1"', required), "precondition_failed");
    }
  });

  it("that creates needs no precondition, and refuses one that nothing meets", () => {
    assert.equal(code({}, null), "admitted");
    assert.equal(code({ "if-none-match": "*" }, null), "admitted");
    assert.equal(code({ "if-match": "*" }, null), "precondition_failed");
    assert.equal(code({ "if-match": '"v1"' }, null), "precondition_failed");
  });

  it("that is refused contains the current tag", () => {
    assert.throws(() => admitChange(request({ "if-match": '"v0"' }), '"v1"', { what: "it" }), {
      headers: { etag: '"v1"' },
    });
  });
});
