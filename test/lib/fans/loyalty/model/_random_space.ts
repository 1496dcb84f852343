/** Random loyalty configurations, as documents for the engine and as plain facts for the naive model. */

import type { Random } from "../../../../../adapters/conformance/random.ts";
import type { CalendarUnit, ModelDuration } from "./_model_calendar.ts";

export const actionNames: readonly string[] = ["a", "b", "c"];
export const metricIds: readonly string[] = ["m0", "m1", "m2"];
export const hourMs = 3_600_000;
export const dayMs: number = 24 * hourMs;

/** `last` steps of a unit; calendar windows have one. Null: all time. */
export type ModelWindow = { readonly unit: Unit; readonly last: number; readonly isCalendar: boolean } | null;
export type Unit = "minute" | "hour" | CalendarUnit;

/** Something that is at least so much, or a status that is the given one. */
export type ModelCondition =
  | { readonly on: "data"; readonly least: number }
  | { readonly on: "metric"; readonly id: string; readonly least: number }
  | {
      readonly on: "count" | "sum";
      readonly action: string;
      readonly where: number;
      readonly window: ModelWindow;
      readonly least: number;
    }
  | {
      readonly on: "streak";
      readonly action: string;
      readonly unit: "day" | "week" | "month";
      readonly least: number;
    }
  | { readonly on: "challenge"; readonly id: string; readonly is: string }
  | { readonly on: "item"; readonly id: string };

export type ModelEffect =
  | { readonly type: "metric"; readonly id: string; readonly amount: number; readonly timesData: boolean }
  | { readonly type: "inventory" | "inventoryLoss"; readonly item: string }
  | {
      readonly type: "challengeStart" | "challengeCompletion" | "challengeFailure";
      readonly challenge: string;
    }
  | { readonly type: "missionCompletion"; readonly challenge: string; readonly mission: string };

export interface ModelRule {
  readonly id: string;
  /** As `action:a` or `metric:m0`. */
  readonly trigger: string;
  readonly when: ModelCondition | null;
  readonly effects: readonly ModelEffect[];
  readonly priority: number;
  readonly limits: readonly ModelLimit[];
  readonly group: string | null;
  readonly isTagged: boolean;
}

export interface ModelLimit {
  readonly max: number;
  readonly window: ModelWindow;
  /** For all users together. */
  readonly isGlobal: boolean;
}

export interface ModelMission {
  readonly id: string;
  readonly rule:
    | {
        readonly action: string;
        readonly when: ModelCondition | null;
        readonly count: number;
        readonly addsData: boolean;
      }
    | { readonly metric: string; readonly atLeast: number };
}

export interface ModelChallenge {
  readonly id: string;
  /** Unix ms; `to` may be infinite. */
  readonly from: number;
  readonly to: number;
  readonly start: "auto" | "rule";
  readonly within: ModelDuration | null;
  readonly failOn: { readonly action: string; readonly when: ModelCondition | null } | null;
  readonly recurrence: "none" | "onCompletion" | "onExpiration";
  readonly period: CalendarUnit | null;
  readonly requires: readonly string[];
  readonly missions: readonly ModelMission[];
  readonly rewards: readonly ModelEffect[];
}

/** Multiplies what rules give from and until a time (Unix ms): tagged rules, or all. */
export interface ModelMultiplier {
  readonly factor: number;
  readonly from: number;
  readonly to: number;
  readonly isForTagged: boolean;
}

export interface ModelSpace {
  readonly zone: string;
  /** Whether users have zones of their own, and change them. */
  readonly isOfTravellers: boolean;
  readonly weekStartsOn: "monday" | "sunday";
  /** What the rungs measure of m0. */
  readonly measure: "balance" | "earned";
  readonly multipliers: readonly ModelMultiplier[];
  /** When what is earned of m1 expires. */
  readonly expires: { readonly after: ModelDuration } | { readonly endOf: CalendarUnit };
  readonly rules: readonly ModelRule[];
  readonly challenges: readonly ModelChallenge[];
  /** Of m0, ascending. */
  readonly rungs: readonly { readonly threshold: number; readonly rewards: readonly ModelEffect[] }[];
}

export const uuid = (kind: string, number: number): string =>
  `${kind.repeat(8)}-0000-4000-8000-${String(number).padStart(12, "0")}`;

const challengeIds = [0, 1, 2].map(index => uuid("c", index));

