import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { loyalty } from "../../../../support/platform.ts";

/** Returns the pointers of all errors, sorted; none where the document is accepted. */
function errorsOf(document: unknown): readonly string[] {
  try {
    compileConfig(document);
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, "validation_failed");
    return (error.fields ?? []).map(({ pointer }) => pointer).sort();
  }
}

const [challenge] = loyalty.challenges;
const [mission] = challenge?.missions ?? [];
const [rule] = loyalty.rules;
assert.ok(challenge !== undefined && mission !== undefined && rule !== undefined);

const withMetric = (metric: object): object => ({ metrics: [{ id: "m", title: "M", ...metric }] });
const withRule = (more: object): object => ({ ...loyalty, rules: [{ ...rule, ...more }] });
const withChallenge = (more: object): object => ({ ...loyalty, challenges: [{ ...challenge, ...more }] });
const withMission = (more: object): object => withChallenge({ missions: [{ ...mission, ...more }] });

describe("compiling a loyalty configuration", () => {
  it("accepts the empty document and a full one", () => {
    assert.deepEqual(errorsOf({}), []);
    assert.deepEqual(errorsOf(loyalty), []);
  });

  it("checks references and conditions once the shape is right", () => {
    const wrong = { ...rule, id: "a", when: { eq: [{ var: "data.nothing" }, 1, 2] } };
    const effects = [{ type: "metric", metricId: "nowhere", metricQuantity: 1 }];
    const document = {
      ...loyalty,
      metrics: [...loyalty.metrics, { id: "broken", title: 7 }],
      rules: [
        { ...wrong, priority: "high" },
        { ...rule, id: "b", effects: [...effects, {}] },
      ],
    };
    const shape = [
      `/metrics/${loyalty.metrics.length}/title`,
      "/rules/0/priority",
      "/rules/1/effects/1/type",
    ];
    assert.deepEqual(errorsOf(document), shape);
    const repaired = { ...loyalty, rules: [wrong, { ...rule, id: "b", effects }] };
    assert.deepEqual(errorsOf(repaired), ["/rules/0/when/eq", "/rules/1/effects/0"]);
  });

  it("reports all errors of the shape at once", () => {
    const document = {
      metrics: [{ id: "a b", title: 7 }],
      inventory: [{ id: "set", title: "Set", items: [{ id: "" }] }],
      actions: [{ name: "" }],
      challenges: [{ id: "x", title: "T", missions: [] }],
      rules: [{ id: "r", trigger: {}, effects: [{ type: "coins" }] }],
    };
    assert.deepEqual(errorsOf(document), [
      "/actions/0/name",
      "/challenges/0/id",
      "/challenges/0/missions",
      "/inventory/0/items/0/id",
      "/inventory/0/items/0/title",
      "/metrics/0/id",
      "/metrics/0/title",
      "/rules/0/effects/0/type",
      "/rules/0/trigger/action",
    ]);
  });

  it("reports all taken ids, dangling references and wrong conditions at once", () => {
    const document = {
      ...loyalty,
      metrics: [...loyalty.metrics, { id: "points", title: "Again" }],
      inventory: [
        ...loyalty.inventory,
        {
          id: "badges",
          title: "Again",
          items: [
            { id: "a", title: "" },
            { id: "a", title: "" },
          ],
        },
      ],
      actions: [...loyalty.actions, { name: "rest" }],
      rules: [
        rule,
        rule,
        { ...rule, id: "other", trigger: { action: "nothing" }, when: { eq: [1] } },
        { ...rule, id: "third", when: { gt: [{ var: "user.metrics.coins" }, 1] } },
        { ...rule, id: "fourth", effects: [{ type: "metric", metricId: "coins", metricQuantity: 1 }] },
      ],
      challenges: [
        {
          ...challenge,
          missions: [mission, { ...mission, rule: { action: "nothing", when: { exists: { var: "x" } } } }],
          rewards: [{ type: "inventory", inventorySetId: "badges", inventoryItemId: "b" }],
        },
        challenge,
      ],
    };
    assert.deepEqual(errorsOf(document), [
      "/actions/4",
      "/challenges/0/missions/1",
      "/challenges/0/missions/1/rule/action",
      "/challenges/0/missions/1/rule/when/exists/var",
      "/challenges/0/rewards/0",
      "/challenges/1",
      "/inventory/1",
      "/inventory/1/items/1",
      "/metrics/2",
      "/rules/1",
      "/rules/2/trigger/action",
      "/rules/2/when/eq",
      "/rules/3/when/gt/0/var",
      "/rules/4/effects/0",
    ]);
  });

  it("enforces every bound exactly", () => {
    const ids = (count: number): object[] =>
      Array.from({ length: count }, (_, index) => ({ id: `m${index}`, title: "" }));
    const effect = { type: "metric", metricId: "points", metricQuantity: 1 };
    const table: [accepted: unknown, refused: unknown, pointer: string][] = [
      [{ metrics: ids(500) }, { metrics: ids(501) }, "/metrics"],
      [withMetric({ id: "x".repeat(64) }), withMetric({ id: "x".repeat(65) }), "/metrics/0/id"],
      [withMetric({ minimumValue: 0 }), withMetric({ minimumValue: 1 }), "/metrics/0"],
      [withMetric({ maximumValue: 0 }), withMetric({ maximumValue: -1 }), "/metrics/0"],
      [withMetric({ defaultValue: 1.5 }), withMetric({ defaultValue: "1" }), "/metrics/0/defaultValue"],
      [
        withRule({ effects: Array(50).fill(effect) }),
        withRule({ effects: Array(51).fill(effect) }),
        "/rules/0/effects",
      ],
      [
        withRule({ effects: [{ ...effect, metricQuantity: -1_000_000_000 }] }),
        withRule({ effects: [{ ...effect, metricQuantity: -1_000_000_001 }] }),
        "/rules/0/effects/0/metricQuantity",
      ],
      [
        withRule({ effects: [{ ...effect, metricQuantity: 1_000_000_000 }] }),
        withRule({ effects: [{ ...effect, metricQuantity: 0.5 }] }),
        "/rules/0/effects/0/metricQuantity",
      ],
      [withRule({ priority: -1 }), withRule({ priority: 1.5 }), "/rules/0/priority"],
      [
        withMission({ rule: { ...mission.rule, count: 1_000_000 } }),
        withMission({ rule: { ...mission.rule, count: 1_000_001 } }),
        "/challenges/0/missions/0/rule/count",
      ],
      [
        withMission({ rule: { ...mission.rule, count: 1 } }),
        withMission({ rule: { ...mission.rule, count: 0 } }),
        "/challenges/0/missions/0/rule/count",
      ],
      [
        withChallenge({ time: { from: 0, to: 0 } }),
        withChallenge({ time: { from: -1 } }),
        "/challenges/0/time/from",
      ],
      [
        withChallenge({ visibility: "members" }),
        withChallenge({ visibility: "nobody" }),
        "/challenges/0/visibility",
      ],
    ];
    const by = { per: "user", by: { var: "data.m" }, max: 1 };
    const when = { gte: [{ var: "user.metrics.points" }, 1] };
    const pointsTrigger = { trigger: { metric: "points" } };
    const distinct = { action: "prediction", count: 1_000, distinct: { var: "data.m" } };
    const limited = { when, limits: [by] };
    table.push(
      [withRule(limited), withRule({ ...limited, ...pointsTrigger }), "/rules/0/limits/0/by/var"],
      [
        withRule(limited),
        withRule({ limits: [{ ...by, by: { var: "user.metrics.points" } }] }),
        "/rules/0/limits/0/by/var",
      ],
      [withRule(limited), withRule({ limits: [{ ...by, per: "global" }] }), "/rules/0/limits/0/by"],
      [
        withMission({ rule: distinct }),
        withMission({ rule: { ...distinct, count: 1_001 } }),
        "/challenges/0/missions/0/rule/count",
      ],
      [
        withRule({ when: { gte: [{ distinct: { action: "prediction", of: { var: "data.m" } } }, 1] } }),
        withRule({ when: { gte: [{ distinct: { action: "prediction", of: { var: "points" } } }, 1] } }),
        "/rules/0/when/gte/0/distinct/of/var",
      ],
    );
    for (const [accepted, refused, pointer] of table) {
      assert.deepEqual(errorsOf(accepted), [], pointer);
      assert.deepEqual(errorsOf(refused), [pointer]);
    }
  });

  it("refuses ids that every object inherits", () => {
    for (const id of ["__proto__", "constructor", "prototype"]) {
      assert.deepEqual(errorsOf(withMetric({ id })), ["/metrics/0/id"]);
    }
  });

  it("orders rules by priority, then id, and finds them by their action", () => {
    const named = (id: string, priority: number): object => ({ ...rule, id, priority });
    const { actions } = compileConfig({
      ...loyalty,
      rules: [named("z", 0), named("a", 1), named("b", 0), named("c", -1)],
    });
    assert.deepEqual(
      actions.get("prediction")?.rules.map(compiled => compiled.rule.id),
      ["c", "b", "z", "a"],
    );
    assert.deepEqual(actions.get("rest")?.rules, []);
    assert.equal(actions.get("toString"), undefined);
  });
});
