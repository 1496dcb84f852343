import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { LoyaltyConfigSchema } from "../../../../../lib/fans/loyalty/config/document.ts";
import { compileConfig } from "../../../../../lib/fans/loyalty/mod.ts";
import { jsonSchemaOf } from "../../../../../lib/http/openapi/schema.ts";
import { demoLoyalty } from "../../../../../lib/platform/demo.ts";
import { loyalty } from "../../../../support/platform.ts";

const validate = new Ajv2020({ validateFormats: false, strict: false }).compile(
  jsonSchemaOf(LoyaltyConfigSchema),
);

const mission = { id: "0f000000-0000-4000-8000-000000000001", title: "M" };
const challenge = (rule: unknown): unknown => ({
  challenges: [{ id: "0e000000-0000-4000-8000-000000000001", title: "C", missions: [{ ...mission, rule }] }],
});
const rule = (more: object): unknown => ({
  rules: [{ id: "r", trigger: { action: "a" }, effects: [{ type: "coupon", couponId: "c" }], ...more }],
});
const metric = (more: object): unknown => ({ metrics: [{ id: "m", title: "M", ...more }] });
const limited = (window: unknown): unknown => rule({ limits: [{ per: "user", max: 1, window }] });
const giving = (metricQuantity: unknown): unknown =>
  rule({ effects: [{ type: "metric", metricId: "m", metricQuantity }] });

const right: readonly unknown[] = [
  {},
  loyalty,
  demoLoyalty,
  challenge({ action: "a" }),
  challenge({ action: "a", count: 2, when: { eq: [1, 1] }, amount: { var: "data.n" } }),
  challenge({ metric: "m", atLeast: 5 }),
  ...["metric", "milestoneReached", "inventoryReceived"].map(kind => rule({ trigger: { [kind]: "m" } })),
  rule({ trigger: { challengeCompleted: "0e000000-0000-4000-8000-000000000001" } }),
  metric({ lots: { expires: { after: { days: 1 } } } }),
  metric({ lots: { expires: { endOf: "year" }, activatesAfter: { hours: 2 } } }),
  limited({ last: 7, unit: "day" }),
  limited({ calendar: "month" }),
  giving(-3),
  giving({ mul: [2, { var: "data.n" }] }),
  giving({ sum: { action: "a", of: { floor: { var: "data.n" } }, window: { last: 7, unit: "day" } } }),
  rule({
    when: { all: [{ not: { in: [{ var: "data.n" }, [1, 2]] } }, { gte: [{ count: { action: "a" } }, 3] }] },
  }),
  rule({ when: { gt: [{ streak: { action: "a", where: { exists: { var: "data.n" } }, unit: "day" } }, 3] } }),
];

const wrong: readonly unknown[] = [
  { metric: [] },
  challenge({ action: "a", atLeast: 5 }),
  challenge({ metric: "m" }),
  challenge({}),
  rule({ trigger: { action: "a", metric: "m" } }),
  rule({ trigger: {} }),
  rule({ limit: [] }),
  metric({ lots: { expires: { after: { days: 1 }, endOf: "day" } } }),
  metric({ lots: { expires: {} } }),
  metric({ id: "not an id" }),
  { metrics: Array.from({ length: 501 }, (_, n) => ({ id: `m${n}`, title: "M" })) },
  rule({ effects: [] }),
  limited({ last: 7 }),
  limited({ calendar: "fortnight" }),
  giving("3"),
  giving(1.5),
  giving({ mul: [2] }),
  giving({ sum: { action: "a" } }),
  rule({ when: true }),
  rule({ when: { equals: [1, 1] } }),
  rule({ when: { eq: [1, 1], ne: [1, 2] } }),
  rule({ when: { between: [1, 2] } }),
  rule({ when: { all: [{ any: [{ eq: [{ count: { act: "a" } }, 1] }] }] } }),
  challenge({ action: "a", when: { not: [] } }),
  challenge({ action: "a", amount: "2" }),
];

describe("the JSON Schema of loyalty configurations", () => {
  it("accepts every alternative", () => {
    for (const document of right) {
      assert.ok(validate(document), `${JSON.stringify(document)}: ${JSON.stringify(validate.errors)}`);
    }
  });

  it("refuses misspelt, missing and mistyped members, as the platform does", () => {
    for (const document of wrong) {
      assert.equal(validate(document), false, JSON.stringify(document));
      assert.throws(() => compileConfig(document), { code: "validation_failed" }, JSON.stringify(document));
    }
  });
});