function several<T>(random: Random, most: number, make: (index: number) => T): T[] {
  return Array.from({ length: 1 + random.integer(most) }, (_, index) => make(index));
}

function windowOf(random: Random): ModelWindow {
  if (random.chance(0.3)) return null;
  if (random.chance(0.4)) return { unit: random.pick(calendarUnits), last: 1, isCalendar: true };
  const unit = random.pick(["minute", "hour", "day", "week", "month"] as const);
  return { unit, last: 1 + random.integer(5), isCalendar: false };
}

const calendarUnits = ["day", "week", "month", "year"] as const;

/** Days of the zone are not always 24 hours long, and months end on different days. */
function durationOf(random: Random): ModelDuration {
  const hours = { hours: 1 + random.integer(40) };
  const days = { days: 1 + random.integer(4) };
  return random.pick([hours, days, { ...days, ...hours }, { weeks: 1 }, { months: 1 }]);
}

function condition(random: Random, isOnAction: boolean): ModelCondition | null {
  const kinds = ["metric", "count", "sum", "streak", "challenge", "item", "none", "none"] as const;
  const action = random.pick(actionNames);
  switch (isOnAction && random.chance(0.4) ? "data" : random.pick(kinds)) {
    case "data":
      return { on: "data", least: random.integer(6) };
    case "metric":
      return { on: "metric", id: random.pick(metricIds), least: random.integer(8) };
    case "count":
      return {
        on: "count",
        action,
        where: random.integer(4),
        window: windowOf(random),
        least: 1 + random.integer(4),
      };
    case "sum":
      return {
        on: "sum",
        action,
        where: random.integer(4),
        window: windowOf(random),
        least: 1 + random.integer(15),
      };
    case "streak":
      return {
        on: "streak",
        action,
        unit: random.pick(["day", "week", "month"] as const),
        least: 1 + random.integer(3),
      };
    case "challenge":
      return {
        on: "challenge",
        id: random.pick(challengeIds),
        is: random.pick(["none", "in_progress", "completed", "failed"]),
      };
    case "item":
      return { on: "item", id: `i${random.integer(2)}` };
    default:
      return null;
  }
}

function reward(random: Random): ModelEffect {
  if (random.chance(0.3)) return { type: "inventory", item: `i${random.integer(2)}` };
  return { type: "metric", id: random.pick(metricIds), amount: random.integer(13) - 5, timesData: false };
}

function effect(
  random: Random,
  isOnAction: boolean,
  missionsOf: ReadonlyMap<string, readonly ModelMission[]>,
): ModelEffect {
  if (random.chance(0.6)) {
    const given = reward(random);
    return given.type === "metric" ? { ...given, timesData: isOnAction && random.chance(0.4) } : given;
  }
  if (random.chance(0.2)) return { type: "inventoryLoss", item: `i${random.integer(2)}` };
  const challenge = random.pick([...missionsOf.keys()]);
  if (random.chance(0.25)) {
    const mission = random.pick(missionsOf.get(challenge) ?? []);
    return { type: "missionCompletion", challenge, mission: mission.id };
  }
  const type = random.pick([
    "challengeStart",
    "challengeStart",
    "challengeCompletion",
    "challengeFailure",
  ] as const);
  return { type, challenge };
}

function challengeOf(random: Random, index: number, start: number): ModelChallenge {
  const recurrence = random.pick(["none", "onCompletion", "onExpiration"] as const);
  const period = recurrence === "onExpiration" && random.chance(0.6) ? random.pick(calendarUnits) : null;
  const isBounded = random.chance(0.3);
  return {
    id: uuid("c", index),
    from: isBounded ? start + random.integer(2) * dayMs : 0,
    to: isBounded ? start + (2 + random.integer(4)) * dayMs : Number.POSITIVE_INFINITY,
    start: random.chance(0.7) ? "auto" : "rule",
    within:
      (recurrence === "onExpiration" && period === null) || random.chance(0.3) ? durationOf(random) : null,
    failOn: random.chance(0.3) ? { action: random.pick(actionNames), when: condition(random, true) } : null,
    recurrence,
    period,
    requires: index > 0 && random.chance(0.3) ? [uuid("c", index - 1)] : [],
    missions: several(random, 3, m => mission(random, uuid("a", m))),
    rewards: several(random, 2, () => reward(random)),
  };
}

