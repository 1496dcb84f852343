/**
 * Limits of rules for all users of a space together: how often a rule has fired is one tally per rule and window, which a
 * guard keeps at or below its maximum, whoever claims at the same time.
 *
 * A use is claimed before the decision about an action and given back where the decision did not need it. If the process ends in
 * between, the use is lost, or found again where the action is reported once more under its id: so a rule may fire less
 * often than its limit says, and never more often.
 *
 * @module
 */

import { type CalendarUnit, periodOf } from "../../calendar/mod.ts";
import {
  type Rule as DecisionRule,
  decide,
  keyName,
  type Partition,
  type ReadRecord,
  type Store,
  type Stored,
  tenantPartition,
  type Write,
} from "../../storage/mod.ts";
import type { LoyaltyRule } from "../config/document.ts";

/** How long the claim of an action with an id is remembered, in ms: as long as the id itself, 14 days. */
export const claimKeptMs: number = 14 * 24 * 60 * 60 * 1_000;
/** How many windows of a limit are kept: the current one, and the one before for processes whose clock is behind. */
export const windowsKept = 2;

/** A rule as far as its limits are concerned. */
export type LimitedRule = Pick<LoyaltyRule, "id" | "limits">;

/** Whose action makes rules fire. */
export interface Claimant {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly userId: string;
  /** Claims of one user's action with an id are made once. */
  readonly actionId?: string;
  /** In which windows of the calendar are counted. */
  readonly timeZone: string;
  /** Unix ms. */
  readonly at: number;
}

/** Uses of a rule that nobody else has. */
export interface LimitClaim {
  readonly ruleId: string;
  /** The windows that they count in. */
  readonly windows: readonly string[];
  readonly count: number;
}

/** How many uses a claim is to have. */
export interface LimitClaimOptions {
  /** All or none of them. */
  readonly count: number;
  /** What was claimed before for the same decision. */
  readonly held: LimitClaim | null;
}

/** Claims uses of rules and gives them back. */
export interface GlobalLimits {
  /** Claims uses of a rule; null where one of its limits has no room for them, and then what was held stays held. */
  claim(claimant: Claimant, rule: LimitedRule, options: LimitClaimOptions): Promise<LimitClaim | null>;
  /** The limits that have no room for another use just now, by the ids of those of the rules that have such limits. */
  reached(
    claimant: Claimant,
    rules: Iterable<LimitedRule>,
  ): Promise<ReadonlyMap<string, readonly ReachedLimit[]>>;
  /** Gives back all but `used` uses; nothing happens where the action's claim is not there any more. */
  release(claimant: Claimant, claim: LimitClaim, used: number): Promise<void>;
}

/** A limit that has no room for another use. */
export interface ReachedLimit {
  /** Where it stands among the limits of its rule. */
  readonly index: number;
  readonly max: number;
  /** Uses in the window that is current. */
  readonly used: number;
}

/** A limit of the rule in the window that is current. */
interface WindowLimit {
  /** Where it stands among the limits of the rule. */
  readonly index: number;
  readonly unit: CalendarUnit | "all";
  /** Id of the window; empty for all time. */
  readonly id: string;
  readonly max: number;
}

/** What is remembered of an action's claim. */
type Remembered = Omit<LimitClaim, "ruleId">;

/** The windows that have tallies, by unit. */
type Windows = Readonly<Record<string, readonly string[]>>;

const usedField = "used";
const windowsRead = { type: "record", key: "windows" } as const satisfies ReadRecord;

