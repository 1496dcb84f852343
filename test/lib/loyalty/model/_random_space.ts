/** Random loyalty configurations, as documents for the engine and as plain facts for the naive model. */

import type { Random } from "../../../../adapters/conformance/random.ts";

export const actionNames: readonly string[] = ["a", "b", "c"];
export const metricIds: readonly string[] = ["m0", "m1", "m2"];
export const hourMs = 3_600_000;
export const dayMs: number = 24 * hourMs;

/** `last` steps of a unit; calendar windows have one. Null: all time. */
export type ModelWindow = { readonly unit: Unit; readonly last: number; readonly isCalendar: boolean } | null;
export type Unit = "minute" | "hour" | "day" | "week" | "month";

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
  readonly limits: readonly { readonly max: number; readonly window: ModelWindow }[];
  readonly group: string | null;
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
  readonly withinHours: number | null;
  readonly failOn: { readonly action: string; readonly when: ModelCondition | null } | null;
  readonly recurrence: "none" | "onCompletion" | "onExpiration";
  readonly daily: boolean;
  readonly requires: readonly string[];
  readonly missions: readonly ModelMission[];
  readonly rewards: readonly ModelEffect[];
}

export interface ModelSpace {
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
  if (random.chance(0.4))
    return { unit: random.pick(["day", "week", "month"] as const), last: 1, isCalendar: true };
  const unit = random.pick(["minute", "hour", "day", "week"] as const);
  return { unit, last: 1 + random.integer(5), isCalendar: false };
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
  const daily = recurrence === "onExpiration" && random.chance(0.6);
  const isBounded = random.chance(0.3);
  return {
    id: uuid("c", index),
    from: isBounded ? start + random.integer(2) * dayMs : 0,
    to: isBounded ? start + (2 + random.integer(4)) * dayMs : Number.POSITIVE_INFINITY,
    start: random.chance(0.7) ? "auto" : "rule",
    withinHours:
      (recurrence === "onExpiration" && !daily) || random.chance(0.3) ? 1 + random.integer(40) : null,
    failOn: random.chance(0.3) ? { action: random.pick(actionNames), when: condition(random, true) } : null,
    recurrence,
    daily,
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

/** @param start When the first action may come, Unix ms. */
export function randomSpace(random: Random, start: number): ModelSpace {
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
      limits: random.chance(0.4)
        ? several(random, 2, () => ({ max: 1 + random.integer(3), window: windowOf(random) }))
        : [],
      group: random.chance(0.3) ? random.pick(["x", "y"]) : null,
    };
  });
  const rungs = [3, 6, 9].map(threshold => ({ threshold, rewards: [reward(random)] }));
  return { rules, challenges, rungs };
}
