/** The recipes of the guide for points and tiers that last for a time. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyReversal } from "../../../../../lib/fans/loyalty/engine/apply_change.ts";
import { replay } from "../../../../../lib/fans/loyalty/engine/replay.ts";
import { reconcile } from "../../../../../lib/fans/loyalty/ledger/reconcile.ts";
import { balancesOf } from "../../../../../lib/fans/loyalty/ledger/settle_lots.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { transactionsOf } from "../../../../../lib/fans/loyalty/user/history.ts";
import { recipeOf } from "../../../../support/recipes.ts";
import { Player, points, rule } from "./_player.ts";

/** Returns a player under the document of a recipe. */
function recipe(title: string): Player {
  return new Player(recipeOf(title));
}

describe("points that count after the time for returns", () => {
  const title = "Points that count after the time for returns";
  const metrics = ({ state, compiled }: Player): unknown[] => {
    const account = { balance: state.metrics.points ?? 0, lots: state.lots.points ?? [] };
    const { available, pending } = balancesOf(account, state.changedAt);
    return [available, pending, compiled.metrics.get("points")?.allowNegative];
  };

  it("are rounded, pending for two weeks, and owed where they were spent before a reversal", () => {
    const player = recipe(title);
    const { record } = player.act("purchase", "2026-03-01T12:00:00Z", { amount: 45 });
    assert.deepEqual(metrics(player), [0, 5, true]);
    player.pass("2026-03-15T23:59:59Z");
    assert.deepEqual(metrics(player), [0, 5, true]);
    player.pass("2026-03-16T00:00:00Z");
    assert.deepEqual(metrics(player), [5, 0, true]);
    const at = Date.parse("2026-03-17T00:00:00Z");
    player.grant({ rewards: [{ type: "metric", metricId: "points", metricQuantity: -4 }], at });
    const [transaction] = transactionsOf({ ...record, id: "1" });
    assert.ok(transaction !== undefined);
    player.take(applyReversal(player.compiled, player.state, { transaction, at }));
    assert.deepEqual(metrics(player), [-4, 0, true]);
    assert.deepEqual(reconcile(player.state, player.records, () => 0).faults, []);
  });
});

describe("points that expire without activity, and a reminder", () => {
  const title = "Points that expire without activity, and a reminder";
  const seconds = (at: string): number => Date.parse(at) / 1_000;

  it("expire with the last day of the time, after one reminder, unless the fan does something", () => {
    const player = recipe(title);
    player.act("checkin", "2025-01-10T12:00:00Z");
    player.act("checkin", "2025-03-01T12:00:00Z");
    assert.deepEqual(player.pass("2026-01-30T23:59:59Z"), []);
    const [reminder, ...others] = player.pass("2026-01-31T00:00:00Z");
    assert.deepEqual([reminder?.type, others], ["pointsExpiring", []]);
    const end = seconds("2026-03-02T00:00:00Z");
    assert.deepEqual(reminder?.payload.metadata, {
      metricId: "points",
      amount: 20,
      expiresAt: end,
      until: end,
    });
    assert.deepEqual(
      player.notifications.map(({ type, title: shown }) => [type, shown]),
      [["pointsExpiring", "Your points expire"]],
    );
    player.act("checkin", "2026-03-01T23:00:00Z");
    assert.deepEqual(player.pass("2027-01-29T23:59:59Z"), []);
    const types = player.pass("2027-12-01T00:00:00Z").map(({ type }) => type);
    assert.deepEqual([types, player.state.metrics.points], [["pointsExpiring", "pointsExpired"], 0]);
    assert.deepEqual(
      player.records.slice(-2).map(({ at }) => new Date(at).toISOString()),
      ["2027-01-31T00:00:00.000Z", "2027-03-02T00:00:00.000Z"],
    );
    assert.equal(player.state.dueAt, null);
    const { compiled, records, state } = player;
    assert.deepEqual(replay(compiled, records), { ...state, changedAt: records.at(-1)?.at });
    assert.deepEqual(reconcile(state, records, () => 0).faults, []);
  });

  it("come for points with dates of their own, at most once in the time before, and never late", () => {
    const reminder = { before: { days: 10 } };
    const player = new Player({
      metrics: [{ id: "points", title: "", lots: { expires: { after: { days: 30 } }, reminder } }],
      rules: [rule("r", [points(1)])],
    });
    for (let day = 1; day <= 30; day++) {
      player.act("go", `2026-06-${String(day).padStart(2, "0")}T12:00:00Z`);
    }
    player.pass("2026-09-01T00:00:00Z");
    const shown = player.records.flatMap(({ at, transactions }) =>
      transactions
        .filter(({ type }) => type === "pointsExpiring")
        .map(({ payload }) => [new Date(at).toISOString().slice(5, 10), payload.metadata?.amount]),
    );
    // The point of 1 June expires with 1 July. A reminder covers what expires within twenty days.
    assert.deepEqual(shown, [
      ["06-22", 11],
      ["07-03", 11],
      ["07-14", 8],
    ]);
    assert.deepEqual(replay(player.compiled, player.records).reminded, player.state.reminded);
  });

  it("are of documents that name them: others keep no time of activity", () => {
    const player = new Player({ rules: [rule("r", [points(1)])] });
    player.act("go", "2026-06-01T12:00:00Z");
    assert.deepEqual([player.state.activeAt, player.state.reminded, player.state.dueAt], [0, {}, null]);
  });
});

