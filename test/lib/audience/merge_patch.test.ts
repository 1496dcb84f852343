/** JSON Merge Patch, by the examples of RFC 7396, and what profiles accept of it. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  customFieldsOf,
  memberNameCharactersMax,
  preferencesCharactersMax,
  preferencesDepthMax,
  preferencesFault,
  preferencesPartsMax,
} from "../../../lib/audience/mod.ts";
import { mergePatch } from "../../../lib/audience/profile/merge_patch.ts";
import { patchFaults } from "../../../lib/audience/profile/patch.ts";

/** Appendix A of the RFC. */
const examples: readonly (readonly [target: unknown, patch: unknown, result: unknown])[] = [
  [{ a: "b" }, { a: "c" }, { a: "c" }],
  [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
  [{ a: "b" }, { a: null }, {}],
  [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
  [{ a: ["b"] }, { a: "c" }, { a: "c" }],
  [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
  [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
  [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
  [
    ["a", "b"],
    ["c", "d"],
    ["c", "d"],
  ],
  [{ a: "b" }, ["c"], ["c"]],
  [{ a: "foo" }, null, null],
  [{ a: "foo" }, "bar", "bar"],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: "b", c: null }, { a: "b" }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
];

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) };
}

describe("a merge patch", () => {
  it("does what the examples of the RFC show, and changes neither argument", () => {
    for (const [target, patch, result] of examples) {
      const before = JSON.stringify([target, patch]);
      assert.deepEqual(mergePatch(target, patch), result);
      assert.equal(JSON.stringify([target, patch]), before);
    }
  });

  it("changes nothing when it is applied again", () => {
    for (const [target, patch] of examples) {
      const once = mergePatch(target, patch);
      assert.deepEqual(mergePatch(once, patch), once);
    }
  });
});

describe("preferences", () => {
  it("are bounded in depth, parts, names and size, at exactly the bound", () => {
    const parts = (count: number): unknown =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, 1]));
    const text = (length: number): unknown => ({ a: "x".repeat(length - '{"a":""}'.length) });
    const name = (length: number): unknown => ({ ["n".repeat(length)]: 1 });
    const cases: readonly (readonly [good: unknown, bad: unknown])[] = [
      [nested(preferencesDepthMax), nested(preferencesDepthMax + 1)],
      [parts(preferencesPartsMax), parts(preferencesPartsMax + 1)],
      [text(preferencesCharactersMax), text(preferencesCharactersMax + 1)],
      [name(memberNameCharactersMax), name(memberNameCharactersMax + 1)],
    ];
    for (const [good, bad] of cases) {
      assert.equal(preferencesFault(good), null);
      assert.ok(preferencesFault(bad)?.pointer.startsWith("/preferences"));
    }
  });

  it("have no names that objects inherit", () => {
    for (const name of ["__proto__", "constructor", "prototype"]) {
      assert.ok(preferencesFault(JSON.parse(`{"a":{"${name}":1}}`)) !== null, name);
    }
  });
});

describe("custom fields", () => {
  const fields = customFieldsOf({
    audience: {
      customFields: {
        shirt: { type: "string", enum: ["S", "M"] },
        nick: { type: "string", maxLength: 3 },
        goals: { type: "number" },
        member: { type: "boolean", readOnly: true },
      },
    },
  });
  const faultsOf = (customFields: unknown, isBackEnd = false): readonly string[] =>
    patchFaults({ customFields }, { fields, isBackEnd }).map(({ pointer }) => pointer);

  it("have the type, length and values that the organisation says", () => {
    assert.deepEqual(faultsOf({ shirt: "M", nick: "abc", goals: 1.5 }), []);
    assert.deepEqual(faultsOf({ shirt: null, nick: null, goals: null }), []);
    assert.deepEqual(faultsOf({ shirt: "L", nick: "abcd", goals: "1", other: 1 }), [
      "/customFields/shirt",
      "/customFields/nick",
      "/customFields/goals",
      "/customFields/other",
    ]);
  });

  it("that are read only are set by back ends alone, and cannot be wiped away by others", () => {
    assert.deepEqual(faultsOf({ member: true }), ["/customFields/member"]);
    assert.deepEqual(faultsOf({ member: null }), ["/customFields/member"]);
    assert.deepEqual(faultsOf(null), ["/customFields"]);
    assert.deepEqual(faultsOf({ member: true }, true), []);
    assert.deepEqual(faultsOf(null, true), []);
  });

  it("are none where the settings say nothing, or nothing valid", () => {
    assert.equal(customFieldsOf(undefined).size, 0);
    assert.equal(customFieldsOf({}).size, 0);
    assert.equal(customFieldsOf({ audience: { customFields: { a: { type: "date" } } } }).size, 0);
    assert.equal(customFieldsOf({ audience: { customFields: { constructor: { type: "string" } } } }).size, 0);
  });
});
