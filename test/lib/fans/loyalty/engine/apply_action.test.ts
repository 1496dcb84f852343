import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyAction } from "../../../../../lib/fans/loyalty/engine/apply_change.ts";
import type { Outcome } from "../../../../../lib/fans/loyalty/engine/next_state.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { emptyState, type UserState } from "../../../../../lib/fans/loyalty/user/state.ts";

const [one, two] = ["0f000000-0000-4000-8000-000000000001", "0f000000-0000-4000-8000-000000000002"];
const [first, second] = ["0e000000-0000-4000-8000-000000000001", "0e000000-0000-4000-8000-000000000002"];
const points = (metricQuantity: number) => ({ type: "metric", metricId: "points", metricQuantity });
const badge = { type: "inventory", inventorySetId: "badges", inventoryItemId: "oracle" };
const base = {
  metrics: [{ id: "points", title: "", defaultValue: 2, minimumValue: 0, maximumValue: 10 }],
  inventory: [{ id: "badges", title: "", items: [{ id: "oracle", title: "" }] }],
  actions: [{ name: "go" }, { name: "stop" }],
};
const rule = (id: string, effects: readonly object[], more: object = {}) => ({
  id,
  trigger: { action: "go" },
  effects,
  ...more,
});
const mission = (id: string, more: object = {}) => ({ id, title: "", rule: { action: "go", ...more } });
const challenge = (id: string, missions: readonly object[], more: object = {}) => ({
  id,
  title: "",
  missions,
  ...more,
});

interface Play {
  readonly state: UserState;
  readonly outcomes: readonly Outcome[];
}

/** Applies actions one after the other. */
function play(
  parts: object,
  actions: readonly { name?: string; data?: Record<string, string | number | boolean>; at?: number }[],
): Play {
  const config = compileConfig({ ...base, ...parts });
  const outcomes: Outcome[] = [];
  let state = emptyState(null);
  for (const { name = "go", data = {}, at = 0 } of actions) {
    const outcome = applyAction(config, state, { name, data, at });
    outcomes.push(outcome);
    state = outcome.state;
  }
  return { state, outcomes };
}

