import { ownValue } from "../config/scope.ts";
import type { UserState } from "../user/state.ts";

const differencesMax = 1_000;

/** A difference of two states. */
export interface Difference {
  /** JSON Pointer into the state. */
  readonly pointer: string;
  /** The value in the first state; null: none. */
  readonly a: unknown;
  /** The value in the second state; null: none. */
  readonly b: unknown;
}

/**
 * Compares metrics, lots, inventory, milestones, challenges, coupons and counters of two states. Orphaned counters, codes that
 * coupons were given later, and bookkeeping are left out. Lists at most 1,000 differences.
 */
export function compareStates(a: UserState, b: UserState): readonly Difference[] {
  const differences: Difference[] = [];
  compare(loyaltyOf(a), loyaltyOf(b), { pointer: "", differences });
  return differences;
}

function loyaltyOf({
  metrics,
  lots,
  inventory,
  milestones,
  challenges,
  coupons,
  counters,
  orphanedCounters,
}: UserState): unknown {
  const named = Object.entries(counters).filter(([key]) => !Object.hasOwn(orphanedCounters, key));
  const withoutCodes = coupons.map(({ code: _, ...coupon }) => coupon);
  return {
    metrics,
    lots,
    inventory,
    milestones,
    challenges,
    coupons: withoutCodes,
    counters: Object.fromEntries(named),
  };
}

function compare(
  a: unknown,
  b: unknown,
  found: { readonly pointer: string; readonly differences: Difference[] },
): void {
  const { pointer, differences } = found;
  if (Object.is(a, b) || differences.length >= differencesMax) return;
  if (isRecord(a) && isRecord(b) && Array.isArray(a) === Array.isArray(b)) {
    for (const key of new Set([...Object.keys(a), ...Object.keys(b)])) {
      const at = `${pointer}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
      compare(ownValue(a, key), ownValue(b, key), { pointer: at, differences });
    }
    return;
  }
  differences.push({ pointer, a: a ?? null, b: b ?? null });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
