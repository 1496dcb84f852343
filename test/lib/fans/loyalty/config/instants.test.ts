import assert from "node:assert/strict";
import { describe, it } from "node:test";
import * as v from "valibot";
import { SeasonScheduleSchema } from "../../../../../lib/fans/leaderboards/settings/board_settings.ts";
import { ChallengeSchema, ProductSchema } from "../../../../../lib/fans/loyalty/config/parts.ts";
import { MultiplierSchema, ruleTimeFields } from "../../../../../lib/fans/loyalty/config/rules.ts";

const ms = 1_760_000_000_000;

const expected =
  "Expected Unix seconds such as 1767225600, not milliseconds, or a time with its zone such as 2026-01-01T00:00:00Z";
const id = "0e000000-0000-4000-8000-000000000021";
const seconds = 1_767_225_600;

/** The parts of a configuration with a range of instants. */
const ranges: Readonly<Record<string, (from: unknown, to: unknown) => readonly [v.GenericSchema, unknown]>> =
  {
    rules: (from, to) => [v.object(ruleTimeFields), { time: { from, to } }],
    multipliers: (from, to) => [MultiplierSchema, { id: "double", factor: 2, time: { from, to } }],
    challenges: (from, to) => [
      ChallengeSchema,
      { id, title: "", missions: [{ id, title: "", rule: { action: "buy" } }], time: { from, to } },
    ],
    products: (from, to) => [
      ProductSchema,
      {
        id: "cap",
        title: "Cap",
        prices: [{ currency: "points", amount: 1 }],
        fulfilment: { type: "manual" },
        availableFrom: from,
        availableTo: to,
      },
    ],
    seasons: (startsAt, endsAt) => [
      SeasonScheduleSchema,
      { type: "explicit", list: [{ id: "spring", startsAt, endsAt }] },
    ],
  };

describe("an instant of the configuration", () => {
  for (const [part, rangeOf] of Object.entries(ranges)) {
    const parse = (from: unknown, to: unknown): { readonly output: string; readonly errors: string[] } => {
      const { output, issues = [] } = v.safeParse(...rangeOf(from, to));
      return { output: JSON.stringify(output), errors: issues.map(({ message }) => message) };
    };

    it(`is Unix seconds or a time with its zone in ${part}, which mean the same`, () => {
      const plain = parse(seconds, seconds + 3_600);
      assert.deepEqual(plain.errors, []);
      assert.deepEqual(parse("2026-01-01T00:00:00Z", "2026-01-01T02:00:00+01:00"), plain);
      assert.deepEqual(parse("2026-01-01T01:00+01:00", seconds + 3_600), plain);
    });

    it(`is nothing else in ${part}, and the message says what it is`, () => {
      const wrong = [
        ms,
        -1,
        0.5,
        "2026-01-01",
        "2026-01-01T00:00:00",
        "2026-02-30T00:00:00Z",
        "1767225600",
        "",
        null,
        [seconds],
      ];
      for (const value of wrong) {
        const { errors } = parse(value, seconds + 3_600);
        assert.ok(errors.length > 0 && errors.every(error => error === expected), `${value}: ${errors}`);
      }
    });

    it(`ends a range after its beginning in ${part}`, () => {
      for (const to of [seconds, seconds - 1, "2025-12-31T23:59:59Z"]) {
        assert.equal(parse(seconds, to).errors.length, 1, `${to}`);
      }
    });
  }
});
