/** Random actions under random configurations, compared with a naive model after every one of them. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../../../adapters/conformance/random.ts";
import { advanceTime } from "../../../../../lib/fans/loyalty/engine/advance_time.ts";
import { applyAction } from "../../../../../lib/fans/loyalty/engine/apply_change.ts";
import { compareStates, dryRun, replay } from "../../../../../lib/fans/loyalty/engine/replay.ts";
import { reconcile } from "../../../../../lib/fans/loyalty/ledger/reconcile.ts";
import { type CompiledConfig, compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import type { HistoryEntry, HistoryRecord } from "../../../../../lib/fans/loyalty/user/history.ts";
import { emptyState, type UserState } from "../../../../../lib/fans/loyalty/user/state.ts";
import { sampleSize } from "../../../../support/full.ts";
import { documentOf } from "./_document.ts";
import { NaiveUser } from "./_naive_user.ts";
import { randomPause } from "./_random_pause.ts";
import { actionNames, type ModelSpace, metricIds, randomSpace, randomStart, zones } from "./_random_space.ts";

const runs = sampleSize(1_000, 150);
const actionsPerRun = 30;

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const member of Object.values(value)) deepFreeze(member);
  }
  return value;
}

interface Played {
  readonly compiled: CompiledConfig;
  readonly state: UserState;
  readonly records: readonly HistoryEntry[];
}

function play(random: Random, where: string): Played {
  const start = randomStart(random);
  const space = randomSpace(random, start);
  const compiled = compileConfig(documentOf(space));
  const model = new NaiveUser(space);
  const records: HistoryRecord[] = [];
  let state = emptyState(null);
  let at = start;
  let home = "";
  for (let index = 0; index < actionsPerRun; index++) {
    at += randomPause(random, { at, zone: space.zone });
    const here = `${where}, action ${index}`;
    const settled = advanceTime(compiled, deepFreeze(state), at);
    model.pass(at);
    assertSame(settled.state, { model, space, where: `${here}, settled` });
    const [name, n] = [random.pick(actionNames), random.integer(6)];
    const action = { name, data: { n }, at };
    if (random.chance(0.3)) home = random.pick([...zones, "Mars/Base", ""]);
    const profile = space.isOfTravellers && home !== "" ? { profile: { home } } : {};
    const tried = dryRun(compiled, state, action, profile);
    const outcome = applyAction(compiled, deepFreeze(settled.state), action, profile);
    if (space.isOfTravellers) model.live(home, at);
    model.act(name, n, at);
    assert.deepEqual(outcome.fired, model.fired, here);
    assertSame(outcome.state, { model, space, where: here });
    assert.deepEqual(tried.state, outcome.state, here);
    assertGained(settled.state, outcome, here);
    for (const { ruleId, fired, failures } of tried.rules) assert.equal(fired, failures.length === 0, ruleId);
    const foretold = tried.rules.filter(({ fired }) => fired).map(({ ruleId }) => ruleId);
    assert.deepEqual(foretold.toSorted(), [...new Set(outcome.fired)].sort(), here);
    records.push(...settled.records, outcome.record);
    state = JSON.parse(JSON.stringify(outcome.state));
    assert.deepEqual(state, outcome.state, here);
  }
  const stored = records.map((record, index) => ({ ...record, id: `${record.at}-${index}` }));
  return { compiled, state, records: stored };
}

interface Expected {
  readonly model: NaiveUser;
  readonly space: ModelSpace;
  readonly where: string;
}

function assertSame(state: UserState, { model, space, where }: Expected): void {
  const defaults: Record<string, number> = { m0: 1, m1: 0, m2: 0 };
  for (const id of metricIds)
    assert.equal(state.metrics[id] ?? defaults[id], model.metric(id), `${where}: ${id}`);
  assert.deepEqual(state.inventory.set ?? [], model.items, where);
  assert.equal(state.milestones.ladder?.milestoneId ?? "", model.milestone, where);
  for (const { id } of space.challenges) {
    const progress = state.challenges[id];
    const what = `${where}: challenge ${id}`;
    assert.equal(progress?.status ?? "none", model.status(id), what);
    const shown = { done: progress?.missionsCompleted ?? [], counts: progress?.counts ?? {} };
    assert.deepEqual(shown, model.progress(id), what);
    assert.equal(progress?.completions ?? 0, model.completions(id), what);
  }
}

function assertGained(
  before: UserState,
  { state, gained }: ReturnType<typeof applyAction>,
  where: string,
): void {
  const defaults: Record<string, number> = { m0: 1, m1: 0, m2: 0 };
  for (const id of metricIds) {
    const by = (state.metrics[id] ?? defaults[id] ?? 0) - (before.metrics[id] ?? defaults[id] ?? 0);
    assert.equal(gained[id] ?? 0, by, `${where}: ${id}`);
  }
}

describe("the engine compared with a naive model", () => {
  it(`agrees under ${runs} random configurations after every one of ${actionsPerRun} actions, and reconciles its ledger`, () => {
    for (let seed = 1; seed <= runs; seed++) {
      const where = `seed ${seed}`;
      const { compiled, state, records } = play(createRandom(seed), where);
      const proof = reconcile(state, records, id => compiled.metrics.get(id)?.defaultValue ?? 0);
      assert.deepEqual(proof.faults, [], where);
      const replayed = replay(compiled, records);
      assert.deepEqual(compareStates(state, replayed), [], where);
      assert.deepEqual(replayed, state, where);
    }
  });
});
