import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Player, points, rule } from "../engine/_player.ts";

const dayMs = 86_400_000;
const metrics = [
  { id: "points", title: "" },
  { id: "coins", title: "", lots: { expires: { after: { hours: 24 } } } },
];
const consoled = (id: string, more: object = {}): object => ({
  ...rule(id, [points(1)], more),
  trigger: { metric: "coins" },
  when: { lt: [{ var: "user.metrics.coins" }, 1] },
});

describe("rules with a limit for all users", () => {
  it("do not fire by time alone, as readers cannot claim uses", () => {
    const limited = consoled("limited", { limits: [{ per: "global", max: 100 }] });
    const player = new Player({
      metrics,
      rules: [rule("earn", [points(5, "coins")]), limited, consoled("free")],
    });
    player.act("go", 0);
    const [expired, given, ...others] = player.pass(dayMs);
    assert.deepEqual([expired?.type, given?.type, others.length], ["pointsExpired", "actionRewarded", 0]);
    assert.equal(player.state.metrics.points, 1);
  });
});
