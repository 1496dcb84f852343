/**
 * Decisions within limits of rules that all users share.
 *
 * The decision of a command shows which rules fire. So it is decided as if every limit had room, then the uses that it
 * needs are claimed, and it is decided again.
 *
 * @module
 */

import { AppError } from "../../../base/errors/mod.ts";
import type { Claimant, GlobalLimits, LimitClaim, LimitedRule } from "../limits/global_limits.ts";

/** Uses of limited rules that a decision may rely on. */
export interface LimitUses {
  /** Returns true where the rule must not fire as a limit is reached. Stays the same throughout a decision. */
  readonly isReached: (ruleId: string) => boolean;
  /**
   * Returns the limited rules among those that fired, if there is not a use for each time; else nothing.
   *
   * @param fired Ids of all rules that fired, once for each time.
   */
  readonly missing: (fired: readonly string[]) => readonly string[];
}

/** The part of a decision that limits depend on. */
export interface LimitedDecision {
  /** Rules that would have fired; nothing was written as uses of them are missing. */
  readonly missingUses: readonly string[];
  /** The rules that fired, once for each time; null where the command had taken effect before. */
  readonly result: { readonly fired: readonly string[] } | null;
}

/** Dependencies of decisions within limits. */
export interface LimitUsesOptions {
  readonly limits: GlobalLimits;
  readonly claimant: Claimant;
  /** The limited rules, by id. */
  readonly rules: ReadonlyMap<string, LimitedRule>;
  /** Receives errors of returning unneeded uses, which then stay counted until their window ends. */
  readonly onLost: (error: unknown) => void;
}

/**
 * Decides within the limits that users share.
 *
 * @param decide Decides with the uses that are claimed by now.
 * @throws What `decide` throws.
 */
export async function decideWithinLimits<D extends LimitedDecision>(
  options: LimitUsesOptions,
  decide: (uses: LimitUses) => Promise<D>,
): Promise<D> {
  const held = new Map<string, LimitClaim>();
  const reached = new Set<string>();
  for (;;) {
    let decision: D;
    try {
      decision = await decide(usesOf(options, { held, reached }));
    } catch (error) {
      // A decision of another process may rest on the claim of a command with an id.
      const isUnused = error instanceof AppError && error.code !== "outcome_unknown";
      if (isUnused && options.claimant.actionId === undefined) await releaseUnused(options, held, []);
      throw error;
    }
    if (decision.missingUses.length === 0) {
      if (decision.result !== null) await releaseUnused(options, held, decision.result.fired);
      return decision;
    }
    await claimAll(options, decision.missingUses, { held, reached });
  }
}

/** Uses that are claimed, and rules without room. */
interface Uses {
  readonly held: Map<string, LimitClaim>;
  readonly reached: Set<string>;
}

function usesOf({ rules }: LimitUsesOptions, { held, reached }: Uses): LimitUses {
  return {
    isReached: ruleId => reached.has(ruleId),
    missing: fired => {
      const limited = fired.filter(ruleId => rules.has(ruleId));
      const isShort = limited.some(ruleId => countOf(ruleId, limited) > (held.get(ruleId)?.count ?? 0));
      return isShort ? limited : [];
    },
  };
}

async function claimAll(
  { limits, claimant, rules }: LimitUsesOptions,
  needs: readonly string[],
  { held, reached }: Uses,
): Promise<void> {
  await Promise.all(
    [...new Set(needs)].map(async ruleId => {
      const rule = rules.get(ruleId);
      const before = held.get(ruleId) ?? null;
      const count = countOf(ruleId, needs);
      if (rule === undefined || (before?.count ?? 0) >= count) return;
      const claim = await limits.claim(claimant, rule, { count, held: before });
      if (claim === null) reached.add(ruleId);
      else held.set(ruleId, claim);
    }),
  );
}

/** Returns uses that the decision did not need. A failure must not undo the decision. */
async function releaseUnused(
  { limits, claimant, onLost }: LimitUsesOptions,
  held: ReadonlyMap<string, LimitClaim>,
  fired: readonly string[],
): Promise<void> {
  const releases = [...held.values()].map(claim =>
    limits.release(claimant, claim, countOf(claim.ruleId, fired)).catch(onLost),
  );
  await Promise.all(releases);
}

function countOf(ruleId: string, fired: readonly string[]): number {
  return fired.reduce((count, id) => (id === ruleId ? count + 1 : count), 0);
}
