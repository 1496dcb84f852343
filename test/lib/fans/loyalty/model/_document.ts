/** Writes the facts of a random space as a loyalty configuration. */

import type {
  ModelChallenge,
  ModelCondition,
  ModelEffect,
  ModelMission,
  ModelRule,
  ModelSpace,
  ModelWindow,
} from "./_random_space.ts";
import { actionNames } from "./_random_space.ts";

const n = { var: "data.n" };

export function documentOf(space: ModelSpace): object {
  const { zone, isOfTravellers, weekStartsOn, measure, multipliers, expires, rules, challenges, rungs } =
    space;
  return {
    timeZone: zone,
    ...(isOfTravellers ? { userTimeZone: { var: "user.custom.home" } } : {}),
    weekStartsOn,
    multipliers: multipliers.map(({ factor, from, to, isForTagged }, index) => ({
      id: `x${index}`,
      factor,
      ...(isForTagged ? { tag: "tagged" } : {}),
      time: { from: from / 1_000, to: to / 1_000 },
    })),
    metrics: [
      { id: "m0", title: "", defaultValue: 1, minimumValue: -5, maximumValue: 12 },
      { id: "m1", title: "", maximumValue: 40, lots: { expires } },
      { id: "m2", title: "" },
    ],
    inventory: [{ id: "set", title: "", items: ["i0", "i1"].map(id => ({ id, title: "" })) }],
    milestones: [
      {
        id: "ladder",
        title: "",
        metricId: "m0",
        measure,
        milestones: rungs.map(({ threshold, rewards }) => ({
          id: `rung-${threshold}`,
          title: "",
          threshold,
          rewards: rewards.map(effectOf),
        })),
      },
    ],
    actions: actionNames.map(name => ({ name, data: { n: "number", eventId: "string" } })),
    rules: rules.map(ruleOf),
    challenges: challenges.map(challengeOf),
  };
}

function whenOf(condition: ModelCondition | null): object {
  return condition === null ? {} : { when: expressionOf(condition) };
}

function expressionOf(condition: ModelCondition): object {
  switch (condition.on) {
    case "data":
      return { gte: [n, condition.least] };
    case "metric":
      return { gte: [{ var: `user.metrics.${condition.id}` }, condition.least] };
    case "count":
    case "sum": {
      const { on, action, where, window, least } = condition;
      const of = on === "sum" ? { of: n } : {};
      const definition = { action, ...of, where: { gte: [n, where] }, ...windowOf(window) };
      return { gte: [{ [on]: definition }, least] };
    }
    case "streak":
      return { gte: [{ streak: { action: condition.action, unit: condition.unit } }, condition.least] };
    case "challenge":
      return { eq: [{ var: `user.challenges.${condition.id}` }, condition.is] };
    case "item":
      return { contains: [{ var: "user.inventory.set" }, condition.id] };
  }
}

function windowOf(window: ModelWindow): object {
  if (window === null) return {};
  const { unit, last, isCalendar } = window;
  return { window: isCalendar ? { calendar: unit } : { last, unit } };
}

function effectOf(effect: ModelEffect): object {
  switch (effect.type) {
    case "metric": {
      const { id, amount, timesData } = effect;
      return { type: "metric", metricId: id, metricQuantity: timesData ? { mul: [n, amount] } : amount };
    }
    case "inventory":
    case "inventoryLoss":
      return { type: effect.type, inventorySetId: "set", inventoryItemId: effect.item };
    case "missionCompletion":
      return { type: effect.type, challengeId: effect.challenge, missionId: effect.mission };
    default:
      return { type: effect.type, challengeId: effect.challenge };
  }
}

function ruleOf({ id, trigger, when, effects, priority, limits, group, isTagged }: ModelRule): object {
  const [kind = "", of = ""] = trigger.split(":");
  return {
    id,
    trigger: { [kind]: of },
    ...whenOf(when),
    effects: effects.map(effectOf),
    priority,
    limits: limits.map(({ max, window, isGlobal }) => ({
      per: isGlobal ? "global" : "user",
      max,
      ...windowOf(window),
    })),
    ...(group === null ? {} : { group }),
    tags: isTagged ? ["tagged"] : [],
  };
}

function challengeOf(challenge: ModelChallenge): object {
  const { id, from, to, start, within, failOn, recurrence, period, requires, missions, rewards } = challenge;
  return {
    id,
    title: "",
    time: { from: from / 1_000, to: to === Number.POSITIVE_INFINITY ? 0 : to / 1_000 },
    start,
    ...(within === null ? {} : { within }),
    ...(failOn === null ? {} : { fail: { action: failOn.action, ...whenOf(failOn.when) } }),
    recurrence,
    ...(period === null ? {} : { period }),
    requires,
    missions: missions.map(missionOf),
    rewards: rewards.map(effectOf),
  };
}

function missionOf({ id, rule }: ModelMission): object {
  if ("metric" in rule) return { id, title: "", rule };
  const { action, when, count, addsData } = rule;
  return { id, title: "", rule: { action, count, ...whenOf(when), ...(addsData ? { amount: n } : {}) } };
}