describe("applying an action", () => {
  it("starts a metric at its default and keeps it inside its bounds", () => {
    const table: [quantities: readonly number[], value: number, gained: number][] = [
      [[3], 5, 3],
      [[8], 10, 8],
      [[9], 10, 8],
      [[-2], 0, -2],
      [[-5], 0, -2],
      [[-5, 4], 4, 2],
      [[20, -3], 7, 5],
    ];
    for (const [quantities, value, gained] of table) {
      const { state, outcomes } = play({ rules: [rule("r", quantities.map(points))] }, [{}]);
      assert.equal(state.metrics.points, value, String(quantities));
      assert.deepEqual(outcomes[0]?.gained, gained === 0 ? {} : { points: gained });
      assert.deepEqual(outcomes[0]?.record.transactions[0]?.payload.metricChanges, {
        points: { oldValue: 2, newValue: value },
      });
    }
  });

  it("lists no change without one", () => {
    const { outcomes, state } = play({ rules: [rule("r", [points(3), points(-3)])] }, [{}]);
    assert.deepEqual(outcomes[0]?.gained, {});
    assert.equal(state.metrics.points, 2);
    assert.deepEqual(outcomes[0]?.record.transactions[0]?.payload.metricChanges, {});
  });

  it("decides every rule and mission by the state before the action", () => {
    const poor = { lt: [{ var: "user.metrics.points" }, 5] };
    const rich = { not: poor };
    const parts = {
      rules: [
        rule("a", [points(3)], { when: poor }),
        rule("b", [points(1)], { when: poor }),
        rule("c", [points(-4)], { when: rich }),
      ],
      challenges: [challenge(first, [mission(one, { when: rich })])],
    };
    const { state, outcomes } = play(parts, [{}, {}]);
    assert.deepEqual(
      outcomes.map(({ state: { metrics } }) => metrics.points),
      [6, 2],
    );
    assert.deepEqual(
      outcomes.map(({ state: { challenges } }) => challenges[first]?.status === "completed"),
      [false, true],
    );
    assert.equal(state.revision, 2);
  });

  it("gives an item once", () => {
    const { state, outcomes } = play({ rules: [rule("r", [badge, badge])] }, [{}, {}]);
    assert.deepEqual(state.inventory, { badges: ["oracle"] });
    const received = outcomes.map(
      ({ record: { transactions } }) => transactions[0]?.payload.inventoryChanges.received,
    );
    assert.deepEqual(received, [[{ setId: "badges", itemId: "oracle" }], []]);
  });

  it("counts a mission until it is complete, and completes its challenge once", () => {
    const parts = {
      challenges: [
        challenge(first, [mission(one, { count: 2 }), mission(two, { count: 3 })], { rewards: [points(1)] }),
      ],
    };
    const { outcomes } = play(parts, Array(5).fill({}));
    const progress = outcomes.map(({ state: { challenges } }) => challenges[first]);
    assert.deepEqual(
      progress.map(found => found?.missionsCompleted.length),
      [0, 1, 2, 2, 2],
    );
    assert.deepEqual(
      progress.map(found => found?.status === "completed"),
      [false, false, true, true, true],
    );
    assert.deepEqual(progress[4]?.counts, { [one]: 2, [two]: 3 });
    assert.deepEqual(
      outcomes.map(({ state: { metrics } }) => metrics.points),
      [undefined, undefined, 3, 3, 3],
    );
    const types = outcomes.map(({ record: { transactions } }) => transactions.map(({ type }) => type));
    assert.deepEqual(types, [[], ["missionCompleted"], ["missionCompleted", "challengeCompleted"], [], []]);
  });

  it("completes several challenges by one action, in their order", () => {
    const parts = {
      challenges: [
        challenge(second, [mission(one)], { rewards: [points(7)] }),
        challenge(first, [mission(one)], { rewards: [points(7)] }),
      ],
    };
    const { outcomes } = play(parts, [{}]);
    const done = outcomes[0]?.record.transactions.filter(({ type }) => type === "challengeCompleted");
    assert.deepEqual(
      done?.map(({ payload }) => payload.challengeId),
      [second, first],
    );
    assert.deepEqual(
      done?.map(({ payload }) => payload.metricChanges),
      [{ points: { oldValue: 2, newValue: 9 } }, { points: { oldValue: 9, newValue: 10 } }],
    );
    assert.deepEqual(outcomes[0]?.gained, { points: 8 });
  });

  it("advances a challenge only inside its time", () => {
    const parts = { challenges: [challenge(first, [mission(one)], { time: { from: 10, to: 20 } })] };
    const isDone = (at: number): boolean =>
      play(parts, [{ at }]).state.challenges[first]?.status === "completed";
    assert.deepEqual([0, 9_999, 10_000, 19_999, 20_000].map(isDone), [false, false, true, true, false]);
  });

  it("notifies only with a display", () => {
    const shown = { display: "toast", title: "T", message: "M" };
    const parts = {
      challenges: [challenge(first, [{ ...mission(one), notification: shown }, mission(two)])],
    };
    const { outcomes } = play(parts, [{}]);
    assert.deepEqual(
      outcomes[0]?.record.transactions.map(({ type }) => type),
      ["missionCompleted", "missionCompleted", "challengeCompleted"],
    );
    const [announced, ...others] = outcomes[0]?.notifications ?? [];
    assert.deepEqual(others, []);
    const { payload, ...rest } = announced ?? assert.fail();
    assert.deepEqual(rest, { type: "missionCompleted", ...shown });
    assert.equal(payload.missionId, one);
  });

  it("has no effect under an undeclared name, and does not change the state before", () => {
    const config = compileConfig({ ...base, rules: [rule("r", [points(1), badge])] });
    const before = Object.freeze({
      ...emptyState(null),
      metrics: Object.freeze({}),
      inventory: Object.freeze({}),
    });
    const none = applyAction(config, before, { name: "toString", data: {}, at: 0 });
    assert.deepEqual([none.record.transactions, none.notifications, none.gained], [[], [], {}]);
    applyAction(config, before, { name: "go", data: {}, at: 0 });
    assert.deepEqual(before, emptyState(null));
  });

  it("never reads an inherited name of the data", () => {
    const when = { exists: { var: "data.toString" } };
    const parts = { rules: [rule("r", [points(1)], { when })] };
    assert.equal(play(parts, [{}]).state.metrics.points, undefined);
    assert.equal(play(parts, [{ data: { toString: "own" } }]).state.metrics.points, 3);
  });
});
