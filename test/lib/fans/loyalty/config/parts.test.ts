/** The errors of each part of a loyalty configuration, with their pointers. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppError } from "../../../../../lib/base/errors/mod.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { base, points, rule } from "../engine/_player.ts";

function errorsOf(parts: unknown): readonly string[] {
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
const milestones = (...thresholds: number[]): object => ({
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
  it("are accepted at their bounds, and refused beyond", () => {
    const when = "/rules/0/when/gt/0/count";
    const table: [accepted: unknown, refused: unknown, pointer: string][] = [
      [{ timeZone: "Europe/Berlin" }, { timeZone: "Mars/Base" }, "/timeZone"],
      [
        withRule({ caps: [{ metricId: "points", max: 1 }] }),
        withRule({ caps: [{ metricId: "coins", max: 1 }] }),
        "/rules/0/caps/0/metricId",
      ],
      [
        { metrics: [{ id: "points", title: "", caps: [{ max: 1 }] }] },
        { metrics: [{ id: "points", title: "", caps: [{ max: 0 }] }] },
        "/metrics/0/caps/0/max",
      ],
      [
        counting({ last: 1_440, unit: "minute" }),
        counting({ last: 1_441, unit: "minute" }),
        `${when}/window/last`,
      ],
      [counting({ calendar: "year" }), counting({ calendar: "hour" }), `${when}/window/calendar`],
      [counting({ last: 1, unit: "week" }), counting({ last: 1, unit: "second" }), `${when}/window/unit`],
      [
        withLots({ expires: { after: { days: 100_000 } } }),
        withLots({ expires: { after: { days: 100_001 } } }),
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
      [milestones(1, 2), milestones(2, 2), "/milestones/0/milestones"],
      [
        withRule({ limits: [{ per: "user", max: 1_000_000_000 }] }),
        withRule({ limits: [{ per: "user", max: 1_000_000_001 }] }),
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
      [manyWebhooks(10), manyWebhooks(11), "/webhooks"],
      [webhook("https://example.com/x"), webhook("http://example.com/x"), "/webhooks/0/url"],
      [webhook("http://127.0.0.1:9000"), webhook("https://user:secret@example.com"), "/webhooks/0/url"],
      [
        webhook(`https://e.com/${"x".repeat(1_010)}`),
        webhook(`https://e.com/${"x".repeat(1_011)}`),
        "/webhooks/0/url",
      ],
      [
        {
          actions: [
            {
              name: "go",
              data: Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`p${n}`, "number"])),
            },
          ],
        },
        {
          actions: [
            {
              name: "go",
              data: Object.fromEntries(Array.from({ length: 65 }, (_, n) => [`p${n}`, "number"])),
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
      assert.deepEqual(errorsOf(accepted), [], pointer);
      assert.deepEqual(errorsOf(refused), [pointer]);
    }
  });

  it("refuse circles of challenges and unknown members", () => {
    const circle = { challenges: [challenge(a, { requires: [b] }), challenge(b, { requires: [a] })] };
    assert.deepEqual(errorsOf(circle), ["/challenges/0/requires", "/challenges/1/requires"]);
    assert.deepEqual(errorsOf(withRule({ limit: [] })), ["/rules/0/limit"]);
    const rolling = withRule({ limits: [{ per: "global", max: 1, window: { last: 1, unit: "day" } }] });
    const window = "/rules/0/limits/0/window";
    assert.deepEqual(errorsOf(rolling), [`${window}/calendar`, `${window}/last`]);
    assert.deepEqual(errorsOf([]), [""]);
    const bundle = [{ id: "x", title: "", effects: [{ type: "reward", rewardId: "x" }] }];
    assert.deepEqual(errorsOf({ rewards: bundle }), ["/rewards/0/effects/0/type"]);
  });

  it("read data only where an action is the trigger", () => {
    const when = { gte: [{ var: "data.n" }, 1] };
    assert.deepEqual(errorsOf(withRule({ when })), []);
    assert.deepEqual(errorsOf(withRule({ when, trigger: { metric: "points" } })), [
      "/rules/0/when/gte/0/var",
    ]);
  });

  it("name another user by a text of the action, and take nothing from that user", () => {
    const to = (path: string): object => ({ user: { var: path } });
    const gift = (path: string, more: object = {}): object => ({ ...points(1), ...to(path), ...more });
    const texts = { actions: [{ name: "go", data: { n: "number", from: "string" } }] };
    const at = "/rules/0/effects/0";
    assert.deepEqual(errorsOf({ ...texts, ...withEffect(gift("data.from")) }), []);
    assert.deepEqual(errorsOf({ ...texts, ...withEffect(gift("data.n")) }), [`${at}/user/var`]);
    assert.deepEqual(errorsOf({ ...texts, ...withEffect(gift("data.of")) }), [`${at}/user/var`]);
    assert.deepEqual(errorsOf(withEffect(gift("user.metrics.points"))), [`${at}/user/var`]);
    const onChange = { rules: [rule("r", [gift("data.from")], { trigger: { metric: "points" } })] };
    assert.deepEqual(errorsOf(onChange), [`${at}/user/var`]);
    assert.deepEqual(errorsOf(withEffect(gift("data.from", { metricQuantity: -1 }))), [
      `${at}/metricQuantity`,
    ]);
    const started = { type: "challengeStart", challengeId: a, ...to("data.from") };
    assert.deepEqual(errorsOf({ ...withEffect(started), challenges: [challenge(a)] }), [`${at}/user`]);
  });

  it("count declared actions by their own data", () => {
    const aggregate = (definition: object): object => withRule({ when: { gte: [{ sum: definition }, 1] } });
    const at = "/rules/0/when/gte/0/sum";
    assert.deepEqual(errorsOf(aggregate({ action: "go", of: { var: "data.n" } })), []);
    assert.deepEqual(errorsOf(aggregate({ action: "run", of: 1 })), [`${at}/action`]);
    assert.deepEqual(errorsOf(aggregate({ action: "go", of: { var: "user.metrics.points" } })), [
      `${at}/of/var`,
    ]);
    assert.deepEqual(
      errorsOf(aggregate({ action: "go", of: 1, where: { exists: { var: "user.metrics.points" } } })),
      [`${at}/where/exists/var`],
    );
  });

  it("say in errors what there is, which one may be meant, and what a window looks like", () => {
    const detailsOf = (document: object): unknown => {
      try {
        compileConfig(document);
        return null;
      } catch (error) {
        assert.ok(error instanceof AppError);
        return error.fields?.map(({ pointer, detail }) => [pointer, detail]);
      }
    };
    const parts = {
      metrics: ["points", "energy"].map(id => ({ id, title: "" })),
      actions: [{ name: "buy", data: { amount: "number" } }],
    };
    const given = (metricId: string): object => ({ type: "metric", metricId, metricQuantity: 1 });
    const ruled = (more: object): object => ({
      ...parts,
      rules: [{ id: "a", trigger: { action: "buy" }, effects: [given("points")], ...more }],
    });
    const variable = (path: string): unknown => detailsOf(ruled({ when: { gt: [{ var: path }, 1] } }));
    const known =
      "Name a variable that exists here: data.amount, user.metrics.points, user.metrics.energy, user.segments, user.custom.<field>, element.type, element.points, element.seconds, element.isRight.";
    const at = "/rules/0/when/gt/0/var";
    assert.deepEqual(variable("user.metrics.point"), [[at, `${known} Did you mean user.metrics.points?`]]);
    assert.deepEqual(variable("nothing.like.it"), [[at, known]]);
    assert.deepEqual(detailsOf(ruled({ effects: [given("pionts"), given("tickets")] })), [
      ["/rules/0/effects/0", "Expected one that is listed under /metrics. Did you mean points?"],
      ["/rules/0/effects/1", "Expected one that is listed under /metrics"],
    ]);
    const counted = (definition: object): unknown =>
      detailsOf(
        ruled({
          when: { gt: [{ distinct: { action: "buy", of: { var: "data.amuont" } } }, 1] },
          ...definition,
        }),
      );
    assert.deepEqual(counted({}), [
      [
        "/rules/0/when/gt/0/distinct/of/var",
        "Name a variable that exists here: data.amount. Did you mean data.amount?",
      ],
    ]);
    const window =
      'Expected {"calendar": "day"}, "week", "month" or "year", or {"last": 7, "unit": "day"} with 1 to 1440 of a unit';
    for (const wrong of ["day", { calender: "day" }, null, {}, 7]) {
      const limits = [{ per: "user", max: 1, window: wrong }];
      assert.deepEqual(detailsOf(ruled({ limits })), [["/rules/0/limits/0/window", window]]);
    }
  });
});
