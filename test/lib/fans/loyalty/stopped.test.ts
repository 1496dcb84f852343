/** Warnings about configurations that exceed limits of the engine. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { ids, openPlatform, seed } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";
import { points, rule } from "./engine/_player.ts";

describeOnStores("a configuration whose rules trigger each other without end", open => {
  it("is logged, and the effects up to the limit are kept", async t => {
    const logged: unknown[] = [];
    const again = rule("again", [points(1)], { trigger: { metric: "points" } });
    const loyalty = {
      metrics: [{ id: "points", title: "" }],
      actions: [{ name: "go", clientReportable: true }],
      rules: [rule("go", [points(1)]), again],
    };
    const world = await openPlatform(open, {
      seed: { ...seed, loyalty: { [ids.space]: loyalty } },
      logger: {
        enabled: () => true,
        log: (level, event, fields) => event === "loyalty_stopped" && logged.push([level, fields]),
      },
    });
    t.after(() => world.dispose());
    const fan = await world.fan("Sam");
    assert.equal((await fan.act("go")).status, 200);
    assert.ok((await fan.profile()).metrics.points > 1);
    const fields = { spaceId: ids.space, version: "1", because: "roundsExhausted" };
    assert.deepEqual(logged, [["warn", fields]]);
  });
});
