import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../lib/errors/mod.ts";
import {
  compileConfig,
  configIdCharactersMax,
  configListMax,
  configPartsMax,
  missionCountMax,
  quantityMax,
} from "../../../lib/loyalty/mod.ts";
import { loyalty } from "../../support/platform.ts";

/** The pointers of all faults, sorted; empty where the document is accepted. */
function faults(document: unknown): readonly string[] {
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
    assert.deepEqual(faults({}), []);
    assert.deepEqual(faults(loyalty), []);
  });

  it("reports what refers to nothing and what could never hold beside faults of the shape", () => {
    const effect = { type: "metric", metricId: "points", metricQuantity: 1 };
    const document = {
      ...loyalty,
      metrics: [...loyalty.metrics, { id: "broken", title: 7 }],
      challenges: [...loyalty.challenges, { id: challenge.id, title: "Again" }],
      rules: [
        { ...rule, id: "a", when: { eq: [{ var: "data.nothing" }, 1, 2] }, priority: "high" },
        { ...rule, id: "a", effects: [{ type: "metric", metricId: "nowhere", metricQuantity: 1 }, {}] },
        { ...rule, id: "b", effects: [{ type: "metric", metricId: "broken", metricQuantity: 1 }] },
        { ...rule, id: "c", when: { gt: [{ var: "user.metrics.broken" }, 1] }, effects: [effect, {}] },
        { ...rule, id: "d", trigger: { time: "noon" }, when: { eq: [{ var: "data.nothing" }, 1] } },
      ],
    };
    assert.deepEqual(faults(document), [
      `/challenges/${loyalty.challenges.length}/missions`,
      `/metrics/${loyalty.metrics.length}/title`,
      "/rules/0/priority",
      "/rules/0/when/eq",
      "/rules/1",
      "/rules/1/effects/0",
      "/rules/1/effects/1/type",
      "/rules/3/effects/1/type",
      "/rules/4/trigger/action",
      "/rules/4/trigger/time",
    ]);
  });

  it("tells nothing of what may refer to parts that cannot be told", () => {
    const stray = { ...rule, effects: [{ type: "metric", metricId: "nowhere", metricQuantity: 1 }] };
    assert.deepEqual(faults({ ...loyalty, metrics: {}, rules: [stray] }), ["/metrics"]);
    assert.deepEqual(faults({ ...loyalty, metrics: [7], rules: [stray] }), ["/metrics/0"]);
    assert.deepEqual(faults({ ...loyalty, inventory: [{ id: "badges", title: "B", items: 1 }] }), [
      "/inventory/0/items",
    ]);
  });

  it("reports every fault of the shape at once", () => {
    const document = {
      metrics: [{ id: "a b", title: 7 }],
      inventory: [{ id: "set", title: "Set", items: [{ id: "" }] }],
      actions: [{ name: "" }],
      challenges: [{ id: "x", title: "T", missions: [] }],
      rules: [{ id: "r", trigger: {}, effects: [{ type: "coins" }] }],
    };
    assert.deepEqual(faults(document), [
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

  it("reports every id that is taken, reference that dangles and condition that is wrong at once", () => {
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
    assert.deepEqual(faults(document), [
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

  it("holds every bound exactly", () => {
    const ids = (count: number): object[] =>
      Array.from({ length: count }, (_, index) => ({ id: `m${index}`, title: "" }));
    const effect = { type: "metric", metricId: "points", metricQuantity: 1 };
    const table: [accepted: unknown, refused: unknown, pointer: string][] = [
      [{ metrics: ids(configListMax) }, { metrics: ids(configListMax + 1) }, "/metrics"],
      [
        withMetric({ id: "x".repeat(configIdCharactersMax) }),
        withMetric({ id: "x".repeat(configIdCharactersMax + 1) }),
        "/metrics/0/id",
      ],
      [withMetric({ minimumValue: 0 }), withMetric({ minimumValue: 1 }), "/metrics/0"],
      [withMetric({ maximumValue: 0 }), withMetric({ maximumValue: -1 }), "/metrics/0"],
      [withMetric({ defaultValue: 1.5 }), withMetric({ defaultValue: "1" }), "/metrics/0/defaultValue"],
      [
        withRule({ effects: Array(configPartsMax).fill(effect) }),
        withRule({ effects: Array(configPartsMax + 1).fill(effect) }),
        "/rules/0/effects",
      ],
      [
        withRule({ effects: [{ ...effect, metricQuantity: -quantityMax }] }),
        withRule({ effects: [{ ...effect, metricQuantity: -quantityMax - 1 }] }),
        "/rules/0/effects/0/metricQuantity",
      ],
      [
        withRule({ effects: [{ ...effect, metricQuantity: quantityMax }] }),
        withRule({ effects: [{ ...effect, metricQuantity: 0.5 }] }),
        "/rules/0/effects/0/metricQuantity",
      ],
      [withRule({ priority: -1 }), withRule({ priority: 1.5 }), "/rules/0/priority"],
      [
        withMission({ rule: { ...mission.rule, count: missionCountMax } }),
        withMission({ rule: { ...mission.rule, count: missionCountMax + 1 } }),
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
    for (const [accepted, refused, pointer] of table) {
      assert.deepEqual(faults(accepted), [], pointer);
      assert.deepEqual(faults(refused), [pointer]);
    }
  });

  it("refuses ids that objects answer to by themselves", () => {
    for (const id of ["__proto__", "constructor", "prototype"]) {
      assert.deepEqual(faults(withMetric({ id })), ["/metrics/0/id"]);
    }
  });

  it("orders rules by priority, then id, and finds them by their action alone", () => {
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
