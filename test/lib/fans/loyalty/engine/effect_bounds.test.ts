/** Bounds of the effects of an event, and of the counters of a user. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { storageLimits } from "../../../../../lib/storage/mod.ts";
import { base, Player, points, rule } from "./_player.ts";

const effectsMax = 500;

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i));
const bundle = { id: "bundle", title: "", effects: many(50, () => points(1)) };
const bundles = (count: number): object[] => many(count, () => ({ type: "reward", rewardId: "bundle" }));

function errorsOf(parts: object): readonly string[] {
  try {
    compileConfig({ ...base, ...parts });
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError);
    return (error.fields ?? []).map(({ pointer }) => pointer);
  }
}

describe("the effects of one event", () => {
  it("end after 500, with a diagnostic", () => {
    const rules = many(40, n =>
      rule(
        `r${n}`,
        many(50, () => points(1)),
        { priority: n },
      ),
    );
    const player = new Player({ rules });
    const { fired, diagnostics, record } = player.act("go");
    assert.equal(fired.length, Math.ceil(effectsMax / 51));
    assert.equal(player.state.metrics.points, fired.length * 50, "a rule that fires does all that it says");
    assert.deepEqual(diagnostics, [{ type: "effectsExhausted", triggers: [] }]);
    assert.ok(JSON.stringify(record).length < storageLimits.valueBytesMax);
    assert.equal(player.act("go").fired.length, fired.length, "the next action begins anew");
  });

  it("end within the notifications of one rule too", () => {
    const announce = { type: "notification", notification: { display: "toast", title: "T", message: "" } };
    const rules = many(20, n =>
      rule(
        `r${n}`,
        many(50, () => announce),
      ),
    );
    const player = new Player({ rules });
    player.act("go");
    assert.ok(player.notifications.length <= effectsMax);
    assert.ok(player.notifications.length >= effectsMax - 20);
  });

  it("have no diagnostic below the bound", () => {
    const player = new Player({
      rules: [
        rule(
          "r",
          many(50, () => points(1)),
        ),
      ],
    });
    assert.deepEqual(player.act("go").diagnostics, []);
  });

  it("are refused in a configuration whose bundles give too many", () => {
    const fit = 250 / bundle.effects.length;
    const challenge = { id: "0e000000-0000-4000-8000-000000000001", title: "", missions: [] as object[] };
    challenge.missions.push({ id: challenge.id, title: "", rule: { action: "go" } });
    const rung = { id: "one", title: "", threshold: 1 };
    const at = (count: number): object => ({
      rewards: [bundle],
      rules: [rule("r", bundles(count))],
      challenges: [{ ...challenge, rewards: bundles(count) }],
      milestones: [
        { id: "l", title: "", metricId: "points", milestones: [{ ...rung, rewards: bundles(count) }] },
      ],
    });
    assert.deepEqual(errorsOf(at(fit)), []);
    assert.deepEqual(errorsOf(at(fit + 1)), [
      "/rules/0/effects",
      "/challenges/0/rewards",
      "/milestones/0/milestones/0/rewards",
    ]);
  });
});

describe("the counters of a user", () => {
  const counting = (last: number, n: number): object =>
    rule(`r${n}`, [points(1)], {
      when: { gt: [{ count: { action: "go", window: { last, unit: "minute" } } }, n] },
    });

  it("are refused in a configuration whose windows have too many steps", () => {
    const whole = Math.floor(10_000 / 1_440);
    const rest = 10_000 - whole * 1_440;
    const rules = many(whole, n => counting(1_440 - n, n));
    const spare = (whole * (whole - 1)) / 2 + rest;
    assert.deepEqual(errorsOf({ rules: [...rules, counting(spare, whole)] }), []);
    assert.deepEqual(errorsOf({ rules: [...rules, counting(spare + 1, whole)] }), [""]);
    const limits = [{ per: "user", max: 1, window: { last: 2, unit: "day" } }];
    const limited = rule("limited", [points(1)], { limits });
    assert.deepEqual(errorsOf({ rules: [...rules, counting(spare, whole), limited] }), [""]);
  });

  it("stay numbers that JSON keeps exactly", () => {
    const sum = { action: "go", of: { var: "data.n" } };
    const player = new Player({
      rules: [
        rule("total", [points(1)], { when: { gt: [{ sum }, 10] } }),
        rule("day", [points(1)], { when: { gt: [{ sum: { ...sum, window: { calendar: "day" } } }, 10] } }),
      ],
      challenges: [
        {
          id: "0e000000-0000-4000-8000-000000000001",
          title: "",
          missions: ["1", "2"].map(n => ({
            id: `0f000000-0000-4000-8000-00000000000${n}`,
            title: "",
            rule: { action: n === "1" ? "go" : "stop", amount: { var: "data.n" } },
          })),
        },
      ],
    });
    for (const n of [1e308, 1e308, -1e308, -1e308, 1e308]) {
      player.act("go", 0, { n });
      assert.deepEqual(JSON.parse(JSON.stringify(player.state)), player.state, String(n));
    }
    const totals = Object.values(player.state.counters).flatMap(c => ("total" in c ? [c.total] : []));
    assert.ok(totals.every(total => Math.abs(total) <= Number.MAX_SAFE_INTEGER));
  });
});
