/**
 * Limits of rules for all users of a space together. The uses of a rule are one tally per window, and the store refuses more than
 * the maximum.
 *
 * A use is claimed before an event is decided, and released if the decision did not need it. If the process dies before that, the use
 * is lost, unless the action is reported again under its id. So a rule may fire less often than its limit, and never more often.
 */

import { type PeriodUnit, periodOf } from "../../base/calendar/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import {
  type Rule as DecisionRule,
  decide,
  type Partition,
  type ReadRecord,
  type Store,
  type Stored,
  tenantPartition,
  type Write,
} from "../../storage/mod.ts";
import { keyName } from "../../storage/names.ts";
import type { LimitUses } from "./commit.ts";
import { countedUnit, type WeekStart } from "./config/compiled.ts";
import type { LoyaltyRule } from "./config/document.ts";

/** Claims of actions with an id are kept as long as the id. */
const claimKeptMs: number = 14 * 24 * 60 * 60 * 1_000;
/** Windows of a unit that take uses: of days, those in which an action may have happened that arrives a week late. */
const windowsKept = 9;

export type LimitedRule = Pick<LoyaltyRule, "id" | "limits">;

/** The user whose event makes rules fire. */
export interface Claimant {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  /** An action with an id claims its uses once. */
  readonly actionId?: string | undefined;
  readonly timeZone: string;
  readonly weekStartsOn: WeekStart;
  /** Unix ms. */
  readonly at: number;
}

export interface LimitClaim {
  readonly ruleId: string;
  readonly windows: readonly string[];
  readonly count: number;
}

export interface ReachedLimit {
  readonly index: number;
  readonly max: number;
  readonly used: number;
}

interface WindowLimit {
  readonly index: number;
  readonly unit: PeriodUnit | "all";
  /** Id of the window; empty: all time. */
  readonly id: string;
  readonly max: number;
}

type StoredClaim = Omit<LimitClaim, "ruleId">;

/** The windows with tallies, by unit. */
type Windows = Readonly<Record<string, readonly string[]>>;

const usedField = "used";
const windowsRead = { type: "record", key: "windows" } as const satisfies ReadRecord;

/** The global limits of all rules: uses are claimed and released. */
export type GlobalLimits = ReturnType<typeof createGlobalLimits>;

export function createGlobalLimits(store: Store) {
  return {
    /**
     * Claims uses of a rule, all or none; null if a limit has no room for them. An earlier claim then stays.
     *
     * @param held The claim of an earlier attempt at the same decision.
     */
    async claim(
      claimant: Claimant,
      rule: LimitedRule,
      { count, held }: { readonly count: number; readonly held: LimitClaim | null },
    ): Promise<LimitClaim | null> {
      const limits = windowLimits(rule, claimant);
      const windows = limits.map(nameOf);
      if (limits.length > 0) {
        const claiming = claimRule(claimant, limits, count, held);
        const isClaimed = await decide(store, partitionOf(claimant, rule.id), claiming);
        if (!isClaimed) return null;
      }
      return { ruleId: rule.id, windows, count };
    },
    /** Returns the limits without room for another use, by the ids of their rules. */
    async reached(
      claimant: Claimant,
      rules: Iterable<LimitedRule>,
    ): Promise<ReadonlyMap<string, readonly ReachedLimit[]>> {
      const found = await Promise.all(
        [...rules].map(async rule => [rule.id, await reachedOf(store, claimant, rule)] as const),
      );
      return new Map(found.filter(([, reached]) => reached.length > 0));
    },
    /** Releases all but `used` uses. The claim of an action with an id is released once. */
    async release(claimant: Claimant, claim: LimitClaim, used: number): Promise<void> {
      if (claim.windows.length === 0 || used >= claim.count) return;
      const idempotent = claimant.actionId !== undefined;
      const rule = releaseRule(claimant, { unnamed: claim, usedOf: () => used, idempotent });
      await decide(store, partitionOf(claimant, claim.ruleId), rule);
    },
    /** Gives back one use that an action with an id still has; others have no claim that would prove it. */
    async giveBack(claimant: Claimant & { readonly actionId: string }, ruleId: string): Promise<void> {
      // Not idempotent: decided again, it would give back another use.
      const rule = releaseRule(claimant, { usedOf: ({ count }) => count - 1, idempotent: false });
      await decide(store, partitionOf(claimant, ruleId), rule);
    },
  };
}

