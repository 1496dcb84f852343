/**
 * Replaying a user's history against a configuration: what the user would have, had it been in force from the start.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import { type StoredRecord, type Transaction, transactionsOf } from "../user/history.ts";
import { emptyState, type UserState } from "../user/state.ts";
import { applyAdjustment } from "./adjust.ts";
import { applyAction } from "./apply_action.ts";
import { applyGrant } from "./grant.ts";
import { recordedLimits } from "./held_back.ts";
import type { Outcome } from "./outcome.ts";
import { ReplayedRedemptions } from "./redeem.ts";
import { applyReversal } from "./reverse.ts";
import { advanceTime } from "./settle.ts";

/** Most instants between two records that a replay tells apart: against another configuration there may be any number. */
export const replayedInstantsMax = 10_000;

/** Replays the whole history of a user, oldest record first. The same records and configuration give the same state. */
export function replay(compiled: CompiledConfig, records: Iterable<StoredRecord>): UserState {
  const replayed = new Replay(compiled);
  for (const record of records) replayed.add(record);
  return replayed.state;
}

/** A replay that takes its records bit by bit. */
export class Replay {
  state: UserState = emptyState(null);
  readonly #compiled: CompiledConfig;
  /** What the transactions that the records tell of have become. */
  readonly #became = new Map<string, Transaction>();
  readonly #redemptions = new ReplayedRedemptions();

  constructor(compiled: CompiledConfig) {
    this.#compiled = compiled;
  }

  /** Takes the next record. */
  add(record: StoredRecord): void {
    const { at, mergedFrom } = record;
    // What was one settlement then is one now, and nothing else is: else rules would meet what lapsed in other steps.
    if (mergedFrom !== undefined && mergedFrom > this.state.changedAt) this.pass(mergedFrom - 1);
    const { state, records } = advanceTime(this.#compiled, this.state, at, {
      instantsMax: mergedFrom === undefined ? replayedInstantsMax : 0,
    });
    this.state = state;
    const outcome = this.#decide(record);
    if (outcome !== null) this.state = outcome.state;
    const transactions = (outcome?.record ?? records.at(-1))?.transactions ?? [];
    transactionsOf(record).forEach(({ id, type }, index) => {
      const now = transactions[index];
      if (now?.type === type) this.#became.set(id, now);
    });
  }

  /** Lets time pass until then (Unix ms), instant by instant. */
  pass(at: number): void {
    this.state = advanceTime(this.#compiled, this.state, at, { instantsMax: replayedInstantsMax }).state;
  }

  #decide(record: StoredRecord): Outcome | null {
    const { at, action, grant: given, adjustment, reversalOf, redemption: fact, transactions } = record;
    if (action !== undefined) {
      const { limited = {}, ...reported } = action;
      const globalLimitReached = recordedLimits(limited);
      return applyAction(this.#compiled, this.state, { ...reported, at }, { globalLimitReached });
    }
    if (given !== undefined) {
      const { limited = {}, ...rewarded } = given;
      const globalLimitReached = recordedLimits(limited);
      return applyGrant(this.#compiled, this.state, { ...rewarded, at }, { globalLimitReached });
    }
    if (adjustment !== undefined) {
      const { limited = {}, ...adjusted } = adjustment;
      const globalLimitReached = recordedLimits(limited);
      return applyAdjustment(this.#compiled, this.state, { ...adjusted, at }, { globalLimitReached });
    }
    if (fact !== undefined) {
      const globalLimitReached = recordedLimits(fact.limited ?? {});
      return this.#redemptions.take(this.#compiled, this.state, {
        fact,
        at,
        globalLimitReached,
        transactions,
      });
    }
    const transaction = reversalOf === undefined ? undefined : this.#became.get(reversalOf);
    if (reversalOf === undefined || transaction === undefined) return null;
    return applyReversal(this.#compiled, this.state, { transaction: { ...transaction, id: reversalOf }, at });
  }
}