/** Creates the limits of all rules over a store. */
export function createGlobalLimits(store: Store): GlobalLimits {
  return {
    async claim(claimant, rule, options) {
      const limits = windowLimits(rule, claimant);
      const windows = limits.map(nameOf);
      if (limits.length > 0) {
        const isClaimed = await decide(
          store,
          partitionOf(claimant, rule.id),
          claimRule(claimant, limits, options),
        );
        if (!isClaimed) return null;
      }
      return { ruleId: rule.id, windows, count: options.count };
    },
    async reached(claimant, rules) {
      const found = await Promise.all(
        [...rules].map(async rule => [rule.id, await reachedOf(store, claimant, rule)] as const),
      );
      return new Map(found.filter(([, reached]) => reached.length > 0));
    },
    async release(claimant, claim, used) {
      if (claim.windows.length === 0 || used >= claim.count) return;
      await decide(store, partitionOf(claimant, claim.ruleId), releaseRule(claimant, claim, used));
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

/** The limits that are in force, of each unit the lowest. */
function windowLimits({ limits }: LimitedRule, { timeZone, at }: Claimant): WindowLimit[] {
  const lowest = new Map<CalendarUnit | "all", Pick<WindowLimit, "index" | "max">>();
  for (const [index, limit] of limits.entries()) {
    if (limit.per !== "global") continue;
    const unit = limit.window?.calendar ?? "all";
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
  { count, held }: LimitClaimOptions,
): DecisionRule<readonly ReadRecord[], boolean> {
  const key = claimKey(claimant);
  return {
    reads: key === null ? [windowsRead] : [windowsRead, { type: "record", key }],
    idempotent: key !== null,
    apply: ([stored = null, remembered = null]) => {
      const windows = windowsOf(stored);
      const before = remembered === null ? (key === null ? held : null) : claimOf(remembered);
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
          ...(key === null ? [] : [remember(key, { windows: names, count }, claimant.at)]),
        ],
        answer: true,
        refused: () => false,
      };
    },
  };
}

function releaseRule(
  claimant: Claimant,
  claim: LimitClaim,
  used: number,
): DecisionRule<readonly ReadRecord[], void> {
  const key = claimKey(claimant);
  return {
    reads: key === null ? [windowsRead] : [windowsRead, { type: "record", key }],
    idempotent: key !== null,
    apply: ([stored = null, remembered = null]) => {
      const { windows, count } = remembered === null ? claim : claimOf(remembered);
      if ((key !== null && remembered === null) || count <= used) return { writes: [], answer: undefined };
      const open = windows.filter(name => isOpen(windowsOf(stored), name));
      const back = open.map(name => use(name, used - count));
      if (key === null) return { writes: back, answer: undefined };
      const left: Write =
        used === 0
          ? { type: "delete", shape: "record", key }
          : remember(key, { windows, count: used }, claimant.at);
      return { writes: [...back, left], answer: undefined };
    },
  };
}

/** What makes room for the windows that a claim counts in; null where one of them is over for good. */
function openWindows(windows: Windows, limits: readonly WindowLimit[]): readonly Write[] | null {
  const writes: Write[] = [];
  let next = windows;
  for (const { unit, id } of limits) {
    const open = next[unit] ?? [];
    if (open.includes(id)) continue;
    const kept = [...open, id].sort().slice(-windowsKept);
    if (!kept.includes(id)) return null;
    next = { ...next, [unit]: kept };
    for (const name of open.filter(one => !kept.includes(one)).map(one => `${unit}:${one}`)) {
      writes.push({ type: "delete", shape: "tally", key: tallyKey(name) });
    }
  }
  if (next === windows) return [];
  return [{ type: "put", key: windowsRead.key, value: JSON.stringify(next) }, ...writes];
}

function usesIn({ windows, count }: Remembered, name: string): number {
  return windows.includes(name) ? count : 0;
}

function isOpen(windows: Windows, name: string): boolean {
  const colon = name.indexOf(":");
  return windows[name.slice(0, colon)]?.includes(name.slice(colon + 1)) ?? false;
}

function nameOf({ unit, id }: WindowLimit): string {
  return `${unit}:${id}`;
}

function use(window: string, by: number, max?: number): Write {
  return {
    type: "add",
    key: tallyKey(window),
    field: usedField,
    by,
    min: 0,
    ...(max === undefined ? {} : { max }),
  };
}

function remember(key: string, claim: Remembered, at: number): Write {
  return { type: "put", key, value: JSON.stringify(claim), expireAt: at + claimKeptMs };
}

function claimOf(stored: Stored): Remembered {
  return JSON.parse(stored.value) as Remembered;
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
