/** The bounds of bulk requests: each bound is accepted, and one more is refused with its pointer. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError, type FieldError } from "../../../../lib/base/errors/mod.ts";
import { checkActions } from "../../../../lib/fans/audience/actions/check_actions.ts";
import { checkRewards } from "../../../../lib/fans/audience/actions/rewards.ts";
import { NamedProjects } from "../../../../lib/fans/audience/batch/items.ts";
import { compileConfig } from "../../../../lib/fans/loyalty/mod.ts";

const now = Date.parse("2026-06-01T12:00:00Z");
const action = { userId: "u", action: "predict" };
const reward = { userId: "u", type: "metric", metricId: "points", amount: 1 };
const points = { id: "points", title: "Points", media: "", defaultValue: 0, minimumValue: 0 };
const config = compileConfig({ metrics: [{ ...points, maximumValue: 10_000_000_000 }] });

const text = (length: number): string => "x".repeat(length);
const named = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`name${index}`, index]));
const timeAt = (ms: number): string => new Date(ms).toISOString();
/** An object whose JSON has so many characters. */
const sized = (characters: number): object => ({ a: text(characters - '{"a":""}'.length) });

/** Returns the errors of a check; none if it accepts. */
function errorsOf(check: () => unknown): readonly FieldError[] {
  try {
    check();
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, "validation_failed");
    return error.fields ?? [];
  }
}

const projects = new NamedProjects();
const actionErrors = (body: unknown): readonly FieldError[] =>
  errorsOf(() => checkActions(body, { now, userId: null, projects }));
const rewardErrors = (body: unknown): readonly FieldError[] =>
  errorsOf(() => checkRewards(body, { config, now, projects }));
const pointersOf = (errors: readonly FieldError[]): string[] => errors.map(({ pointer }) => pointer);

type Bound = [member: string, most: object, beyond: object, pointer: string];

describe("an action of a bulk request", () => {
  const bounds: Bound[] = [
    ["user", { userId: text(128) }, { userId: text(128 + 1) }, "/userId"],
    ["id", { actionId: text(128) }, { actionId: text(128 + 1) }, "/actionId"],
    ["name", { action: text(64) }, { action: text(64 + 1) }, "/action"],
    [
      "past",
      { timestamp: timeAt(now - 7 * 86_400_000) },
      { timestamp: timeAt(now - 7 * 86_400_000 - 1) },
      "/timestamp",
    ],
    ["future", { timestamp: timeAt(now + 60_000) }, { timestamp: timeAt(now + 60_000 + 1) }, "/timestamp"],
    ["metadata", { metadata: sized(4_096) }, { metadata: sized(4_096 + 1) }, "/metadata"],
    ["data", { data: named(64) }, { data: named(64 + 1) }, "/data"],
    ["text of its data", { data: { a: text(1_024) } }, { data: { a: text(1_024 + 1) } }, "/data/a"],
    [
      "name in its data",
      { data: { [text(64)]: 1 } },
      { data: { [text(64 + 1)]: 1 } },
      `/data/${text(64 + 1)}`,
    ],
  ];
  for (const [member, most, beyond, pointer] of bounds) {
    it(`is accepted up to the bound of its ${member}, and refused beyond`, () => {
      assert.deepEqual(actionErrors({ ...action, ...most }), []);
      assert.deepEqual(pointersOf(actionErrors({ ...action, ...beyond })), [pointer]);
    });
  }

  it("counts as of now if its clock is ahead", () => {
    const [checked] = checkActions(
      { ...action, timestamp: timeAt(now + 60_000) },
      { now, userId: null, projects },
    );
    assert.equal(checked?.at, now);
  });
});

describe("a reward of a bulk request", () => {
  const title = { title: "t" };
  const bounds: Bound[] = [
    ["id", { rewardId: text(128) }, { rewardId: text(128 + 1) }, "/rewardId"],
    ["amount", { amount: 1_000_000_000 }, { amount: 1_000_000_000 + 1 }, "/amount"],
    ["reason", { reason: text(256) }, { reason: text(256 + 1) }, "/reason"],
    ["title", { notify: { title: text(256) } }, { notify: { title: text(256 + 1) } }, "/notify/title"],
    [
      "message",
      { notify: { ...title, message: text(1_024) } },
      { notify: { ...title, message: text(1_024 + 1) } },
      "/notify/message",
    ],
  ];
  for (const [member, most, beyond, pointer] of bounds) {
    it(`is accepted up to the bound of its ${member}, and refused beyond`, () => {
      assert.deepEqual(rewardErrors({ ...reward, ...most }), []);
      assert.deepEqual(pointersOf(rewardErrors({ ...reward, ...beyond })), [pointer]);
    });
  }
});

describe("a bulk request", () => {
  it("has 1 to 1,000 items", () => {
    const items = (count: number): object[] => Array.from({ length: count }, () => action);
    assert.deepEqual(actionErrors({ actions: items(1_000) }), []);
    assert.deepEqual(pointersOf(actionErrors({ actions: items(1_000 + 1) })), ["/actions"]);
    assert.deepEqual(pointersOf(actionErrors({ actions: [] })), ["/actions"]);
  });

  it("is answered with at most 1,000 errors", () => {
    const invalid = Array.from({ length: 1_000 }, () => ({ userId: "", action: "" }));
    assert.equal(actionErrors(invalid).length, 1_000);
  });
});
