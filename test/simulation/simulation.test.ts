/** The whole platform under simulated time, order, chance and failure, compared with a model. */

import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { isFullRun, sampleSize, skipUnlessFull } from "../support/full.ts";
import { makeBundleFolder } from "./bundle.ts";
import { findPlanted, plantedFaults } from "./planted_faults.ts";
import { type Outcome, simulate } from "./simulate.ts";

const seeds = sampleSize(30, isFullRun ? 10 : 4);
/** Planted faults that are looked for here; `npm run simulate -- --planted` looks for all. */
const planted = plantedFaults.slice(0, sampleSize(2, 0));

/** Kinds of things that must have happened in each ten seeds, so that simulations cannot become empty. */
const happenings: readonly string[] = [
  ...["refused", "lost", "dropped", "overdue", "slow", "death", "clock"].map(name => `fault:${name}`),
  ...["register", "act", "redeem scarf", "redeem drink", "read profile", "read board"].map(
    name => `op:${name}`,
  ),
  ...["report in bulk", "reward in bulk", "rename", "search", "fill pool"].map(name => `op:${name}`),
  ...["log in", "refresh", "log out", "create key", "use key", "revoke key", "export", "download"].map(
    name => `op:${name}`,
  ),
  ...["create event", "add elements", "read event", "list elements"].map(name => `op:${name}`),
  ...["ban", "lift ban", "grant role", "take role", "put configuration", "rebuilt"].map(name => `op:${name}`),
  ...["clone event", "start", "publish", "guess", "read feed", "revoke"].map(name => `op:${name}`),
  ...["ask for code", "log in by code", "log in by openid", "join", "fetch data"].map(name => `op:${name}`),
  ...["issue token", "revoke token"].map(name => `op:${name}`),
  ...["reward an account", "mint token", "import account", "log in by moved password"].map(
    name => `op:${name}`,
  ),
  ...["change secret", "use kept key"].map(name => `op:${name}`),
  "client:repeats 503",
  "client:no answer",
];

describe("simulations", () => {
  const outcomes: Outcome[] = [];

  it(`hold what the model says, for ${seeds} seeds`, async () => {
    for (let seed = 1; seed <= seeds; seed++) {
      const outcome = await simulate({ seed });
      const replay = `npm run simulate -- --seed ${seed} --verbose\n${outcome.faults.join("\n")}`;
      assert.equal(outcome.faults.length, 0, replay);
      assert.deepEqual([...outcome.leaks], [], "time or chance came from elsewhere than the options");
      outcomes.push(outcome);
    }
  });

  it("replay exactly", async () => {
    for (const first of outcomes.slice(0, sampleSize(2, 1))) {
      const again = await simulate({ seed: first.seed });
      assert.equal(again.trace, first.trace);
      assert.equal(again.steps, first.steps);
    }
    assert.notEqual(outcomes[0]?.trace, outcomes[1]?.trace);
  });

  it("contain every kind of operation and fault", { skip: skipUnlessFull("what ten seeds contain") }, () => {
    const total = new Map<string, number>();
    for (const { counters } of outcomes) {
      for (const [name, times] of counters) total.set(name, (total.get(name) ?? 0) + times);
    }
    const rare = happenings.filter(name => (total.get(name) ?? 0) < seeds / 10);
    assert.deepEqual(rare, []);
  });

  for (const fault of planted) {
    it(`find that ${fault.name}`, async t => {
      const folder = makeBundleFolder();
      t.after(() => rmSync(folder, { recursive: true, force: true }));
      assert.notEqual(await findPlanted(fault, join(folder, "planted.mjs")), null);
    });
  }
});
