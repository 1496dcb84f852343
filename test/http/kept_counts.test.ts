/** Many small counts of one fan together stay within the record of the fan. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { storageLimits } from "../../lib/storage/mod.ts";
import { type Fan, ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const minuteMs = 60_000;
const guess = { action: "guess" };
const effects = [{ type: "metric", metricId: "points", metricQuantity: 1 }];
const names = Array.from({ length: 50 }, (_, index) => `p${index}`);
const numbers = (length: number): readonly number[] => Array.from({ length }, (_, index) => index);
const idOf = (n: number): string => `0e000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

/** Opens a platform with one action of fifty values and other parts of a configuration. */
async function withFan(
  open: Parameters<Parameters<typeof describeOnStores>[1]>[0],
  parts: object,
  use: (world: TestPlatform, fan: Fan) => Promise<void>,
): Promise<void> {
  const data = Object.fromEntries(names.map(name => [name, "string"]));
  const actions = [{ name: "guess", clientReportable: true, data }];
  const document = { ...loyalty, actions, rules: [], challenges: [], ...parts };
  const world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
  try {
    await use(world, await world.fan("Sam"));
  } finally {
    await world.dispose();
  }
}

async function points(fan: Fan): Promise<number> {
  return Number((await fan.profile()).metrics.points ?? 0);
}

/** Reports an action with a value in all its properties. */
async function guesses(fan: Fan, value: number): Promise<void> {
  const data = Object.fromEntries(names.map(name => [name, String(value)]));
  const { status, text } = await fan.act("guess", data);
  assert.equal(status, 200, text);
}

async function recordBytes({ store }: TestPlatform, { userId }: Fan): Promise<number> {
  const partition = `o:${ids.organisation}:loyalty:${userId}`;
  const [record] = await store.read(partition, [{ type: "record", key: "loyalty" }]);
  return Buffer.byteLength(record?.value ?? "");
}

async function assertSmall(world: TestPlatform, fan: Fan): Promise<void> {
  const bytes = await recordBytes(world, fan);
  assert.ok(bytes < storageLimits.valueBytesMax / 2, String(bytes));
}

describeOnStores("the counts of a fan", open => {
  it("forget the values used first when there are too many under the limits of all rules", () => {
    const rules = numbers(64).map(n => ({
      id: `rule-${n}`,
      trigger: guess,
      effects,
      limits: names.slice(0, 25).map(name => ({ per: "user", by: { var: `data.${name}` }, max: 1 })),
    }));
    return withFan(open, { rules }, async (world, fan) => {
      for (const value of numbers(50)) await guesses(fan, value);
      for (const recent of [49, 48, 47, 46]) await guesses(fan, recent);
      assert.equal(await points(fan), 50 * 64);
      await guesses(fan, 0);
      assert.equal(await points(fan), 51 * 64);
      await assertSmall(world, fan);
    });
  });

  it("keep the limits of windows of minutes, and fewer steps for late actions", () => {
    const limit = (last: number): object => ({ per: "user", max: last, window: { last, unit: "minute" } });
    const rules = numbers(200).map(n => ({
      id: `rule-${n}`,
      trigger: guess,
      effects,
      limits: numbers(8).map(last => limit(last + 1)),
    }));
    return withFan(open, { rules }, async (world, fan) => {
      for (const value of numbers(50)) {
        await guesses(fan, value);
        world.clock.advance(minuteMs);
      }
      assert.equal(await points(fan), 50 * 200);
      await guesses(fan, 0);
      await guesses(fan, 0);
      assert.equal(await points(fan), 51 * 200);
      await assertSmall(world, fan);
    });
  });

  it("forget the values of distinct missions that were counted first, and no count", () => {
    const missions = (challenge: number): readonly object[] =>
      names.map((name, index) => ({
        id: idOf(challenge * 100 + index),
        title: "",
        rule: { ...guess, count: 1_000, distinct: { var: `data.${name}` } },
      }));
    const challenges = numbers(20).map(n => ({ id: idOf(n + 90_000), title: "", missions: missions(n) }));
    return withFan(open, { challenges }, async (world, fan) => {
      for (const value of [...numbers(80), 79, 78, 77]) await guesses(fan, value);
      const headers = { "x-platform-org-id": ids.organisation };
      const answer = await world.call("/v1/api/audience/challenges", { token: fan.token, headers });
      const counts = new Set<number>();
      for (const { missions: shown } of answer.json.data) {
        for (const { progress } of shown) counts.add(progress.current);
      }
      assert.deepEqual([...counts], [80]);
      await assertSmall(world, fan);
    });
  });
});
