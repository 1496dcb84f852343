/** What profiles and custom fields hold at most: the bound itself is accepted, and what is beyond it refused with its place. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  audienceFaults,
  type CustomField,
  customChoicesMax,
  customFieldsMax,
  customTextCharactersMax,
  customValueFault,
} from "../../../lib/audience/profile/custom_fields.ts";
import { displayNameCharactersMax } from "../../../lib/audience/profile/patch.ts";
import { checkUpdate, metricChangeMax, metricChangesMax } from "../../../lib/audience/profile/updates.ts";
import { AppError, type FieldError } from "../../../lib/errors/mod.ts";
import { indexNameCharactersMax, metricIndexesMax } from "../../../lib/users/mod.ts";

const bounds = { minimumValue: -5 * metricChangeMax, maximumValue: 5 * metricChangeMax };
const names = Array.from({ length: metricChangesMax + 1 }, (_, n) => `m${n}`);
const text: CustomField = { type: "string", readOnly: false };
const rules = { fields: new Map([["note", text]]), metrics: new Map(names.map(name => [name, bounds])) };

const pointersOf = (faults: readonly FieldError[]): string[] => faults.map(({ pointer }) => pointer);

/** Where an update is wrong; nowhere where it is accepted. */
function updateFaults(update: Readonly<Record<string, unknown>>): readonly string[] {
  try {
    checkUpdate(update, rules);
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError);
    return pointersOf(error.fields ?? []);
  }
}

const incremented = (count: number): object => ({
  metrics: Object.fromEntries(names.slice(0, count).map(name => [name, { op: "incr", value: 1 }])),
});
const incrementedBy = (value: number): object => ({ metrics: { m0: { op: "incr", value } } });
const noted = (length: number): object => ({ customFields: { note: "n".repeat(length) } });

describe("an update of a profile", () => {
  const table: readonly (readonly [what: string, most: object, beyond: object, pointer: string])[] = [
    [
      "characters of a display name",
      { displayName: "n".repeat(displayNameCharactersMax) },
      { displayName: "n".repeat(displayNameCharactersMax + 1) },
      "/displayName",
    ],
    ["metrics", incremented(metricChangesMax), incremented(metricChangesMax + 1), "/metrics"],
    [
      "what a metric gains",
      incrementedBy(metricChangeMax),
      incrementedBy(metricChangeMax + 1),
      "/metrics/m0/value",
    ],
    [
      "what a metric loses",
      incrementedBy(-metricChangeMax),
      incrementedBy(-metricChangeMax - 1),
      "/metrics/m0/value",
    ],
    [
      "characters of a custom field",
      noted(customTextCharactersMax),
      noted(customTextCharactersMax + 1),
      "/customFields/note",
    ],
  ];
  for (const [what, most, beyond, pointer] of table) {
    it(`is accepted up to the bound on ${what}, and refused beyond`, () => {
      assert.deepEqual(updateFaults({ ...most }), []);
      assert.deepEqual(updateFaults({ ...beyond }), [pointer]);
    });
  }

  it("sets a metric to whatever is within the bounds of the metric", () => {
    const set = (value: number): object => ({ metrics: { m0: { op: "set", value } } });
    assert.deepEqual(updateFaults({ ...set(bounds.maximumValue) }), []);
    assert.deepEqual(updateFaults({ ...set(bounds.maximumValue + 1) }), ["/metrics/m0/value"]);
  });
});

describe("what an organisation declares of its audience", () => {
  const fields = (count: number, field: object = text): object => ({
    customFields: Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, field])),
  });
  const choices = (count: number): object =>
    fields(1, { type: "number", enum: Array.from({ length: count }, (_, n) => n) });
  const longest = (maxLength: number): object => fields(1, { type: "string", maxLength });
  const index = (length: number): object => ({ indexes: ["metrics.".padEnd(length, "m")] });
  const indexes = (count: number): object => ({
    indexes: names.slice(0, count).map(name => `metrics.${name}`),
  });

  const table: readonly (readonly [what: string, most: object, beyond: object, pointer: string])[] = [
    ["custom fields", fields(customFieldsMax), fields(customFieldsMax + 1), "/customFields"],
    ["values of an enum", choices(customChoicesMax), choices(customChoicesMax + 1), "/customFields/f0/enum"],
    [
      "characters of a custom field",
      longest(customTextCharactersMax),
      longest(customTextCharactersMax + 1),
      "/customFields/f0/maxLength",
    ],
    [
      "characters of an index",
      index(indexNameCharactersMax),
      index(indexNameCharactersMax + 1),
      "/indexes/0",
    ],
    ["indexes", indexes(metricIndexesMax), indexes(metricIndexesMax + 1), "/indexes"],
  ];
  for (const [what, most, beyond, pointer] of table) {
    it(`is accepted up to the bound on ${what}, and refused beyond`, () => {
      assert.deepEqual(audienceFaults({ audience: most }, ""), []);
      assert.deepEqual(pointersOf(audienceFaults({ audience: beyond }, "")), [`/audience${pointer}`]);
    });
  }

  it("may make the bound of a text lower", () => {
    const short = new Map([["note", { ...text, maxLength: 3 }]]);
    assert.equal(customValueFault(short, "note", "abc"), null);
    assert.equal(customValueFault(short, "note", "abcd"), "Expected at most 3 characters");
  });
});