async function reachedOf(store: Store, claimant: Claimant, rule: LimitedRule): Promise<ReachedLimit[]> {
  const limits = windowLimits(rule, claimant);
  const tallies = await store.read(
    partitionOf(claimant, rule.id),
    limits.map(limit => ({ type: "tally", key: tallyKey(nameOf(limit)) }) as const),
  );
  return limits.flatMap(({ index, max }, n) => {
    const used = tallies[n]?.get(usedField) ?? 0;
    return used >= max ? [{ index, max, used }] : [];
  });
}

/** Returns the lowest limit of each unit. */
function windowLimits({ limits }: LimitedRule, { timeZone, weekStartsOn, at }: Claimant): WindowLimit[] {
  const lowest = new Map<PeriodUnit | "all", Pick<WindowLimit, "index" | "max">>();
  for (const [index, limit] of limits.entries()) {
    if (limit.per !== "global") continue;
    const unit = limit.window === undefined ? "all" : countedUnit(limit.window.calendar, weekStartsOn);
    const { max } = limit;
    if (max < (lowest.get(unit)?.max ?? Number.POSITIVE_INFINITY)) lowest.set(unit, { index, max });
  }
  return [...lowest].map(([unit, limit]) => ({
    ...limit,
    unit,
    id: unit === "all" ? "" : periodOf(unit, timeZone, at).id,
  }));
}

function claimRule(
  claimant: Claimant,
  limits: readonly WindowLimit[],
  count: number,
  held: LimitClaim | null,
): DecisionRule<readonly ReadRecord[], boolean> {
  const key = claimKey(claimant);
  return {
    reads: claimReads(claimant),
    idempotent: key !== null,
    apply: ([stored = null, storedClaim = null]) => {
      const windows = windowsOf(stored);
      const before = claimIn(claimant, storedClaim, held);
      const missing = limits.filter(limit => (before === null ? 0 : usesIn(before, nameOf(limit))) < count);
      if (missing.length === 0) return { writes: [], answer: true };
      const opening = openWindows(windows, missing);
      if (opening === null) return { writes: [], answer: false };
      const names = limits.map(nameOf);
      // The same action may be decided in a later window than the one in which it was first claimed.
      const over = (before?.windows ?? []).filter(name => !names.includes(name) && isOpen(windows, name));
      return {
        writes: [
          ...opening,
          ...missing.map(limit =>
            use(nameOf(limit), count - (before === null ? 0 : usesIn(before, nameOf(limit))), limit.max),
          ),
          ...over.map(name => use(name, -(before?.count ?? 0))),
          ...(key === null ? [] : [claimWrite(key, { windows: names, count }, claimant.at)]),
        ],
        answer: true,
        refused: () => false,
      };
    },
  };
}

interface Release {
  /** The claim of an action without an id, of which nothing is stored. */
  readonly unnamed?: StoredClaim;
  readonly usedOf: (claim: StoredClaim) => number;
  readonly idempotent: boolean;
}

function releaseRule(
  claimant: Claimant,
  { unnamed, usedOf, idempotent }: Release,
): DecisionRule<readonly ReadRecord[], void> {
  return {
    reads: claimReads(claimant),
    idempotent,
    apply: ([windows = null, stored = null]) => {
      const claim = claimIn(claimant, stored, unnamed ?? null);
      if (claim === null) return { writes: [], answer: undefined };
      const after = { used: usedOf(claim), windows: windowsOf(windows) };
      return { writes: releaseWrites(claimant, claim, after), answer: undefined };
    },
  };
}

/** Reads the windows of a rule, and the claim of an action with an id. */
function claimReads(claimant: Claimant): readonly ReadRecord[] {
  const key = claimKey(claimant);
  return key === null ? [windowsRead] : [windowsRead, { type: "record", key }];
}

/** Returns the claim of an action with an id as stored, else the given one. */
function claimIn(
  { actionId }: Claimant,
  stored: Stored | null,
  unnamed: StoredClaim | null,
): StoredClaim | null {
  if (actionId === undefined) return unnamed;
  return stored === null ? null : (JSON.parse(stored.value) as StoredClaim);
}

