/** What a bulk request may hold at most: the bound itself is accepted, and what is one beyond it refused with its place. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  actionAgeMsMax,
  actionAheadMsMax,
  actionCharactersMax,
  checkActions,
  metadataCharactersMax,
} from "../../../lib/audience/actions/check_actions.ts";
import {
  amountMax,
  checkRewards,
  notifyMessageCharactersMax,
  notifyTitleCharactersMax,
  reasonCharactersMax,
} from "../../../lib/audience/actions/check_rewards.ts";
import { bulkFaultsMax, bulkItemsMax, idCharactersMax } from "../../../lib/audience/batch/items.ts";
import {
  dataNameCharactersMax,
  dataPropertiesMax,
  dataTextCharactersMax,
} from "../../../lib/audience/batch/properties.ts";
import { AppError, type FieldError } from "../../../lib/errors/mod.ts";

const now = Date.parse("2026-06-01T12:00:00Z");
const action = { userId: "u", action: "predict" };
const reward = { userId: "u", type: "metric", metricId: "points", amount: 1 };
const catalogue = {
  metrics: new Map([["points", { lots: {} }]]),
  coupons: new Set<string>(),
  config: { inventory: [] },
};

const text = (length: number): string => "x".repeat(length);
const named = (count: number): Record<string, number> =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`name${index}`, index]));
const timeAt = (ms: number): string => new Date(ms).toISOString();
/** An object whose JSON has so many characters. */
const sized = (characters: number): object => ({ a: text(characters - '{"a":""}'.length) });

/** Where a check finds faults; nowhere where it accepts. */
function faultsOf(check: () => unknown): readonly FieldError[] {
  try {
    check();
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, "validation_failed");
    return error.fields ?? [];
  }
}

const actionFaults = (body: unknown): readonly FieldError[] =>
  faultsOf(() => checkActions(body, { now, userId: null }));
const rewardFaults = (body: unknown): readonly FieldError[] =>
  faultsOf(() => checkRewards(body, { catalogue, now }));
const pointersOf = (faults: readonly FieldError[]): string[] => faults.map(({ pointer }) => pointer);

type Bound = [what: string, most: object, beyond: object, pointer: string];

describe("an action of a bulk request", () => {
  const bounds: Bound[] = [
    ["user", { userId: text(idCharactersMax) }, { userId: text(idCharactersMax + 1) }, "/userId"],
    ["id", { actionId: text(idCharactersMax) }, { actionId: text(idCharactersMax + 1) }, "/actionId"],
    ["name", { action: text(actionCharactersMax) }, { action: text(actionCharactersMax + 1) }, "/action"],
    [
      "past",
      { timestamp: timeAt(now - actionAgeMsMax) },
      { timestamp: timeAt(now - actionAgeMsMax - 1) },
      "/timestamp",
    ],
    [
      "future",
      { timestamp: timeAt(now + actionAheadMsMax) },
      { timestamp: timeAt(now + actionAheadMsMax + 1) },
      "/timestamp",
    ],
    [
      "metadata",
      { metadata: sized(metadataCharactersMax) },
      { metadata: sized(metadataCharactersMax + 1) },
      "/metadata",
    ],
    ["data", { data: named(dataPropertiesMax) }, { data: named(dataPropertiesMax + 1) }, "/data"],
    [
      "text of its data",
      { data: { a: text(dataTextCharactersMax) } },
      { data: { a: text(dataTextCharactersMax + 1) } },
      "/data/a",
    ],
    [
      "name in its data",
      { data: { [text(dataNameCharactersMax)]: 1 } },
      { data: { [text(dataNameCharactersMax + 1)]: 1 } },
      `/data/${text(dataNameCharactersMax + 1)}`,
    ],
  ];
  for (const [what, most, beyond, pointer] of bounds) {
    it(`is accepted up to the bound of its ${what}, and refused beyond`, () => {
      assert.deepEqual(actionFaults({ ...action, ...most }), []);
      assert.deepEqual(pointersOf(actionFaults({ ...action, ...beyond })), [pointer]);
    });
  }

  it("counts as of now where its clock is ahead", () => {
    const [checked] = checkActions(
      { ...action, timestamp: timeAt(now + actionAheadMsMax) },
      { now, userId: null },
    );
    assert.equal(checked?.at, now);
  });
});

describe("a reward of a bulk request", () => {
  const title = { title: "t" };
  const bounds: Bound[] = [
    ["id", { rewardId: text(idCharactersMax) }, { rewardId: text(idCharactersMax + 1) }, "/rewardId"],
    ["amount", { amount: amountMax }, { amount: amountMax + 1 }, "/amount"],
    ["reason", { reason: text(reasonCharactersMax) }, { reason: text(reasonCharactersMax + 1) }, "/reason"],
    [
      "title",
      { notify: { title: text(notifyTitleCharactersMax) } },
      { notify: { title: text(notifyTitleCharactersMax + 1) } },
      "/notify",
    ],
    [
      "message",
      { notify: { ...title, message: text(notifyMessageCharactersMax) } },
      { notify: { ...title, message: text(notifyMessageCharactersMax + 1) } },
      "/notify",
    ],
  ];
  for (const [what, most, beyond, pointer] of bounds) {
    it(`is accepted up to the bound of its ${what}, and refused beyond`, () => {
      assert.deepEqual(rewardFaults({ ...reward, ...most }), []);
      assert.deepEqual(pointersOf(rewardFaults({ ...reward, ...beyond })), [pointer]);
    });
  }
});

describe("a bulk request", () => {
  it("has so many items and no more", () => {
    const items = (count: number): object[] => Array.from({ length: count }, () => action);
    assert.deepEqual(actionFaults({ actions: items(bulkItemsMax) }), []);
    assert.deepEqual(pointersOf(actionFaults({ actions: items(bulkItemsMax + 1) })), ["/actions"]);
    assert.deepEqual(pointersOf(actionFaults({ actions: [] })), ["/actions"]);
  });

  it("is told of so many faults and no more", () => {
    const faulty = Array.from({ length: bulkItemsMax }, () => ({ userId: "", action: "" }));
    assert.equal(actionFaults(faulty).length, bulkFaultsMax);
  });
});
