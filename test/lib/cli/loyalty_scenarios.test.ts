/** `grandstand loyalty test`: scenarios are played against a configuration without a server. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parse } from "yaml";
import { CliError, type Rows } from "../../../lib/cli/mod.ts";
import { playScenarios } from "../../../lib/fans/loyalty/views/scenario_player.ts";
import { demoLoyalty } from "../../../lib/platform/demo.ts";
import { loyaltyFaults } from "../../../runtime/services/seed_files.ts";
import { textOf } from "../../repo/files.ts";
import { recipeOf } from "../../support/recipes.ts";
import { cliContext, runCommand, testHost } from "../../support/terminal.ts";

const guide = textOf("lib/fans/loyalty/README.md");
const [, guideScenarios = ""] = /^```yaml\n(scenarios:[\s\S]*?)^```/m.exec(guide) ?? [];
const [, guideBoards = ""] = /^```yaml\n(boards:[\s\S]*?)^```/m.exec(guide) ?? [];
const weekend = JSON.stringify(recipeOf("Double points at a weekend"));

function run(scenarios: string, configuration = weekend): ReturnType<typeof runCommand> {
  const files = new Map([
    ["s.yaml", scenarios],
    ["c.json", configuration],
  ]);
  const context = cliContext({
    files: testHost({ files }).files,
    loyaltyFaults: async document => loyaltyFaults(document),
    playScenarios: async (...played) => playScenarios(...played),
  });
  return runCommand(context, "loyalty test", { args: ["s.yaml"], flags: { file: "c.json" } });
}

/** The lines that explain why a file is refused. */
async function detailsOf(running: Promise<unknown>): Promise<readonly string[]> {
  const error = await running.then(
    () => assert.fail("Expected an error"),
    (error: unknown) => error,
  );
  assert.ok(error instanceof CliError);
  assert.equal(error.exit, 8);
  return error.options.details ?? [];
}