function releaseWrites(
  claimant: Claimant,
  { windows: claimed, count }: StoredClaim,
  { used, windows }: { readonly used: number; readonly windows: Windows },
): readonly Write[] {
  if (count <= used) return [];
  const key = claimKey(claimant);
  const back = claimed.filter(name => isOpen(windows, name)).map(name => use(name, used - count));
  if (key === null) return back;
  const left: Write =
    used === 0
      ? { type: "delete", shape: "record", key }
      : claimWrite(key, { windows: claimed, count: used }, claimant.at);
  return [...back, left];
}

/** Returns the writes that open the windows of a claim; null if one of them is over. */
function openWindows(windows: Windows, limits: readonly WindowLimit[]): readonly Write[] | null {
  const writes: Write[] = [];
  let next = windows;
  for (const { unit, id } of limits) {
    const open = next[unit] ?? [];
    if (open.includes(id)) continue;
    const retained = [...open, id].sort().slice(-windowsKept);
    if (!retained.includes(id)) return null;
    next = { ...next, [unit]: retained };
    for (const name of open.filter(one => !retained.includes(one)).map(one => `${unit}:${one}`)) {
      writes.push({ type: "delete", shape: "tally", key: tallyKey(name) });
    }
  }
  if (next === windows) return [];
  return [{ type: "put", key: windowsRead.key, value: JSON.stringify(next) }, ...writes];
}

function usesIn({ windows, count }: StoredClaim, name: string): number {
  return windows.includes(name) ? count : 0;
}

function isOpen(windows: Windows, name: string): boolean {
  const colon = name.indexOf(":");
  return windows[name.slice(0, colon)]?.includes(name.slice(colon + 1)) ?? false;
}

function nameOf({ unit, id }: WindowLimit): string {
  return `${unit}:${id}`;
}

function use(window: string, by: number, max: number = Number.MAX_SAFE_INTEGER): Write {
  return { type: "add", key: tallyKey(window), field: usedField, by, min: 0, max };
}

function claimWrite(key: string, claim: StoredClaim, at: number): Write {
  return { type: "put", key, value: JSON.stringify(claim), expireAt: at + claimKeptMs };
}

function tallyKey(window: string): string {
  return keyName("window", window);
}

function claimKey({ userId, actionId }: Claimant): string | null {
  return actionId === undefined ? null : keyName("claim", userId, actionId);
}

function windowsOf(stored: Stored | null): Windows {
  return stored === null ? {} : (JSON.parse(stored.value) as Windows);
}

function partitionOf({ organisationId, spaceId }: Claimant, ruleId: string): Partition {
  return tenantPartition({ organisation: organisationId }, "limit", spaceId, ruleId);
}

export interface LimitUsesOptions {
  readonly limits: GlobalLimits;
  readonly claimant: Claimant;
  readonly rules: ReadonlyMap<string, LimitedRule>;
  /** Receives errors of returning unneeded uses, which then stay counted until their window ends. */
  readonly onLost: (error: unknown) => void;
}

/**
 * Commits a command within the limits that users share. Applying it shows which rules fire: so it is applied as if every limit had
 * room, then the uses that it needs are claimed, and it is applied again.
 *
 * @throws What `commit` throws.
 */
export async function withinLimits<
  Done extends { readonly result: { readonly fired: readonly string[] } | null },
>(options: LimitUsesOptions, commit: (uses: LimitUses) => Promise<Done>): Promise<Done> {
  const { rules, claimant } = options;
  const held = new Map<string, LimitClaim>();
  const reached = new Set<string>();
  const uses: LimitUses = {
    isReached: ruleId => reached.has(ruleId),
    missing(fired) {
      const limited = fired.filter(ruleId => rules.has(ruleId));
      const isShort = limited.some(ruleId => countOf(ruleId, limited) > (held.get(ruleId)?.count ?? 0));
      return isShort ? limited : [];
    },
    claim: missing => claimAll(options, missing, { held, reached }),
  };
  let done: Done;
  try {
    done = await commit(uses);
  } catch (error) {
    // A commit of another process may rest on the claim of a command with an id.
    const isUnused = error instanceof AppError && error.code !== "outcome_unknown";
    if (isUnused && claimant.actionId === undefined) await releaseUnused(options, held, []);
    throw error;
  }
  if (done.result !== null) await releaseUnused(options, held, done.result.fired);
  return done;
}

async function claimAll(
  { limits, claimant, rules }: LimitUsesOptions,
  needs: readonly string[],
  { held, reached }: { readonly held: Map<string, LimitClaim>; readonly reached: Set<string> },
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

/** Returns uses that the command did not need. A failure must not undo the command. */
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
