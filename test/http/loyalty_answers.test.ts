/** The OpenAPI document tells every member of what the loyalty API answers: generated clients miss nothing. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import {
  type Answer,
  type Fan,
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
} from "../support/platform.ts";
import { newKey } from "./_operations.ts";

const announced = { display: "toast", title: "Title", message: "Message" };
const document = {
  ...loyalty,
  metrics: [
    ...loyalty.metrics,
    { id: "coins", title: "", lots: { activatesAfter: { minutes: 1 }, expires: { after: { minutes: 1 } } } },
  ],
  coupons: [
    ...loyalty.coupons,
    { id: "ten", title: "", type: "shared", code: "TEN", showOnNotification: true },
  ],
  milestones: [
    {
      id: "level",
      title: "",
      metricId: "points",
      milestones: [{ id: "one", title: "", threshold: 1, notification: announced }],
    },
  ],
  rules: [
    ...loyalty.rules,
    {
      id: "coins",
      trigger: { action: "prediction" },
      limits: [{ per: "user", max: 1 }],
      effects: [
        { type: "metric", metricId: "coins", metricQuantity: 5 },
        { type: "coupon", couponId: "ten" },
        { type: "notification", notification: announced },
      ],
    },
  ],
};

/** An operation as the document tells it. */
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: unknown }>> }>
  >;
}

/** The schema with no other members than those that it tells. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return Object.hasOwn(parts, "properties") ? { ...parts, additionalProperties: false } : parts;
}

describe("answers of the loyalty API", () => {
  let world: TestPlatform;
  let fan: Fan;
  let headers: Readonly<Record<string, string>>;
  let schemaOf: (operation: string) => object;
  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }), {
      seed: { ...seed, loyalty: { [ids.space]: document } },
    });
    const { key, secret } = await newKey(world);
    headers = { "x-api-key": key, "x-api-secret": secret };
    const { paths } = (await world.call("/openapi.json")).json;
    const operations = Object.values(paths as Record<string, Record<string, Operation>>).flatMap(path =>
      Object.values(path),
    );
    schemaOf = id => {
      const found = operations.find(({ operationId }) => operationId === id);
      return closed(found?.responses[200]?.content["application/json"]?.schema) as object;
    };
    fan = await world.fan("Sam");
    for (const _ of "123") assert.equal((await fan.act("prediction", { outcome: "exact" })).status, 200);
    world.clock.advance(90_000);
  });
  after(() => world.dispose());

  function assertTold(operation: string, { status, json, text }: Answer): void {
    assert.equal(status, 200, text);
    const told = new Ajv2020({ strict: false }).compile(schemaOf(operation));
    assert.ok(told(JSON.parse(text)), `${operation}: ${JSON.stringify(told.errors)}`);
    const entries = Array.isArray(json.data) ? json.data : Object.values(json.data);
    assert.ok(entries.length > 0, `${operation} answers nothing`);
  }

  it("are told to users", async () => {
    const { token } = fan;
    const operations = {
      getLoyaltyConfig: "/api/loyalty/config",
      getRewardsProfile: "/api/loyalty/profile",
      listLoyaltyNotifications: "/api/loyalty/notifications",
      listLoyaltyHistory: "/api/loyalty/history",
      getCoupon: "/api/loyalty/coupons/ten",
    };
    for (const [operation, path] of Object.entries(operations)) {
      assertTold(operation, await world.call(path, { token }));
    }
  });

  it("are told to operators", async () => {
    const user = `/internal/loyalty/users/${fan.userId}`;
    const body = { userId: fan.userId, action: "prediction", data: { outcome: "right" } };
    world.clock.advance(90_000);
    assertTold("tryAction", await world.call("/internal/loyalty/dry-run", { headers, body }));
    assertTold("reconcileUser", await world.call(`${user}/reconciliation`, { headers }));
    const replayed = await world.call(`${user}/replay`, { headers, body: { document: loyalty } });
    assert.ok(replayed.json.data.differences.length > 0);
    assertTold("replayUser", replayed);
    const history = (await world.call("/api/loyalty/history", { token: fan.token })).json.data;
    const reversal = { transactionId: history[0].id };
    assertTold("reverseTransaction", await world.call(`${user}/reversals`, { headers, body: reversal }));
  });

  it("are not told where a member is not: an answer with another one does not fit", () => {
    const told = new Ajv2020({ strict: false }).compile(schemaOf("getRewardsProfile"));
    const data = { metrics: {}, inventory: {}, challenges: {} };
    assert.equal(told({ message: "OK", data }), true);
    assert.equal(told({ message: "OK", data: { ...data, more: 1 } }), false);
    assert.equal(told({ message: "OK", data: { metrics: {}, inventory: {} } }), false);
  });
});
