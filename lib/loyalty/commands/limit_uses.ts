/**
 * Decisions that need uses of limited rules. Which rules fire is known only where the decision is made, so it is made first as if
 * every limit had room; what it needs is claimed, and it is made again.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Claimant, GlobalLimits, LimitClaim, LimitedRule } from "../limits/global_limits.ts";

/** What a decision may use. It is pure, and may be asked by a decision that is made several times. */
export interface LimitUses {
  /** Whether the rule must not fire because a limit is reached. The same for all firings of a rule in one decision. */
  readonly isReached: (ruleId: string) => boolean;
  /**
   * The limited rules that fired, where there is not a use for each firing: then the decision must write nothing and
   * answer these as `needs`. Empty where there is.
   *
   * @param fired Ids of all rules that fired, once for each time.
   */
  readonly missing: (fired: readonly string[]) => readonly string[];
}

/** Where there are no limits. */
export const noLimits: LimitUses = { isReached: () => false, missing: () => [] };

/** What a decision came to. */
export type LimitedAttempt<A> =
  /** Nothing was written as uses are missing: the rules that would have fired. */
  | { readonly needs: readonly string[] }
  | {
      readonly answer: A;
      /** Ids of the rules that fired, once for each time; null where the action had taken effect before. */
      readonly fired: readonly string[] | null;
    };

/** What decisions with limited rules need. */
export interface LimitUsesOptions {
  readonly limits: GlobalLimits;
  readonly claimant: Claimant;
  /** The limited rules, by id. */
  readonly rules: ReadonlyMap<string, LimitedRule>;
  /** Told of uses that could not be given back: they stay counted until their window ends. */
  readonly onLost: (error: unknown) => void;
}

/**
 * Makes a decision within the limits of its rules for all users.
 *
 * @param attempt Makes the decision with the uses that there are.
 * @throws What `attempt` throws.
 */
export async function decideWithinLimits<A>(
  options: LimitUsesOptions,
  attempt: (uses: LimitUses) => Promise<LimitedAttempt<A>>,
): Promise<A> {
  const held = new Map<string, LimitClaim>();
  const reached = new Set<string>();
  for (;;) {
    let result: LimitedAttempt<A>;
    try {
      result = await attempt(usesOf(options, { held, reached }));
    } catch (error) {
      // Where an action has an id, a decision elsewhere may rest on its claim.
      const isUnused = error instanceof AppError && error.code !== "outcome_unknown";
      if (isUnused && options.claimant.actionId === undefined) await giveBack(options, held, []);
      throw error;
    }
    if ("answer" in result) {
      if (result.fired !== null) await giveBack(options, held, result.fired);
      return result.answer;
    }
    await claimAll(options, result.needs, { held, reached });
  }
}

interface Holding {
  readonly held: Map<string, LimitClaim>;
  readonly reached: Set<string>;
}

function usesOf({ rules }: LimitUsesOptions, { held, reached }: Holding): LimitUses {
  return {
    isReached: ruleId => reached.has(ruleId),
    missing: fired => {
      const limited = fired.filter(ruleId => rules.has(ruleId));
      const isShort = limited.some(ruleId => timesOf(ruleId, limited) > (held.get(ruleId)?.count ?? 0));
      return isShort ? limited : [];
    },
  };
}

async function claimAll(
  { limits, claimant, rules }: LimitUsesOptions,
  needs: readonly string[],
  { held, reached }: Holding,
): Promise<void> {
  await Promise.all(
    [...new Set(needs)].map(async ruleId => {
      const rule = rules.get(ruleId);
      const before = held.get(ruleId) ?? null;
      const count = timesOf(ruleId, needs);
      if (rule === undefined || (before?.count ?? 0) >= count) return;
      const claim = await limits.claim(claimant, rule, { count, held: before });
      if (claim === null) reached.add(ruleId);
      else held.set(ruleId, claim);
    }),
  );
}

/** Gives back what the decision did not use. That it fails must not undo the decision. */
async function giveBack(
  { limits, claimant, onLost }: LimitUsesOptions,
  held: ReadonlyMap<string, LimitClaim>,
  fired: readonly string[],
): Promise<void> {
  const releases = [...held.values()].map(claim =>
    limits.release(claimant, claim, timesOf(claim.ruleId, fired)).catch(onLost),
  );
  await Promise.all(releases);
}

function timesOf(ruleId: string, fired: readonly string[]): number {
  return fired.reduce((count, id) => (id === ruleId ? count + 1 : count), 0);
}
