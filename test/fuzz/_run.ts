/** Runs a parser on random texts, and says which broke a promise. */

import { deepEqual } from "node:assert";
import assert from "node:assert/strict";
import { createRandom } from "../../adapters/conformance/random.ts";
import { longTexts, mutate } from "./_mutate.ts";
import { isInputError, type Target } from "./_targets.ts";

/** Runs a parser on one text. @throws {Error} It threw an unexpected error, or what it parsed is not what it prints. */
export async function checkText(target: Target, text: string): Promise<void> {
  const { parse, isExpected = isInputError, print } = target;
  const shown = `${target.name}: ${JSON.stringify(text).slice(0, 500)}`;
  let value: unknown;
  try {
    value = await parse(text);
  } catch (error) {
    assert.ok(isExpected(error), `${shown} threw ${error instanceof Error ? (error.stack ?? error) : error}`);
    return;
  }
  if (print === undefined || value === undefined) return;
  const printed = print(value as never);
  const again = await Promise.resolve(printed).then(parse).catch(String);
  // Loosely, as JSON has one zero.
  deepEqual(again, value, `${shown} is printed as ${printed.slice(0, 500)}`);
}

/** Runs a parser on texts that follow from a seed. */
export async function fuzz(target: Target, seed: number, cases: number): Promise<void> {
  const random = createRandom(seed);
  const seeds = [...target.seeds, ...(target.kept ?? [])];
  for (let index = 0; index < cases; index++) {
    await checkText(target, mutate(random, seeds)).catch((error: unknown) => {
      throw new Error(`Seed ${seed}, case ${index}: ${error instanceof Error ? error.message : error}`);
    });
  }
}

/** Lengths of the texts whose costs are compared. */
const [shortLength, longLength] = [1_000, 10_000];
/** Cost of a long text in ms below which nothing is compared. */
const costMin = 12;
/** Most times that a text of ten times the length may cost: the square would be 100 times. */
const growthMax = 40;

/** Checks that costs grow no faster than lengths, roughly. @throws {Error} A text takes too long. */
export async function checkGrowth(target: Target, seedsMax: number): Promise<void> {
  for (const textOf of longTexts(target.seeds.slice(0, seedsMax))) {
    let cost = await costOf(target, textOf(longLength));
    if (cost < costMin) continue;
    let least = await costOf(target, textOf(shortLength));
    const isTooLong = (): boolean => cost >= costMin && cost / Math.max(least, 0.1) >= growthMax;
    // Repeated, as other work of the process, such as its collector, may count in.
    for (let run = 0; run < 19 && isTooLong(); run++) {
      cost = Math.min(cost, await costOf(target, textOf(longLength)));
      least = Math.min(least, await costOf(target, textOf(shortLength)));
    }
    const shown = JSON.stringify(textOf(60));
    assert.ok(!isTooLong(), `${target.name}: ${cost} ms for a long ${shown}`);
  }
}

/** Returns the processor time of a parse, in ms. */
async function costOf({ parse }: Target, text: string): Promise<number> {
  const before = process.cpuUsage();
  try {
    await parse(text);
  } catch {
    // Errors are checked elsewhere.
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
