/**
 * Multipliers of the amounts that rules give, at their times. Of several at one time the highest counts.
 *
 * @module
 */

import * as v from "valibot";
import { roundDecimal } from "../../../base/text/mod.ts";
import type { Immutable } from "../../../http/mod.ts";
import { idField } from "./fields.ts";
import { compileTimes, ruleTimeFields } from "./rule_times.ts";

const factorMax = 100;

export const MultiplierSchema = v.strictObject({
  id: idField,
  factor: v.pipe(v.number(), v.minValue(1), v.maxValue(factorMax)),
  /** Multiplies what rules with this tag give. @default all rules */
  tag: v.exactOptional(idField),
  ...ruleTimeFields,
});

/** A multiplier of what rules give. */
export type Multiplier = Immutable<v.InferOutput<typeof MultiplierSchema>>;

/** Compiles the multipliers of a rule to their factor at a time (Unix ms); null where the rule has none. */
export function compileFactor(
  multipliers: readonly Multiplier[],
  tags: readonly string[],
  timeZone: string,
): ((at: number) => number) | null {
  const own = multipliers
    .filter(({ tag }) => tag === undefined || tags.includes(tag))
    .map(multiplier => ({ factor: multiplier.factor, timeFault: compileTimes(multiplier, timeZone) }));
  if (own.length === 0) return null;
  return at =>
    Math.max(1, ...own.map(({ factor, timeFault }) => ((timeFault?.(at) ?? null) === null ? factor : 1)));
}

/** Multiplies the whole amount that a rule gives. What it takes stays. */
export function multiplied(amount: number, factor: number): number {
  return factor === 1 || amount <= 0 ? amount : roundDecimal(Math.trunc(amount) * factor);
}
