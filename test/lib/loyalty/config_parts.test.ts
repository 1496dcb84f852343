/** The parts of a loyalty configuration beside metrics, items and plain rules: every fault has its pointer. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../lib/errors/mod.ts";
import {
  compileConfig,
  declaredPropertiesMax,
  durationUnitsMax,
  ruleLimitMax,
  webhooksMax,
  webhookUrlCharactersMax,
  windowStepsMax,
} from "../../../lib/loyalty/mod.ts";
import { base, points, rule } from "./_engine.ts";

function faults(parts: unknown): readonly string[] {
  try {
    compileConfig(Array.isArray(parts) ? parts : { ...base, ...(parts as object) });
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError);
    return (error.fields ?? []).map(({ pointer }) => pointer).sort();
  }
}

const [a, b] = ["0e000000-0000-4000-8000-000000000001", "0e000000-0000-4000-8000-000000000002"];
const mission = (more: object): object => ({ id: a, title: "", rule: { action: "go", ...more } });
const challenge = (id: string | undefined, more: object = {}): object => ({
  id,
  title: "",
  missions: [mission({})],
  ...more,
});
const withRule = (more: object): object => ({ rules: [rule("r", [points(1)], more)] });
const withEffect = (effect: object): object => ({ rules: [rule("r", [effect])] });
const withLots = (lots: object, more: object = {}): object => ({
  metrics: [{ id: "points", title: "", lots, ...more }],
});
const counting = (window: object): object =>
  withRule({ when: { gt: [{ count: { action: "go", window } }, 1] } });
const rungs = (...thresholds: number[]): object => ({
  milestones: [
    {
      id: "l",
      title: "",
      metricId: "points",
      milestones: thresholds.map((threshold, index) => ({ id: `r${index}`, title: "", threshold })),
    },
  ],
});
const manyWebhooks = (count: number): object => ({
  webhooks: Array.from({ length: count }, (_, n) => ({
    id: `w${n}`,
    url: "https://e.com/",
    events: ["redeemed"],
  })),
});
const webhook = (url: string): object => ({ webhooks: [{ id: "w", url, events: ["actionRewarded"] }] });
const typed = { actions: [{ name: "go", data: { n: "number" } }] };

describe("the parts of a loyalty configuration", () => {
  it("are refused where they are wrong, and accepted at their bounds", () => {
    const when = "/rules/0/when/gt/0/count";
    const table: [accepted: unknown, refused: unknown, pointer: string][] = [
      [{ timeZone: "Europe/Berlin" }, { timeZone: "Mars/Base" }, "/timeZone"],
      [
        counting({ last: windowStepsMax, unit: "minute" }),
        counting({ last: windowStepsMax + 1, unit: "minute" }),
        `${when}/window/last`,
      ],
      [counting({ calendar: "year" }), counting({ calendar: "hour" }), `${when}/window/calendar`],
      [counting({ last: 1, unit: "week" }), counting({ last: 1, unit: "second" }), `${when}/window/unit`],
      [
        withLots({ expires: { after: { days: durationUnitsMax } } }),
        withLots({ expires: { after: { days: durationUnitsMax + 1 } } }),
        "/metrics/0/lots/expires/after/days",
      ],
      [
        withLots({ activatesAfter: { minutes: 1 } }),
        withLots({ activatesAfter: { minutes: 0 } }),
        "/metrics/0/lots/activatesAfter",
      ],
      [
        withLots({ expires: { endOf: "year" } }),
        withLots({ expires: { endOf: "never" } }),
        "/metrics/0/lots/expires/endOf",
      ],
      [withLots({}), withLots({}, { defaultValue: 0.5 }), "/metrics/0"],
      [rungs(1, 2), rungs(2, 2), "/milestones/0/milestones"],
      [
        withRule({ limits: [{ per: "user", max: ruleLimitMax }] }),
        withRule({ limits: [{ per: "user", max: ruleLimitMax + 1 }] }),
        "/rules/0/limits/0/max",
      ],
      [
        withRule({ limits: [{ per: "global", max: 1, window: { calendar: "day" } }] }),
        withRule({ limits: [{ per: "global", max: 1, window: { calendar: "minute" } }] }),
        "/rules/0/limits/0/window/calendar",
      ],
      [
        { challenges: [challenge(a, { recurrence: "onExpiration", period: "week" })] },
        { challenges: [challenge(a, { period: "week" })] },
        "/challenges/0",
      ],
      [
        { challenges: [challenge(a, { recurrence: "onExpiration", within: { hours: 1 } })] },
        { challenges: [challenge(a, { recurrence: "onExpiration" })] },
        "/challenges/0",
      ],
      [
        { challenges: [challenge(a), challenge(b, { requires: [a] })] },
        { challenges: [challenge(a, { requires: [b] })] },
        "/challenges/0/requires/0",
      ],
      [
        { coupons: [{ id: "c", title: "", type: "shared", code: "X" }] },
        { coupons: [{ id: "c", title: "", type: "shared" }] },
        "/coupons/0",
      ],
      [
        {
          codePools: [{ id: "p", title: "" }],
          coupons: [{ id: "c", title: "", type: "unique", poolId: "p" }],
        },
        { coupons: [{ id: "c", title: "", type: "unique", poolId: "p" }] },
        "/coupons/0/poolId",
      ],
      [manyWebhooks(webhooksMax), manyWebhooks(webhooksMax + 1), "/webhooks"],
      [webhook("https://example.com/x"), webhook("http://example.com/x"), "/webhooks/0/url"],
      [webhook("http://127.0.0.1:9000"), webhook("https://user:secret@example.com"), "/webhooks/0/url"],
      [
        webhook(`https://e.com/${"x".repeat(webhookUrlCharactersMax - 14)}`),
        webhook(`https://e.com/${"x".repeat(webhookUrlCharactersMax - 13)}`),
        "/webhooks/0/url",
      ],
      [
        {
          actions: [
            {
              name: "go",
              data: Object.fromEntries(
                Array.from({ length: declaredPropertiesMax }, (_, n) => [`p${n}`, "number"]),
              ),
            },
          ],
        },
        {
          actions: [
            {
              name: "go",
              data: Object.fromEntries(
                Array.from({ length: declaredPropertiesMax + 1 }, (_, n) => [`p${n}`, "number"]),
              ),
            },
          ],
        },
        "/actions/0/data",
      ],
      [
        withEffect(points({ add: [1, { var: "data.n" }] })),
        withEffect(points({ add: [1, { var: "user.metrics.coins" }] })),
        "/rules/0/effects/0/metricQuantity/add/1/var",
      ],
      [
        { ...typed, ...withEffect(points({ var: "data.n" })) },
        { ...typed, ...withEffect(points({ var: "data.m" })) },
        "/rules/0/effects/0/metricQuantity/var",
      ],
      [
        withEffect({ type: "challengeStart", challengeId: a }),
        withEffect({ type: "challengeStart", challengeId: b }),
        "/rules/0/effects/0",
      ],
      [
        withEffect({ type: "missionCompletion", challengeId: a, missionId: a }),
        withEffect({ type: "missionCompletion", challengeId: a, missionId: b }),
        "/rules/0/effects/0",
      ],
    ].map(([accepted, refused, pointer]) => {
      const known = JSON.stringify(accepted).includes('"challenges"') ? {} : { challenges: [challenge(a)] };
      const both = [accepted, refused].map(parts => ({ ...known, ...(parts as object) }));
      return [both[0], both[1], String(pointer)];
    });
    for (const [accepted, refused, pointer] of table) {
      assert.deepEqual(faults(accepted), [], pointer);
      assert.deepEqual(faults(refused), [pointer]);
    }
  });

  it("never wait for each other in a circle, nor hold what nobody knows", () => {
    const circle = { challenges: [challenge(a, { requires: [b] }), challenge(b, { requires: [a] })] };
    assert.deepEqual(faults(circle), ["/challenges/0/requires", "/challenges/1/requires"]);
    assert.deepEqual(faults(withRule({ limit: [] })), ["/rules/0/limit"]);
    const rolling = withRule({ limits: [{ per: "global", max: 1, window: { last: 1, unit: "day" } }] });
    const window = "/rules/0/limits/0/window";
    assert.deepEqual(faults(rolling), [`${window}/calendar`, `${window}/last`]);
    assert.deepEqual(faults([]), [""]);
    const bundle = [{ id: "x", title: "", effects: [{ type: "reward", rewardId: "x" }] }];
    assert.deepEqual(faults({ rewards: bundle }), ["/rewards/0/effects/0/type"]);
  });

  it("see data only where an action is the trigger", () => {
    const when = { gte: [{ var: "data.n" }, 1] };
    assert.deepEqual(faults(withRule({ when })), []);
    assert.deepEqual(faults(withRule({ when, trigger: { metric: "points" } })), ["/rules/0/when/gte/0/var"]);
  });

  it("count actions that there are, by what those say of themselves", () => {
    const aggregate = (definition: object): object => withRule({ when: { gte: [{ sum: definition }, 1] } });
    const at = "/rules/0/when/gte/0/sum";
    assert.deepEqual(faults(aggregate({ action: "go", of: { var: "data.n" } })), []);
    assert.deepEqual(faults(aggregate({ action: "run", of: 1 })), [`${at}/action`]);
    assert.deepEqual(faults(aggregate({ action: "go", of: { var: "user.metrics.points" } })), [
      `${at}/of/var`,
    ]);
    assert.deepEqual(
      faults(aggregate({ action: "go", of: 1, where: { exists: { var: "user.metrics.points" } } })),
      [`${at}/where/exists/var`],
    );
  });
});
