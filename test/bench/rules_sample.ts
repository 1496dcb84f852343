/** One sample of the benchmark of rules: how fast one engine finds the missions that actions advance. */

import jsonLogic, { type RulesLogic } from "json-logic-js";
import { Engine, type RuleProperties } from "json-rules-engine";
import type { Scope, UserView } from "../../lib/fans/loyalty/config/compiled.ts";
import { applyAction } from "../../lib/fans/loyalty/engine/apply_change.ts";
import { compileConfig } from "../../lib/fans/loyalty/mod.ts";
import { emptyState } from "../../lib/fans/loyalty/user/state.ts";
import {
  actionNames,
  configuration,
  crowdedConfiguration,
  type Mission,
  missions,
  points,
  type Reported,
  reported,
} from "./rules_missions.ts";

/** Measures of one sample. */
export interface RulesSample {
  /** Actions evaluated per second of processor time. */
  readonly perSecond: number;
  /** Missions that hold, of all actions together: the same for every engine. */
  readonly hits: number;
}

/** Finds how many missions hold; json-rules-engine alone does not answer at once. */
type Evaluate = (action: Reported) => number | Promise<number>;

const variants: Readonly<Record<string, () => Evaluate>> = {
  Grandstand: () => plans(configuration()),
  "Grandstand with 1,500 unrelated rules more": () => plans(crowdedConfiguration()),
  "Grandstand, the whole decision": decisions,
  "json-logic-js": () => logic(missions),
  "json-logic-js, rules by action": () => byAction(logic),
  "json-rules-engine": () => rulesEngine(missions),
  "json-rules-engine, an engine for each action": () => byAction(rulesEngine),
};
/** The engines in the order of the table. */
export const variantNames: readonly string[] = Object.keys(variants);

const [mode = "", variant = "", milliseconds = ""] = process.argv.slice(2);
if (mode === "--sample") console.log(JSON.stringify(await sample(variant, Number(milliseconds))));

async function sample(name: string, measureMs: number): Promise<RulesSample> {
  const evaluate = variants[name]?.();
  if (evaluate === undefined) throw new RangeError(`There is no engine ${name}`);
  const hits = await evaluateAll(evaluate);
  await passes(evaluate, measureMs / 2);
  const before = process.cpuUsage();
  const done = await passes(evaluate, measureMs);
  const { user, system } = process.cpuUsage(before);
  return { perSecond: (done * reported.length * 1e6) / (user + system), hits };
}

/** Evaluates all actions again and again, and answers how often. */
async function passes(evaluate: Evaluate, ms: number): Promise<number> {
  const end = performance.now() + ms;
  let done = 0;
  for (; performance.now() < end; done++) await evaluateAll(evaluate);
  return done;
}

async function evaluateAll(evaluate: Evaluate): Promise<number> {
  let hits = 0;
  for (const action of reported) {
    const found = evaluate(action);
    hits += typeof found === "number" ? found : await found;
  }
  return hits;
}

/** Asks the conditions of what an action may cause. */
function plans(document: object): Evaluate {
  const { actions } = compileConfig(document);
  const user: UserView = {
    metric: () => points,
    items: () => [],
    challenge: () => "none",
    milestone: () => "",
    distinctValues: () => 0,
    counterValue: () => 0,
    customField: () => undefined,
  };
  return ({ name, data }) => {
    const plan = actions.get(name);
    if (plan === undefined) return 0;
    const scope: Scope = { data, user };
    let hits = 0;
    for (const { when } of plan.rules) if (when(scope)) hits += 1;
    for (const { when } of plan.missions) if (when(scope)) hits += 1;
    return hits;
  };
}

/** Decides everything that an action does to a user who has completed nothing yet. */
function decisions(): Evaluate {
  const compiled = compileConfig(configuration());
  const state = { ...emptyState(null), metrics: { points } };
  return ({ name, data }) => {
    const { record } = applyAction(compiled, state, { name, data, at: Date.UTC(2026, 5, 1) });
    return record.transactions.filter(({ type }) => type === "missionCompleted").length;
  };
}

function logic(selected: readonly Mission[]): Evaluate {
  const rules = selected.map(
    ({ action, sport, fact, least }): RulesLogic => ({
      and: [
        { "===": [{ var: "action" }, action] },
        { "===": [{ var: "sport" }, sport] },
        { ">=": [{ var: fact }, least] },
      ],
    }),
  );
  return action => {
    const facts = factsOf(action);
    let hits = 0;
    for (const rule of rules) if (jsonLogic.apply(rule, facts) === true) hits += 1;
    return hits;
  };
}

/** Every condition has a fact of its own, which this engine reads faster than paths into one. */
function rulesEngine(selected: readonly Mission[]): Evaluate {
  const rules = selected.map(
    ({ action, sport, fact, least }): RuleProperties => ({
      conditions: {
        all: [
          { fact: "action", operator: "equal", value: action },
          { fact: "sport", operator: "equal", value: sport },
          { fact, operator: "greaterThanInclusive", value: least },
        ],
      },
      event: { type: "advance" },
    }),
  );
  const engine = new Engine(rules);
  return async action => (await engine.run(factsOf(action))).events.length;
}

function factsOf({ name, data }: Reported): Record<string, string | number | boolean> {
  return { action: name, points, ...data };
}

/** As a careful user would help the engine: it is shown the rules that name the action, and no others. */
function byAction(engineOf: (missions: readonly Mission[]) => Evaluate): Evaluate {
  const engines = new Map(
    actionNames.map(name => [name, engineOf(missions.filter(({ action }) => action === name))]),
  );
  return action => engines.get(action.name)?.(action) ?? 0;
}
