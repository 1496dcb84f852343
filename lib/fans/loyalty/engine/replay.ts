/**
 * Replays of a user's history against a configuration: the state of the user, had it been in force from the start.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import { ownValue } from "../config/scope.ts";
import {
  type HistoryEntry,
  type HistoryRecord,
  type LimitedFirings,
  type Transaction,
  transactionsOf,
} from "../user/history.ts";
import { emptyState, type UserState } from "../user/state.ts";
import { advanceTime } from "./advance_time.ts";
import {
  applyAction,
  applyAdjustment,
  applyGrant,
  applyRefusals,
  applyReversal,
  type EventOptions,
} from "./apply_events.ts";
import { applyRedemption, type RedemptionOutcome } from "./apply_redemption.ts";
import type { Outcome } from "./draft.ts";
import { reversedAction } from "./take_back.ts";

/** Another configuration may have any number of instants between two records. A replay merges those beyond. */
const replayedInstantsMax = 10_000;

/** Replays the whole history of a user, oldest record first. Equal records and configurations give equal states. */
export function replay(compiled: CompiledConfig, records: Iterable<HistoryEntry>): UserState {
  const replayed = new Replay(compiled);
  for (const record of records) replayed.add(record);
  return replayed.state;
}

/** Lets time pass in a replay until `at` (Unix ms), instant by instant. */
export function advanceReplay(compiled: CompiledConfig, state: UserState, at: number): UserState {
  return advanceTime(compiled, state, at, { instantsMax: replayedInstantsMax }).state;
}

/** A replay that takes one record after the other. */
export class Replay {
  state: UserState = emptyState(null);
  readonly #compiled: CompiledConfig;
  /** The replayed transactions by the ids of those in the history. */
  readonly #transactions = new Map<string, Transaction>();
  /** The replayed records of actions by the ids of their transactions. */
  readonly #actions = new Map<string, { readonly record: HistoryRecord; readonly index: number }>();
  /** Records of actions with a reversed transaction. */
  readonly #takenBack = new Set<HistoryRecord>();
  /** Payments and deliveries in the replay, which may differ from those in the history. */
  readonly #redemptions = new Map<string, Pick<RedemptionOutcome, "paid" | "received">>();

  constructor(compiled: CompiledConfig) {
    this.#compiled = compiled;
  }

  /** Takes the next record. */
  add(record: HistoryEntry): void {
    const { at, mergedFrom } = record;
    // The records before were dated by a process whose clock was ahead.
    if (at < this.state.changedAt) this.state = { ...this.state, changedAt: at };
    // Instants are merged exactly where the history merged them, so that rules meet the same expiries.
    if (mergedFrom !== undefined && mergedFrom > this.state.changedAt) {
      this.state = advanceReplay(this.#compiled, this.state, mergedFrom - 1);
    }
    const { state, records } = advanceTime(this.#compiled, this.state, at, {
      instantsMax: mergedFrom === undefined ? replayedInstantsMax : 0,
    });
    this.state = state;
    const outcome = this.#apply(record);
    if (outcome !== null) {
      this.state = outcome.state;
      // What other users were given is in their own histories.
      outcome.state.gifts = [];
    }
    const transactions = (outcome?.record ?? records.at(-1))?.transactions ?? [];
    for (const [index, { id, type }] of transactionsOf(record).entries()) {
      const replayed = transactions[index];
      if (replayed?.type !== type) continue;
      this.#transactions.set(id, replayed);
      if (outcome?.record.action !== undefined) this.#actions.set(id, { record: outcome.record, index });
    }
  }

  #apply(record: HistoryEntry): Outcome | null {
    const { at, profile, action, grant, adjustment, reversalOf, redemption } = record;
    if (action !== undefined) {
      const { limited, at: happenedAt = at, fired: _, advanced: __, ...reported } = action;
      return applyAction(
        this.#compiled,
        this.state,
        { ...reported, at, happenedAt },
        recordedOptions(limited, profile),
      );
    }
    if (grant !== undefined) {
      const { limited, ...given } = grant;
      return applyGrant(this.#compiled, this.state, { ...given, at }, recordedOptions(limited, profile));
    }
    if (adjustment !== undefined) {
      const { limited, ...adjusted } = adjustment;
      return applyAdjustment(
        this.#compiled,
        this.state,
        { ...adjusted, at },
        recordedOptions(limited, profile),
      );
    }
    if (record.kind === "refusal") return applyRefusals(this.#compiled, this.state, { refusals: [], at });
    if (redemption !== undefined) return this.#redeem(record, redemption);
    const transaction = reversalOf === undefined ? undefined : this.#transactions.get(reversalOf);
    if (reversalOf === undefined || transaction === undefined) return null;
    const cause = this.#actions.get(reversalOf);
    const isFirst = cause !== undefined && !this.#takenBack.has(cause.record);
    if (isFirst) this.#takenBack.add(cause.record);
    const reversed = cause === undefined ? undefined : reversedAction(cause.record, cause.index, isFirst);
    return applyReversal(this.#compiled, this.state, {
      transaction: { ...transaction, id: reversalOf },
      action: reversed,
      at,
    });
  }

  #redeem(
    { at, profile, transactions }: HistoryEntry,
    redemption: NonNullable<HistoryEntry["redemption"]>,
  ): Outcome {
    const { limited, ...fact } = redemption;
    const { metadata, reason } = transactions[0]?.payload ?? {};
    const before = this.#redemptions.get(fact.id);
    const input = { fact, at, ...before, metadata, reason };
    const outcome = applyRedemption(this.#compiled, this.state, input, recordedOptions(limited, profile));
    const { paid, received } = outcome;
    this.#redemptions.set(fact.id, { paid, received });
    return outcome;
  }
}

/** What an event was decided with: each limited rule fires as often as it did before its limit was reached. */
function recordedOptions(limited: LimitedFirings["limited"], profile: HistoryEntry["profile"]): EventOptions {
  if (limited === undefined) return { profile };
  const asked = new Map<string, number>();
  return {
    profile,
    globalLimitReached: ruleId => {
      const before = asked.get(ruleId) ?? 0;
      asked.set(ruleId, before + 1);
      const allowed = ownValue(limited, ruleId);
      return allowed !== undefined && before >= allowed;
    },
  };
}
