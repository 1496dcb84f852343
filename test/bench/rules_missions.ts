/**
 * The rules of the benchmark: 50 challenges of three missions spread over 20 actions, and 200 actions that were
 * reported. Each mission has two conditions beside its action: on a text that was reported, and on a number that was reported
 * or, for every third, a metric of the user.
 *
 * @module
 */

import { createRandom } from "../../adapters/conformance/random.ts";

/** A mission as every engine is told it. */
export interface Mission {
  readonly action: string;
  readonly sport: string;
  readonly fact: "value" | "points";
  readonly least: number;
}

/** An action that was reported. */
export interface Reported {
  readonly name: string;
  readonly data: { readonly sport: string; readonly value: number; readonly correct: boolean };
}

/** Balance of every user in the metric `points`. */
export const points = 50;
const missionCount = 150;
const missionsPerChallenge = 3;
const reportedCount = 200;
const unrelatedRules = 500;
const unrelatedMissions = 1_000;
const unrelatedMissionsPerChallenge = 10;

const random = createRandom(7);
const sports = ["tennis", "football", "cycling", "sailing"];

/** The names of the actions that missions name. */
export const actionNames: readonly string[] = Array.from({ length: 20 }, (_, index) => `action${index}`);
const unrelatedNames: readonly string[] = Array.from({ length: 200 }, (_, index) => `unrelated${index}`);

/** The missions. */
export const missions: readonly Mission[] = Array.from({ length: missionCount }, (_, index) => ({
  ...randomMission(actionNames[index % actionNames.length] ?? ""),
  fact: index % 3 === 0 ? "points" : "value",
}));

/** The actions. */
export const reported: readonly Reported[] = Array.from({ length: reportedCount }, () => ({
  name: random.pick(actionNames),
  data: { sport: random.pick(sports), value: random.integer(100), correct: random.chance(0.5) },
}));

/** The missions as a loyalty configuration. */
export function configuration(): object {
  return {
    metrics: [{ id: "points", title: "" }],
    actions: actionNames.map(name => ({ name })),
    challenges: challengesOf(missions, missionsPerChallenge),
  };
}

/** The same with ten times as many rules and missions that name none of the actions. */
export function crowdedConfiguration(): object {
  const others = Array.from({ length: unrelatedMissions }, () => randomMission(random.pick(unrelatedNames)));
  const rules = Array.from({ length: unrelatedRules }, (_, index) => ({
    id: `rule${index}`,
    trigger: { action: random.pick(unrelatedNames) },
    when: conditionOf(randomMission("")),
    effects: [{ type: "metric", metricId: "points", metricQuantity: 1 }],
  }));
  return {
    metrics: [{ id: "points", title: "" }],
    actions: [...actionNames, ...unrelatedNames].map(name => ({ name })),
    challenges: [
      ...challengesOf(missions, missionsPerChallenge),
      ...challengesOf(others, unrelatedMissionsPerChallenge, missionCount),
    ],
    rules,
  };
}

function randomMission(action: string): Mission {
  return { action, sport: random.pick(sports), fact: "value", least: random.integer(100) };
}

function conditionOf({ sport, fact, least }: Mission): object {
  const path = fact === "points" ? "user.metrics.points" : "data.value";
  return { all: [{ eq: [{ var: "data.sport" }, sport] }, { gte: [{ var: path }, least] }] };
}

function challengesOf(all: readonly Mission[], perChallenge: number, firstId = 0): object[] {
  const steps = all.map((mission, index) => ({
    id: uuid(1, firstId + index),
    title: "",
    rule: { action: mission.action, when: conditionOf(mission) },
  }));
  return Array.from({ length: all.length / perChallenge }, (_, index) => ({
    id: uuid(2, firstId + index),
    title: "",
    missions: steps.slice(index * perChallenge, (index + 1) * perChallenge),
  }));
}

function uuid(kind: number, number: number): string {
  return `00000000-0000-4000-800${kind}-${String(number).padStart(12, "0")}`;
}
