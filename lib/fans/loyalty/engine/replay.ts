/** Replays of a user's history against a configuration: the state of the user, had it been in force from the start. */

import { isoTime } from "../../../base/calendar/mod.ts";
import { jsonPointer } from "../../../base/errors/mod.ts";
import type { Failure } from "../../../base/expressions/mod.ts";
import type { CompiledConfig, CompiledMission, CompiledRule } from "../config/compiled.ts";
import { ownValue, type Scope } from "../config/compiled.ts";
import type { ReachedLimit } from "../limits.ts";
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
  type Action,
  applyAction,
  applyAdjustment,
  applyGrant,
  applyRedemption,
  applyRefusals,
  applyReversal,
  type ChangeOptions,
  type RedemptionOutcome,
  reversedAction,
} from "./apply_change.ts";
import { NextState, type Outcome } from "./next_state.ts";
import { isAwaiting, openRun, type RuleRound } from "./rounds.ts";

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

/** What a change was made with: each limited rule fires as often as it did before its limit was reached. */
function recordedOptions(
  limited: LimitedFirings["limited"],
  profile: HistoryEntry["profile"],
): ChangeOptions {
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

const differencesMax = 1_000;

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
      const at = pointer + jsonPointer(key);
      compare(ownValue(a, key), ownValue(b, key), { pointer: at, differences });
    }
    return;
  }
  differences.push({ pointer, a: a ?? null, b: b ?? null });
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

export interface DryRun extends Pick<Outcome, "state" | "notifications" | "diagnostics"> {
  /** The effects of time before the action. */
  readonly settled: readonly HistoryRecord[];
  readonly effects: HistoryRecord["transactions"];
  /** Each rule once: those that the action triggers in their order, then those that its changes trigger. */
  readonly rules: readonly {
    readonly ruleId: string;
    readonly fired: boolean;
    readonly failures: readonly Failure[];
  }[];
  readonly missions: readonly {
    readonly challengeId: string;
    readonly missionId: string;
    readonly advanced: boolean;
    readonly completed: boolean;
    readonly failures: readonly Failure[];
  }[];
  /** The challenges whose status would change. */
  readonly challenges: readonly {
    readonly challengeId: string;
    readonly before: string;
    readonly after: string;
  }[];
}

type ReachedLimits = ReadonlyMap<string, readonly ReachedLimit[]>;

interface DryRunOptions extends Pick<ChangeOptions, "profile"> {
  /** The global limits without room, by the ids of their rules. @default none */
  readonly reached?: ReachedLimits;
}

/** Tries an action. Nothing changes. */
export function dryRun(
  compiled: CompiledConfig,
  state: UserState,
  action: Action,
  { reached = new Map(), profile }: DryRunOptions = {},
): DryRun {
  const at = Math.max(action.at, state.changedAt);
  const settled = advanceTime(compiled, state, at);
  const rules = new Map<string, DryRun["rules"][number]>();
  const outcome = applyAction(
    compiled,
    settled.state,
    { ...action, at },
    {
      profile,
      globalLimitReached: ruleId => reached.has(ruleId),
      onRound: round => {
        for (const rule of dryRunRules(round, reached)) {
          // Of several rounds the one in which the rule fires counts, or else the last.
          if (rules.get(rule.ruleId)?.fired !== true) rules.set(rule.ruleId, rule);
        }
      },
    },
  );
  return {
    settled: settled.records,
    effects: outcome.record.transactions,
    rules: [...rules.values()],
    missions: dryRunMissions(new NextState(compiled, settled.state, at, { profile }), action, outcome.state),
    challenges: changedChallenges(settled.state, outcome.state),
    notifications: outcome.notifications,
    diagnostics: outcome.diagnostics,
    state: outcome.state,
  };
}

function dryRunRules(round: RuleRound, reached: ReachedLimits): DryRun["rules"] {
  return round.rules.map(compiled => {
    const fired = round.firing.includes(compiled);
    return {
      ruleId: compiled.rule.id,
      fired,
      failures: fired ? [] : ruleFailures(compiled, round, reached),
    };
  });
}

function ruleFailures(
  compiled: CompiledRule,
  { next, scope, firing }: RuleRound,
  reached: ReachedLimits,
): readonly Failure[] {
  const { rule, explain, limits, pointer, timeFault } = compiled;
  const failures = [...explain()(scope)];
  if (isAwaiting(compiled, scope)) {
    failures.push({ path: pointer, expected: "an element whose answer the user knows", actual: null });
  }
  const outside = timeFault?.(next.happenedAt) ?? null;
  if (outside !== null) {
    const { member, expected } = outside;
    failures.push({ path: `${pointer}/${member}`, expected, actual: isoTime(next.happenedAt) });
  }
  for (const { key, window, max, pointer: path, by } of limits) {
    const value = by?.(scope);
    if (value === null)
      failures.push({ path: `${path}/by`, expected: "an action with this value", actual: null });
    const actual = value === null ? 0 : next.counterValue(key, window, value);
    if (actual < max) continue;
    const whom = by === undefined ? "for the user" : "for the user and this value";
    failures.push({ path, expected: `fired fewer than ${max} times ${whom}`, actual });
  }
  for (const { index, max, used: actual } of reached.get(rule.id) ?? []) {
    const path = `${pointer}/limits/${index}`;
    failures.push({ path, expected: `fired fewer than ${max} times for all users`, actual });
  }
  const other = firing.find(({ rule: { group } }) => group !== undefined && group === rule.group);
  if (failures.length > 0 || other === undefined) return failures;
  return [
    { path: `${pointer}/group`, expected: "no earlier rule of the group that fires", actual: other.rule.id },
  ];
}

function dryRunMissions(next: NextState, { name, data }: Action, after: UserState): DryRun["missions"] {
  const plan = next.compiled.actions.get(name);
  if (plan === undefined) return [];
  const scope: Scope = { data, user: next };
  next.countAction(plan.aggregates, scope);
  return plan.missions.map(compiled => dryRunMission(next, compiled, { scope, after }));
}

function dryRunMission(
  next: NextState,
  compiled: CompiledMission,
  { scope, after }: { readonly scope: Scope; readonly after: UserState },
): DryRun["missions"][number] {
  const { of, mission, explain, pointer } = compiled;
  const { id } = of.challenge;
  const run = openRun(next, of);
  const failures: Failure[] = [...explain()(scope)];
  if (run === null) {
    const path = pointer.split("/").slice(0, 3).join("/");
    failures.push({ path, expected: "a challenge that runs or may start", actual: next.challenge(id) });
  }
  if (run?.missionsCompleted.includes(mission.id) === true) {
    failures.push({ path: pointer, expected: "a mission that is not completed", actual: "completed" });
  }
  const isCompleted = after.challenges[id]?.missionsCompleted.includes(mission.id) === true;
  return {
    challengeId: id,
    missionId: mission.id,
    advanced: failures.length === 0,
    completed: failures.length === 0 && isCompleted,
    failures,
  };
}

function changedChallenges(before: UserState, after: UserState): DryRun["challenges"] {
  if (before.challenges === after.challenges) return [];
  return Object.entries(after.challenges).flatMap(([challengeId, { status, run }]) => {
    const old = before.challenges[challengeId];
    if (old?.status === status && old.run === run) return [];
    return [{ challengeId, before: old?.status ?? "none", after: status }];
  });
}