describe("tiers that shopping does not take", () => {
  const title = "Tiers that shopping does not take";
  const tier = ({ state }: Player): string | undefined => state.milestones.tiers?.milestoneId;

  it("follow what was earned, whatever was spent or expired in between", () => {
    const player = recipe(title);
    player.act("purchase", "2026-01-01T12:00:00Z", { amount: 60 });
    player.grant({
      rewards: [{ type: "metric", metricId: "points", metricQuantity: -60 }],
      at: Date.parse("2026-01-02T12:00:00Z"),
    });
    assert.equal(tier(player), undefined);
    player.act("purchase", "2026-01-03T12:00:00Z", { amount: 40 });
    assert.deepEqual([player.state.metrics.points, tier(player)], [40, "silver"]);
    player.pass("2027-06-01T00:00:00Z");
    assert.deepEqual([player.state.metrics.points, tier(player)], [0, "silver"]);
    player.act("purchase", "2027-06-01T00:00:00Z", { amount: 400 });
    assert.deepEqual([player.state.metrics.points, tier(player)], [400, "gold"]);
  });

  it("count points once they are usable", () => {
    const milestones = [
      {
        id: "l",
        title: "",
        metricId: "points",
        measure: "earned",
        milestones: [{ id: "a", title: "", threshold: 10 }],
      },
    ];
    const player = new Player({
      metrics: [{ id: "points", title: "", lots: { activatesAfter: { hours: 24 } } }],
      rules: [rule("r", [points(5)])],
      milestones,
    });
    player.act("go", "2026-01-01T12:00:00Z");
    player.act("go", "2026-01-02T11:00:00Z");
    const reached = ["2026-01-02T12:00:00Z", "2026-01-03T11:00:00Z"].map(at => {
      player.pass(at);
      return player.state.milestones.l?.milestoneId;
    });
    assert.deepEqual(reached, [undefined, "a"]);
  });

  it("cannot have to be kept", () => {
    const [ladder] = recipeOf(title).milestones as object[];
    const milestones = [{ ...ladder, requalify: { endOf: "year" } }];
    assert.throws(
      () => compileConfig({ ...recipeOf(title), milestones }),
      (error: { fields: { pointer: string }[] }) => error.fields[0]?.pointer === "/milestones/0",
    );
  });
});

describe("tiers that have to be kept", () => {
  const title = "Tiers that have to be kept";
  const buy = (player: Player, at: string, amount: number) => player.act("purchase", at, { amount });
  const tier = ({ state }: Player): string | undefined => state.milestones.tiers?.milestoneId;

  it("fall to the rung that the metric reaches, at their own instant, and are reached anew", () => {
    const player = recipe(title);
    buy(player, "2025-03-10T12:00:00Z", 450);
    buy(player, "2025-06-10T12:00:00Z", 150);
    assert.equal(tier(player), "gold");
    // The first points expire with 10 March, and gold is held until the end of 10 June.
    player.pass("2026-06-10T23:59:59Z");
    assert.deepEqual([player.state.metrics.status, tier(player)], [150, "gold"]);
    buy(player, "2026-06-10T23:59:59Z", 20);
    const changes = player.pass("2026-06-11T00:00:00Z").filter(({ type }) => type === "milestoneLost");
    assert.deepEqual(
      changes.map(({ payload }) => payload.milestoneChanges),
      [{ tiers: { oldValue: "gold", newValue: "" } }],
    );
    assert.equal(tier(player), undefined);
    buy(player, "2026-06-12T00:00:00Z", 480);
    assert.equal(tier(player), "gold");
    assert.deepEqual(replay(player.compiled, player.records).milestones, player.state.milestones);
  });

  it("are held for another time where the metric still reaches them, in one step or in many", () => {
    const [often, once] = [recipe(title), recipe(title)];
    for (const player of [often, once]) {
      buy(player, "2025-06-10T12:00:00Z", 600);
      buy(player, "2026-01-10T12:00:00Z", 120);
      buy(player, "2026-05-10T12:00:00Z", 390);
    }
    for (let month = 1; month <= 9; month++) often.pass(`2027-0${month}-15T00:00:00Z`);
    assert.equal(tier(often), undefined);
    once.pass("2026-06-11T00:00:00Z");
    assert.equal(tier(once), "gold");
    once.pass("2027-09-15T00:00:00Z");
    assert.deepEqual(once.state.milestones, often.state.milestones);
    assert.equal(once.state.dueAt, null);
  });

  it("fall one rung where the metric reaches a lower one", () => {
    const player = recipe(title);
    buy(player, "2025-06-10T12:00:00Z", 600);
    buy(player, "2026-01-10T12:00:00Z", 120);
    player.pass("2026-06-11T00:00:00Z");
    assert.equal(tier(player), "silver");
    player.pass("2027-06-10T23:59:59Z");
    assert.equal(tier(player), "silver");
    player.pass("2027-06-11T00:00:00Z");
    assert.equal(tier(player), undefined);
  });
});
