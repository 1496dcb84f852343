/** JSON Merge Patch by the examples of RFC 7396, and the bounds of what profiles accept. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError, type FieldError } from "../../../../lib/base/errors/mod.ts";
import {
  audienceSettingsErrors,
  type CustomFields,
  customFieldsOf,
} from "../../../../lib/fans/audience/profile/custom_fields.ts";
import { mergePatch, patchErrors, preferencesError } from "../../../../lib/fans/audience/profile/patch.ts";
import { checkUpdate } from "../../../../lib/fans/audience/profile/updates.ts";
import { compileConfig } from "../../../../lib/fans/loyalty/mod.ts";

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

const pointersOf = (errors: readonly FieldError[]): string[] => errors.map(({ pointer }) => pointer);
const text = (length: number): string => "x".repeat(length);

function nested(depth: number): unknown {
  return depth === 0 ? 1 : { a: nested(depth - 1) };
}

describe("a merge patch", () => {
  it("gives the results of the RFC's examples and changes neither argument", () => {
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
  it("are accepted up to each bound and refused beyond it", () => {
    const members = (count: number): unknown =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, 1]));
    const sized = (length: number): unknown => ({ a: text(length - '{"a":""}'.length) });
    const cases: readonly (readonly [good: unknown, bad: unknown])[] = [
      [nested(8), nested(9)],
      [members(512), members(513)],
      [sized(16_384), sized(16_385)],
      [{ [text(64)]: 1 }, { [text(65)]: 1 }],
    ];
    for (const [good, bad] of cases) {
      assert.equal(preferencesError(good), null);
      assert.ok(preferencesError(bad)?.pointer.startsWith("/preferences"));
    }
  });

  it("have no names that objects inherit", () => {
    for (const name of ["__proto__", "constructor", "prototype"]) {
      assert.ok(preferencesError(JSON.parse(`{"a":{"${name}":1}}`)) !== null, name);
    }
  });
});

describe("custom fields", () => {
  const fields = customFieldsOf({
    audience: {
      customFields: {
        shirt: { type: "string", enum: ["S", "M"] },
        nick: { type: "string", maxLength: 3 },
        note: { type: "string" },
        goals: { type: "number" },
        member: { type: "boolean", readOnly: true },
      },
    },
  });
  const errorsOf = (customFields: unknown, isBackEnd = false): readonly string[] =>
    pointersOf(patchErrors({ customFields }, { fields, isBackEnd }));

  it("have the type, length and values that the organisation declares", () => {
    assert.deepEqual(errorsOf({ shirt: "M", nick: "abc", goals: 1.5, note: text(1_024) }), []);
    assert.deepEqual(errorsOf({ shirt: null, nick: null, goals: null }), []);
    assert.deepEqual(errorsOf({ shirt: "L", nick: "abcd", goals: "1", other: 1, note: text(1_025) }), [
      "/customFields/shirt",
      "/customFields/nick",
      "/customFields/goals",
      "/customFields/other",
      "/customFields/note",
    ]);
  });

  it("that are read-only can be set and removed by back ends only", () => {
    assert.deepEqual(errorsOf({ member: true }), ["/customFields/member"]);
    assert.deepEqual(errorsOf({ member: null }), ["/customFields/member"]);
    assert.deepEqual(errorsOf(null), ["/customFields"]);
    assert.deepEqual(errorsOf({ member: true }, true), []);
    assert.deepEqual(errorsOf(null, true), []);
  });

  it("that are lists have different short texts, from back ends only", () => {
    const lists = customFieldsOf({
      audience: {
        customFields: { segments: { type: "list" }, tags: { type: "list", enum: ["a", "b"], maxLength: 1 } },
      },
    });
    const isValid = (customFields: object, isBackEnd = true): boolean =>
      patchErrors({ customFields }, { fields: lists, isBackEnd }).length === 0;
    const many = (count: number): string[] => Array.from({ length: count }, (_, n) => `s${n}`);
    for (const segments of [[], many(64), [text(64)], null]) assert.ok(isValid({ segments }));
    for (const segments of [many(65), [text(65)], ["a", "a"], [1], [["a"]], "a", { a: 1 }])
      assert.ok(!isValid({ segments }), JSON.stringify(segments));
    assert.ok(isValid({ tags: ["b", "a"] }));
    assert.ok(!isValid({ tags: ["c"] }));
    assert.ok(!isValid({ segments: ["vip"] }, false));
    assert.ok(!isValid({ segments: null }, false));
    assert.equal(patchErrors({ customFields: null }, { fields: lists, isBackEnd: false }).length, 1);
  });

  it("have no index where they are lists", () => {
    const errors = audienceSettingsErrors(
      {
        audience: {
          customFields: { segments: { type: "list" }, shirt: { type: "string" } },
          indexes: ["customFields.shirt", "customFields.segments"],
        },
      },
      "",
    );
    assert.deepEqual(pointersOf(errors), ["/audience/indexes/1"]);
  });

  it("are none if the settings declare none or are invalid", () => {
    assert.equal(customFieldsOf(undefined).size, 0);
    assert.equal(customFieldsOf({}).size, 0);
    assert.equal(customFieldsOf({ audience: { customFields: { a: { type: "date" } } } }).size, 0);
    assert.equal(customFieldsOf({ audience: { customFields: { constructor: { type: "string" } } } }).size, 0);
  });
});

describe("an update of a profile", () => {
  const ids = Array.from({ length: 51 }, (_, n) => `m${n}`);
  const range = { minimumValue: -5_000_000_000, maximumValue: 5_000_000_000 };
  const metrics = ids.map(id => ({ id, title: id, media: "", defaultValue: 0, ...range }));
  const config = compileConfig({ metrics });
  const fields: CustomFields = new Map();
  function errorsOf(update: object): readonly string[] {
    try {
      checkUpdate({ ...update }, { fields, metrics: config.metrics });
      return [];
    } catch (error) {
      assert.ok(error instanceof AppError);
      return pointersOf(error.fields ?? []);
    }
  }
  const changed = (change: object, count = 1): object => ({
    metrics: Object.fromEntries(ids.slice(0, count).map(id => [id, change])),
  });
  const cases: readonly (readonly [title: string, most: object, beyond: object, pointer: string])[] = [
    ["characters of a display name", { displayName: text(100) }, { displayName: text(101) }, "/displayName"],
    ["metrics", changed({ op: "incr", value: 1 }, 50), changed({ op: "incr", value: 1 }, 51), "/metrics"],
    ...[1, -1].map(
      sign =>
        [
          `points that it ${sign > 0 ? "adds" : "takes"}`,
          changed({ op: "incr", value: sign * 1_000_000_000 }),
          changed({ op: "incr", value: sign * 1_000_000_001 }),
          "/metrics/m0/value",
        ] as const,
    ),
    [
      "value of a metric",
      changed({ op: "set", value: range.maximumValue }),
      changed({ op: "set", value: range.maximumValue + 1 }),
      "/metrics/m0/value",
    ],
  ];
  for (const [title, most, beyond, pointer] of cases) {
    it(`is accepted up to the bound on the ${title}, and refused beyond`, () => {
      assert.deepEqual(errorsOf(most), []);
      assert.deepEqual(errorsOf(beyond), [pointer]);
    });
  }
});

describe("the audience settings of an organisation", () => {
  const fields = (count: number, field: object = { type: "string" }): object => ({
    customFields: Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, field])),
  });
  const choices = (count: number): object =>
    fields(1, { type: "number", enum: Array.from({ length: count }, (_, n) => n) });
  const indexes = (count: number, length = 10): object => ({
    indexes: Array.from({ length: count }, (_, n) => `metrics.${n}`.padEnd(length, "m")),
  });
  const cases: readonly (readonly [title: string, most: object, beyond: object, pointer: string])[] = [
    ["custom fields", fields(64), fields(65), "/customFields"],
    ["values of an enum", choices(100), choices(101), "/customFields/f0/enum"],
    [
      "characters of a custom field",
      fields(1, { type: "string", maxLength: 1_024 }),
      fields(1, { type: "string", maxLength: 1_025 }),
      "/customFields/f0/maxLength",
    ],
    ["characters of an index", indexes(1, 128), indexes(1, 129), "/indexes/0"],
    ["indexes", indexes(8), indexes(9), "/indexes"],
  ];
  for (const [title, most, beyond, pointer] of cases) {
    it(`are accepted up to the bound on ${title}, and refused beyond`, () => {
      assert.deepEqual(audienceSettingsErrors({ audience: most }, ""), []);
      assert.deepEqual(pointersOf(audienceSettingsErrors({ audience: beyond }, "")), [`/audience${pointer}`]);
    });
  }
});
