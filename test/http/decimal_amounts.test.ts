/** Amounts are decimal wherever they add up: in rules, missions and boards. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { scoreMax } from "../../lib/fans/leaderboards/settings/board_settings.ts";
import { type Fan, ids, loyalty, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { BoardWriter } from "./_boards.ts";

const amount = { var: "data.amount" };
const spent = { sum: { action: "buy", of: amount } };

const document = {
  ...loyalty,
  actions: [{ name: "buy", clientReportable: true, data: { amount: "number" } }],
  rules: [
    {
      id: "points",
      trigger: { action: "buy" },
      effects: [{ type: "metric", metricId: "points", metricQuantity: { floor: { mul: [amount, 100] } } }],
    },
    {
      id: "whole",
      trigger: { action: "buy" },
      when: { eq: [spent, 1] },
      effects: [{ type: "metric", metricId: "points", metricQuantity: 1_000_000 }],
    },
  ],
  challenges: [
    {
      id: "0e000000-0000-4000-8000-000000000018",
      title: "",
      missions: [
        {
          id: "0f000000-0000-4000-8000-000000000018",
          title: "",
          rule: { action: "buy", amount, count: 1 },
        },
      ],
    },
  ],
};

describeOnStores("amounts", open => {
  let world: TestPlatform;
  let fan: Fan;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
    fan = await world.fan("Sam");
  });
  afterEach(() => world.dispose());

  const buy = async (of: number): Promise<number> => {
    const before = Number((await fan.profile()).metrics.points ?? 0);
    assert.equal((await fan.act("buy", { amount: of })).status, 200);
    return Number((await fan.profile()).metrics.points) - before;
  };

  it("give every cent its point", async () => {
    for (const [of, points] of [
      [19.99, 1_999],
      [0.29, 29],
      [1.15, 115],
      [8.2, 820],
    ] as const) {
      assert.equal(await buy(of), points, `${of}`);
    }
  });

  it("add up to the whole in counts and missions: ten times 0.10 is 1.00", async () => {
    let last = 0;
    for (let times = 1; times <= 10; times++) last = await buy(0.1);
    assert.equal(last, 1_000_010);
    const headers = { "x-platform-org-id": ids.organisation };
    const { json } = await world.call("/v1/api/audience/challenges", { token: fan.token, headers });
    const [{ status, progress }] = json.data[0].missions;
    assert.deepEqual([status, progress.current], ["completed", 1]);
  });

  it("are refused beyond 2^53, where doubles would make one number of two ids", async () => {
    const pointer = "/data/amount";
    const detail = "Expected a number within ±(2^53 - 1); send a longer id as a string";
    for (const amount of [2 ** 53, -(2 ** 53)]) {
      const single = await fan.act("buy", { amount });
      const batch = await world.call("/api/audience/actions", {
        token: fan.token,
        headers: { "x-platform-org-id": ids.organisation },
        body: { action: "buy", data: { amount } },
      });
      for (const { status, json } of [single, batch]) {
        assert.deepEqual([status, json.errors], [400, [{ pointer, detail }]]);
      }
    }
    assert.equal((await fan.profile()).metrics.points ?? 0, 0);
  });

  it("add up on boards, which refuse a sum beyond 2^53", async () => {
    const writer = await BoardWriter.create(world);
    const board = `/projects/${ids.project}/leaderboards/goals`;
    let sum = 0;
    for (let times = 1; times <= 10; times++) {
      const body = { score: 0.1, operator: "sum", id: `tenth-${times}` };
      sum = (await writer.put(board, "u", body)).score;
    }
    assert.equal(sum, 1);
    await writer.put(board, "u", { score: scoreMax });
    const { status } = await writer.try(board, "u", { score: 1, operator: "sum", id: "beyond" });
    assert.equal(status, 409);
  });
});