describe("grandstand loyalty test", () => {
  it("passes the scenarios of the guide", async () => {
    assert.deepEqual((await run(guideBoards)).notes, ["2 passed, 0 failed"]);
    const { shown, exit, notes } = await run(guideScenarios);
    assert.equal(exit, 0);
    assert.deepEqual(notes, ["2 passed, 0 failed"]);
    assert.deepEqual((shown as Rows).rows[1], [
      "passed",
      "The weekend doubles",
      "s.yaml:7:79",
      "ann",
      "metrics.points",
      "30",
      "30",
    ]);
  });

  it("plays a whole season of a prediction game", async () => {
    const [document, scenarios] = ["season.yaml", "season_scenarios.yaml"].map(name =>
      textOf(`test/runtime/examples/${name}`),
    );
    const { notes, shown, exit } = await run(scenarios ?? "", JSON.stringify(parse(document ?? "")));
    const failed = (shown as Rows).rows.filter(([result]) => result === "failed");
    assert.deepEqual([failed, notes, exit], [[], ["40 passed, 0 failed"], 0]);
  });

  it("redeems, refunds, reverses and grants, and expects coupons, stock, notifications and refusals", async () => {
    const [, steps = ""] = /^```yaml\n(scenarios:\n {2}- name: A mug[\s\S]*?)^```/m.exec(guide) ?? [];
    const demo = JSON.stringify(demoLoyalty);
    const { notes, shown } = await run(steps, demo);
    assert.deepEqual(notes, ["9 passed, 0 failed"], JSON.stringify(shown));
    const failing = await run(
      steps
        .replace("redeem: mug, refused: limit_reached", "redeem: mug")
        .replace("refund: purchase", "refund: purchase, refused: conflict"),
      demo,
    );
    const failed = (failing.shown as Rows).rows.filter(([result]) => result === "failed");
    assert.deepEqual(
      failed.map(([, , where, , what, expected, actual]) => [where?.split(":")[1], what, expected, actual]),
      [
        ["11", "refused", "null", '"limit_reached"'],
        ["17", "refused", '"conflict"', "null"],
      ],
    );
    const at = 'at: "2026-12-04T12:00:00Z", user: ann';
    const wrong = `scenarios:
  - name: wrong
    steps:
      - { ${at}, refund: nothing }
      - { ${at}, grant: [{ type: metric, metricId: gold, metricQuantity: 1 }] }
      - { ${at}, id: a, action: share }
      - { ${at}, id: a, action: share }
      - { ${at}, refund: a }
      - { ${at}, expect: { stock: { half-price-scarf: 1 }, coupons: { cap: 1 } } }`;
    assert.deepEqual(
      (await detailsOf(run(wrong, demo))).map(detail => detail.split(" ").slice(1).join(" ")),
      [
        "/scenarios/0/steps/0/refund: Expected the id of an earlier purchase of the user",
        "/scenarios/0/steps/1/grant/0: Expected what the configuration of the space has",
        "/scenarios/0/steps/3/id: Expected an id that no earlier step has",
        "/scenarios/0/steps/4/refund: Expected the id of an earlier purchase of the user",
        "/scenarios/0/steps/5/expect/coupons/cap: Expected one that is listed under /coupons",
        "/scenarios/0/steps/5/expect/stock/half-price-scarf: Expected a product with a limited stock",
      ],
    );
  });

  it("shows the difference of a failure, and exits with 3", async () => {
    const { shown, exit, notes, data } = await run(guideScenarios.replace("points: 30", "points: 20"));
    assert.equal(exit, 3);
    assert.deepEqual(notes, ["1 passed, 1 failed"]);
    assert.deepEqual(
      (shown as Rows).rows.map(([result, , , , , expected, actual]) => [result, expected, actual]),
      [
        ["passed", "10", "10"],
        ["failed", "20", "30"],
      ],
    );
    assert.equal((data as { failed: number }).failed, 1);
  });

  it("knows items, rungs, challenges, custom fields and late actions, and begins with new users", async () => {
    const id = "0e000000-0000-4000-8000-000000000001";
    const configuration = JSON.stringify({
      metrics: [{ id: "points", title: "" }],
      inventory: [{ id: "badges", title: "", items: [{ id: "star", title: "" }] }],
      actions: [{ name: "go" }],
      milestones: [
        { id: "level", title: "", metricId: "points", milestones: [{ id: "one", title: "", threshold: 1 }] },
      ],
      challenges: [{ id, title: "", missions: [{ id, title: "", rule: { action: "go" } }] }],
      rules: [
        {
          id: "once-a-day",
          trigger: { action: "go" },
          limits: [{ per: "user", max: 1, window: { calendar: "day" } }],
          when: { eq: [{ var: "user.custom.member" }, true] },
          effects: [
            { type: "metric", metricId: "points", metricQuantity: 1 },
            { type: "inventory", inventorySetId: "badges", inventoryItemId: "star" },
          ],
        },
      ],
    });
    const before = `{ badges: [] }, milestones: { level: "" }, challenges: { ${id}: none }`;
    const after = `{ badges: [star] }, milestones: { level: one }, challenges: { ${id}: completed }`;
    const scenario = (name: string) => `
  - name: ${name}
    steps:
      - { at: "2026-11-16T10:00:00Z", user: ann, expect: { metrics: { points: 0 }, inventory: ${before} } }
      - { at: "2026-11-16T10:00:00Z", user: ann, profile: { member: true } }
      - { at: "2026-11-16T10:00:00Z", user: ann, action: go }
      - { at: "2026-11-16T10:00:00Z", user: bob, action: go }
      - { at: "2026-11-17T10:00:00Z", user: ann, action: go, happenedAt: "2026-11-16T09:00:00Z" }
      - { at: "2026-11-17T10:00:00Z", user: ann, expect: { metrics: { points: 1 }, inventory: ${after} } }
      - { at: "2026-11-17T10:00:00Z", user: bob, expect: { metrics: { points: 0 } } }`;
    const { shown, notes } = await run(`scenarios:${scenario("a")}${scenario("b")}`, configuration);
    assert.deepEqual(notes, ["18 passed, 0 failed"], JSON.stringify(shown));
  });

  it("gives other users of the scenario what an action gives them, and nobody else", async () => {
    const configuration = JSON.stringify(recipeOf("Bring a friend"));
    const at = 'at: "2026-11-16T10:00:00Z"';
    const joined = (user: string, referrerId: string): string =>
      `      - { ${at}, user: ${user}, action: joined, data: { referrerId: ${referrerId} } }`;
    const scenarios = [
      "scenarios:",
      "  - name: friends",
      "    steps:",
      joined("bob", "ann"),
      joined("cid", "cid"),
      joined("dan", "eve"),
      ...Object.entries({ ann: 10, bob: 5, cid: 5, dan: 5 }).map(
        ([user, points]) => `      - { ${at}, user: ${user}, expect: { metrics: { points: ${points} } } }`,
      ),
    ];
    const { notes, shown } = await run(scenarios.join("\n"), configuration);
    assert.deepEqual(notes, ["4 passed, 0 failed"], JSON.stringify(shown));
  });

  it("shows the scores of boards, of seasons and of events", async () => {
    const configuration = JSON.stringify({
      metrics: [{ id: "points", title: "", lots: { expires: { after: { hours: 1 } } } }],
      actions: [{ name: "go", data: { eventId: "string", from: "string" } }],
      rules: [
        {
          id: "go",
          trigger: { action: "go" },
          effects: [
            { type: "metric", metricId: "points", metricQuantity: 3 },
            { type: "metric", metricId: "points", metricQuantity: 2, user: { var: "data.from" } },
          ],
        },
      ],
    });
    const boards = {
      leaderboards: [
        { id: "overall", source: { type: "metric", metricId: "points" } },
        {
          id: "daily",
          source: { type: "metric", metricId: "points" },
          seasons: { type: "daily", timeZone: "UTC" },
        },
        { id: "goes", source: { type: "action", action: "go" }, bounds: { min: 0, max: 2 } },
      ],
      eventLeaderboards: [{ id: "round_1", source: { type: "metric", metricId: "points" } }],
    };
    const go = (at: string, data: object): object => ({ at, user: "ann", action: "go", data });
    const expect = (at: string, user: string, scores: object): object => ({
      at,
      user,
      expect: { boards: scores },
    });
    const [noon, later, next] = ["2026-11-16T12:00:00Z", "2026-11-16T13:00:00Z", "2026-11-17T12:00:00Z"];
    const none = { overall: null, daily: null, goes: null, "derby/round_1": null };
    const steps = [
      expect(noon, "ann", none),
      go(noon, { eventId: "derby", from: "bob" }),
      go(noon, { eventId: "final" }),
      go(noon, {}),
      expect(noon, "ann", { overall: 9, daily: 9, goes: 2, "derby/round_1": 3, "final/round_1": 3 }),
      expect(noon, "bob", { overall: 2, daily: 2, goes: null, "derby/round_1": null }),
      expect(later, "ann", { overall: 0, daily: 0, goes: 2, "derby/round_1": 3 }),
      go(next, { eventId: "derby" }),
      expect(next, "ann", { overall: 3, daily: 3, goes: 2, "derby/round_1": 6 }),
    ];
    const file = (scenarioBoards: object): string =>
      JSON.stringify({ boards: scenarioBoards, scenarios: [{ name: "boards", steps }] });
    const { shown, notes } = await run(file(boards), configuration);
    assert.deepEqual(notes, ["21 passed, 0 failed"], JSON.stringify(shown));
    const direct = { ...boards, eventLeaderboards: [{ id: "round_1" }] };
    assert.match(
      (await detailsOf(run(file(direct), configuration)))[0] ?? "",
      /Expected one that is listed under \/boards/,
    );
    const wrong = { leaderboards: [{ id: "a b" }] };
    assert.match(
      (await detailsOf(run(file(wrong), configuration)))[0] ?? "",
      /\/boards\/leaderboards\/0\/id: /,
    );
  });

  it("names line and column of every error", async () => {
    const scenario = (...steps: string[]): string =>
      `scenarios:\n  - name: a\n    steps:\n${steps.map(step => `      - ${step}\n`).join("")}`;
    assert.deepEqual(
      await detailsOf(
        run(
          scenario("{ at: soon, user: ann, action: purchase }", '{ at: "2026-11-16T10:00:00Z", action: x }'),
        ),
      ),
      [
        "s.yaml:4:15 /scenarios/0/steps/0/at: Expected a time such as 2026-12-05T12:00:00Z",
        "s.yaml:5:9 /scenarios/0/steps/1/user: Is required",
      ],
    );
    const at = 'at: "2026-11-16T10:00:00Z", user: ann';
    assert.deepEqual(
      await detailsOf(
        run(
          scenario(
            `{ ${at}, action: buy }`,
            `{ ${at}, action: purchase, data: { amount: much } }`,
            `{ ${at}, expect: { metrics: { gems: 1 } } }`,
            '{ at: "2026-11-15T10:00:00Z", user: ann, action: purchase }',
          ),
        ),
      ),
      [
        "s.yaml:4:58 /scenarios/0/steps/0/action: Expected an action of the configuration",
        "s.yaml:5:84 /scenarios/0/steps/1/data/amount: Expected a number",
        "s.yaml:6:77 /scenarios/0/steps/2/expect/metrics/gems: Expected one that is listed under /metrics",
        "s.yaml:7:15 /scenarios/0/steps/3/at: Expected no time before the step above",
      ],
    );
  });
});
