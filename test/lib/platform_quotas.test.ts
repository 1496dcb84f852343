import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type AnyRoute, empty, open, route } from "../../lib/http/mod.ts";
import { resolveRateLimits } from "../../lib/http/rate_limit/policies.ts";
import { callerCharsMax, createFailureLimit, withAudienceLimits } from "../../lib/platform/rate_limits.ts";
import { testSecret } from "../support/platform.ts";

function routeAt(path: `/${string}`): AnyRoute {
  return route({
    method: "POST",
    path,
    operation: "test",
    summary: "A test",
    auth: open,
    responses: { 200: { description: "Done" } },
    handle: () => empty(200),
  });
}

function limitAt(path: `/${string}`): NonNullable<AnyRoute["rateLimit"]> {
  const [governed] = withAudienceLimits([routeAt(path)], resolveRateLimits());
  assert.ok(governed?.rateLimit !== undefined);
  return governed.rateLimit;
}

const space = { id: "s-1", organisationId: "o-1" };
const callOf = (principal: unknown) => ({
  request: new Request("http://club.example/"),
  info: {},
  requestId: "r-1",
  principal,
});
const user = (userId: string): unknown => ({ kind: "user", space, user: { userId } });

describe("the subject of a rate limit", () => {
  it("is the user within the space, or the key wherever it is used", () => {
    const { subject, rules } = limitAt("/things");
    assert.ok(typeof rules === "function");
    const cases: [unknown, string, number][] = [
      [user("u-1"), "user:user:s-1:u-1", 100],
      [{ kind: "backEnd", space, keyId: "k-1" }, "key:key:k-1", 10_000],
      [{ space, caller: { kind: "user", userId: "u-1" } }, "user:user:s-1:u-1", 100],
      [{ space, caller: { kind: "service", keyId: "k-1" } }, "key:key:k-1", 10_000],
      [{ organisationId: "o-1", keyId: "k-1" }, "key:key:k-1", 10_000],
    ];
    for (const [principal, payer, limit] of cases) {
      assert.equal(subject(callOf(principal)), payer);
      assert.equal(rules(callOf(principal))[0]?.limit, limit);
    }
  });

  it("is a digest of a long name, different for each name", () => {
    const { subject } = limitAt("/things");
    const nameOf = (userId: string): string => subject(callOf(user(userId)));
    const fitting = "u".repeat(callerCharsMax - "user:s-1:".length);
    assert.ok(nameOf(fitting).endsWith(fitting));
    assert.match(nameOf(`${fitting}u`), /^user:[0-9a-f]{64}$/);
    assert.notEqual(nameOf(`${fitting}u`), nameOf(`${fitting}v`));
  });

  it("refuses costly requests that no limiter can count", () => {
    assert.equal(limitAt("/v1/api/audience/products/:productId/redeem").onLimiterFailure, "reject");
    assert.equal(limitAt("/v1/api/audience/internal/users/export").onLimiterFailure, "reject");
    assert.equal(limitAt("/v1/api/audience/profile").onLimiterFailure, undefined);
  });

  it("of wrong credentials is the network of the client, whose address is hashed", () => {
    const { subject } = createFailureLimit(resolveRateLimits(), testSecret);
    assert.equal(subject({ address: "2001:db8::1" }), subject({ address: "2001:db8::2" }));
    assert.notEqual(subject({ address: "192.0.2.1" }), subject({ address: "192.0.2.2" }));
    assert.ok(!subject({ address: "192.0.2.1" }).includes("192"));
    assert.equal(subject({}), subject({ address: "" }));
  });
});
