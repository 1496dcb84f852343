import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../lib/base/errors/mod.ts";
import { jsonDepthMax, parseJson } from "../../../lib/http/requests/body.ts";

function refuses(text: string, reason: RegExp): void {
  assert.throws(
    () => parseJson(text),
    error => error instanceof AppError && error.code === "bad_json" && reason.test(error.message),
    text,
  );
}

describe("JSON from strangers", () => {
  it("is parsed as JSON.parse does", () => {
    for (const value of [null, true, 0.1, "é\u2028", [], {}, [{ a: [1, { b: null }] }], "\ud83c\udfc6"]) {
      assert.deepEqual(parseJson(JSON.stringify(value)), value);
    }
  });

  it("may nest to the bound and no deeper", () => {
    const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
    const objects = (depth: number): string => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;
    assert.ok(parseJson(nested(jsonDepthMax)));
    assert.ok(parseJson(objects(jsonDepthMax)));
    refuses(nested(jsonDepthMax + 1), /deeper than 64 levels/);
    refuses(objects(jsonDepthMax + 1), /deeper than 64 levels/);
    refuses(nested(30_000), /deeper|not valid/);
  });

  it("cannot change a prototype, however the member is spelt and wherever it is", () => {
    refuses('{"__proto__":{"admin":true}}', /"__proto__"/);
    refuses('{"__proto__":1}', /"__proto__"/);
    refuses('[{"a":{"\\u005f_proto__":[]}}]', /"__proto__"/);
    refuses('{"constructor":{"prototype":{"admin":true}}}', /"constructor"/);
    refuses('{"a":[{"constructor":{"prototype":null}}]}', /"constructor"/);
    assert.equal(({} as Record<string, unknown>).admin, undefined);
  });

  it("may speak of a constructor, as motor sport does, and of __proto__ in a text", () => {
    const season = { constructor: "Team A", note: "__proto__", list: [{ constructor: { points: 3 } }] };
    assert.deepEqual(parseJson(JSON.stringify(season)), season);
  });

  it("holds no lone surrogate in a text or a name", () => {
    refuses('"\\ud800"', /lone surrogate/);
    refuses('{"a":["\\udfff"]}', /lone surrogate/);
    refuses('{"\\ud83c":1}', /lone surrogate/);
    assert.equal(parseJson('"\\ud83c\\udfc6"'), "🏆");
  });

  it("holds no number that only an infinity could stand for", () => {
    refuses("1e400", /number beyond/);
    refuses('{"a":[0,-1e309]}', /number beyond/);
    assert.deepEqual(parseJson("[1e308,-1e308,1e-400]"), [1e308, -1e308, 0]);
  });
});