function mission(random: Random, id: string): ModelMission {
  if (random.chance(0.25))
    return { id, rule: { metric: random.pick(metricIds), atLeast: 1 + random.integer(8) } };
  const rule = {
    action: random.pick(actionNames),
    when: condition(random, true),
    count: 1 + random.integer(5),
    addsData: random.chance(0.3),
  };
  return { id, rule };
}

/** A window that may count for all users. */
function globalWindow(random: Random): ModelWindow {
  return random.chance(0.3) ? null : { unit: random.pick(calendarUnits), last: 1, isCalendar: true };
}

function limitOf(random: Random, mayBeGlobal: boolean): ModelLimit {
  const max = 1 + random.integer(3);
  return mayBeGlobal && random.chance(0.4)
    ? { max, window: globalWindow(random), isGlobal: true }
    : { max, window: windowOf(random), isGlobal: false };
}

/** Zones that change their clocks by an hour, on either side of the equator, by half an hour, and never. */
export const zones: readonly string[] = [
  "Europe/London",
  "America/New_York",
  "Pacific/Chatham",
  "Australia/Lord_Howe",
  "Asia/Kathmandu",
  "Pacific/Pago_Pago",
  "Pacific/Kiritimati",
];

/** Shortly before leap day, before clocks change in the north and in the south, and before the year turns. */
const starts = [
  "2028-02-26",
  "2028-03-09",
  "2028-03-24",
  "2028-03-30",
  "2028-09-22",
  "2028-10-27",
  "2028-12-29",
];

/** When the first action may come, Unix ms. */
export function randomStart(random: Random): number {
  return Date.parse(`${random.pick(starts)}T09:00:00Z`) + random.integer(24) * hourMs;
}

/**
 * @param start When the first action may come, Unix ms.
 * @param mayLimitAll Whether rules may have limits for all users, which one user alone does not know of.
 */
export function randomSpace(random: Random, start: number, mayLimitAll = false): ModelSpace {
  const challenges = challengeIds.map((_, index) => challengeOf(random, index, start));
  const missionsOf = new Map(challenges.map(({ id, missions }) => [id, missions]));
  const rules = several(random, 7, (index): ModelRule => {
    const isOnAction = random.chance(0.7);
    const other = [
      `metric:${random.pick(metricIds)}`,
      `challengeCompleted:${random.pick(challengeIds)}`,
      "milestoneReached:ladder",
      "inventoryReceived:set",
    ];
    return {
      id: `r${index}`,
      trigger: isOnAction ? `action:${random.pick(actionNames)}` : random.pick(other),
      when: condition(random, isOnAction),
      effects: several(random, 3, () => effect(random, isOnAction, missionsOf)),
      priority: random.integer(3),
      limits: random.chance(0.4) ? several(random, 2, () => limitOf(random, mayLimitAll && isOnAction)) : [],
      group: random.chance(0.3) ? random.pick(["x", "y"]) : null,
      isTagged: index === 0 || random.chance(0.4),
    };
  });
  const rungs = [3, 6, 9].map(threshold => ({ threshold, rewards: [reward(random)] }));
  const expires = random.chance(0.5) ? { after: durationOf(random) } : { endOf: random.pick(calendarUnits) };
  // The ends of runs that follow the calendar of a traveller are in the tests of travellers.
  const isOfTravellers = !mayLimitAll && random.chance(0.3);
  return {
    zone: random.pick(zones),
    isOfTravellers,
    weekStartsOn: random.pick(["monday", "sunday"] as const),
    measure: random.pick(["balance", "earned"] as const),
    multipliers: random.chance(0.5) ? several(random, 2, () => multiplierOf(random, start)) : [],
    expires,
    rules,
    challenges: isOfTravellers ? challenges.map(withoutCalendar) : challenges,
    rungs,
  };
}

function withoutCalendar(challenge: ModelChallenge): ModelChallenge {
  const { period, recurrence, within } = challenge;
  return {
    ...challenge,
    period: null,
    recurrence: period === null ? recurrence : "none",
    within: within === null ? null : { hours: 30 },
  };
}

function multiplierOf(random: Random, start: number): ModelMultiplier {
  const from = start + random.integer(4) * dayMs;
  const to = from + (1 + random.integer(5)) * dayMs;
  return { factor: random.pick([1.5, 2, 3]), from, to, isForTagged: random.chance(0.5) };
}
