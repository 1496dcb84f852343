/** The input that a search refuses, with the pointers of the errors. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { depthMax, nodesMax } from "../../../lib/base/expressions/_terms.ts";
import { audienceSettingsErrors } from "../../../lib/fans/audience/profile/custom_fields.ts";
import { metricIndexesMax } from "../../../lib/fans/users/mod.ts";
import { openPlatform, type TestPlatform } from "../../support/platform.ts";
import { assertProblem } from "../_problem.ts";
import { type BackEndCall, backEnd } from "./_back_end.ts";
import { foundIds, indexedSeed, makeUsers, plain, searchPath } from "./_searched.ts";

describe("an invalid search of users", () => {
  let world: TestPlatform;
  let crm: BackEndCall;

  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }), { seed: indexedSeed });
    crm = await backEnd(world, ["users:read", "users:write", "rewards:write"]);
  });
  after(() => world.dispose());

  async function pointersOf(body: unknown): Promise<readonly string[]> {
    const answer = await crm(searchPath, { body });
    assertProblem(answer, 400, "validation_failed");
    return answer.json.errors.map(({ pointer }: { pointer: string }) => pointer);
  }

  const points = { var: "metrics.points" };

  it("is refused with a pointer to every error", async () => {
    const nested = (depth: number): unknown =>
      depth === 0 ? { gte: [points, 1] } : { not: nested(depth - 1) };
    const cases: readonly (readonly [filter: unknown, pointers: readonly string[]])[] = [
      [null, ["/filter"]],
      [[], ["/filter"]],
      ["points", ["/filter"]],
      [{ metrics: [] }, ["/filter/metrics"]],
      [{ unknown: 1 }, ["/filter/unknown"]],
      [{ gte: [points, 1], lte: [points, 2] }, ["/filter"]],
      [{ gte: [{ var: "metrics.none" }, 1] }, ["/filter/gte/0/var"]],
      [{ gte: [{ var: "profile" }, 1] }, ["/filter/gte/0/var"]],
      [{ eq: [{ var: "preferences" }, "x"] }, ["/filter/eq/0/var"]],
      [{ gte: [{ var: "__proto" }, 1] }, ["/filter/gte/0/var"]],
      [{ eq: [{ var: "customFields.toString" }, "x"] }, ["/filter/eq/0/var"]],
      [{ eq: [points, null] }, ["/filter/eq/1"]],
      [{ gte: [points, "many"] }, ["/filter/gte"]],
      [{ count: { action: "cheer" } }, ["/filter/count"]],
      [{ gte: [{ count: { action: "cheer" } }, 1] }, ["/filter/gte/0"]],
      [
        { all: [{ gte: [{ var: "createdAt" }, "yesterday"] }, { gte: [points, 1] }] },
        ["/filter/all/0/gte/1"],
      ],
      [{ in: [{ var: "createdAt" }, ["2026-01-01", "2026-02-30"]] }, ["/filter/in/1/1"]],
      [{ between: [{ var: "lastActiveAt" }, "2026-01-01", 5] }, ["/filter/between/2"]],
      [{ createdAfter: "2026-13-01" }, ["/filter/createdAfter"]],
      [{ activeBefore: 5, displayName: "" }, ["/filter/displayName", "/filter/activeBefore"]],
      [{ metrics: { none: { min: 1 } } }, ["/filter/metrics/none"]],
      [{ metrics: { points: {} } }, ["/filter/metrics/points"]],
      [{ metrics: { points: { least: 1 } } }, ["/filter/metrics/points/least"]],
      [{ userIds: [] }, ["/filter/userIds"]],
      [{ userIds: ["a", 5] }, ["/filter/userIds/1"]],
      [{ userIds: ["a".repeat(128 + 1)] }, ["/filter/userIds/0"]],
      [{ displayName: "a".repeat(256 + 1) }, ["/filter/displayName"]],
      [{ userIds: Array.from({ length: 100 + 1 }, (_, n) => `u${n}`) }, ["/filter/userIds"]],
      [
        {
          metrics: Object.fromEntries(Array.from({ length: 16 + 1 }, (_, n) => [`m${n}`, { min: 1 }])),
        },
        ["/filter/metrics"],
      ],
      [nested(depthMax + 1), [`/filter${"/not".repeat(depthMax)}`]],
    ];
    for (const [filter, pointers] of cases) {
      const found = await pointersOf({ filter });
      assert.deepEqual(found.slice(0, pointers.length), pointers, JSON.stringify(filter).slice(0, 200));
    }
    const many = { any: Array.from({ length: nodesMax }, () => ({ gte: [points, 1] })) };
    assert.equal((await pointersOf({ filter: many })).length, 1);
  });

  it("is refused for its fields, order and size", async () => {
    assert.deepEqual(await pointersOf({ fields: [] }), ["/fields"]);
    assert.deepEqual(await pointersOf({ fields: ["userId", "none", "userId"] }), ["/fields/1", "/fields/2"]);
    assert.deepEqual(await pointersOf({ fields: Array(64 + 1).fill("userId") }), ["/fields"]);
    for (const limit of [0, 100 + 1, 1.5, "5", null])
      assert.deepEqual(await pointersOf({ limit }), ["/limit"]);
    assert.deepEqual(await pointersOf({ sort: [] }), ["/sort"]);
    assert.deepEqual(await pointersOf({ sort: [{ field: "createdAt" }, { field: "lastActiveAt" }] }), [
      "/sort",
    ]);
    assert.deepEqual(await pointersOf({ sort: [{ field: "createdAt", order: "up" }] }), ["/sort/0/order"]);
    assert.deepEqual(await pointersOf({ sort: [{ field: "displayName" }] }), ["/sort/0/field"]);
    assert.deepEqual(await pointersOf({ other: 1 }), ["/other"]);
    assert.deepEqual(
      await pointersOf({
        filter: { gte: [{ var: "none" }, 1] },
        fields: ["none"],
        sort: [{ field: "none" }],
      }),
      ["/filter/gte/0/var", "/fields/0", "/sort/0/field"],
    );
  });

  it("says how to sort by a metric, and can once platform.work() has built its index", async () => {
    await makeUsers(world, crm, [
      { ...plain("a", 0), points: 3 },
      { ...plain("b", 0), points: 7 },
    ]);
    const detailOf = async (field: string): Promise<string> =>
      (await crm(searchPath, { body: { sort: [{ field }] } })).json.errors[0].detail;
    assert.match(await detailOf("metrics.energy"), /settings\.audience\.indexes/);
    assert.match(await detailOf("metrics.points"), /still being built/);
    assert.deepEqual(await foundIds(crm, { filter: { metrics: { points: { min: 5 } } } }), ["b"]);
    await world.platform.work();
    world.clock.advance(5_000);
    assert.match(await detailOf("metrics.points"), /still being built/);
    await world.platform.work();
    assert.deepEqual(await foundIds(crm, { sort: [{ field: "metrics.points", order: "desc" }] }), ["b", "a"]);
  });

  it("reports indexes that settings may not declare", () => {
    const names = Array.from({ length: metricIndexesMax + 1 }, (_, n) => `metrics.m${n}`);
    for (const indexes of [
      ["points"],
      ["metrics."],
      ["metrics.a", "metrics.a"],
      names,
      "metrics.points",
      [5],
    ]) {
      const [fault] = audienceSettingsErrors({ audience: { indexes } }, "/settings");
      assert.match(fault?.pointer ?? "", /^\/settings\/audience\/indexes/, JSON.stringify(indexes));
    }
    assert.deepEqual(audienceSettingsErrors({ audience: { indexes: ["metrics.a", "metrics.b"] } }, ""), []);
  });
});
