import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  parseRateLimits,
  type RatePolicyName,
  rateLimitPolicy,
  ratePolicies,
  ratePolicyNames,
  resolveRateLimits,
} from "../../../../lib/http/rate_limit/policies.ts";

describe("the quotas of a deployment", () => {
  it("are 100 requests a minute for a user and 10,000 for a key where nothing else is said", () => {
    const { user, key, loyaltyAction, failure } = resolveRateLimits();
    assert.deepEqual(user, [{ name: "minute", limit: 100, windowMs: 60_000 }]);
    assert.deepEqual(key, [{ name: "minute", limit: 10_000, windowMs: 60_000 }]);
    assert.equal(rateLimitPolicy(loyaltyAction), '"minute";q=120;w=60');
    assert.equal(rateLimitPolicy(failure), '"failures";q=60;w=60');
  });

  it("have further policies that are off until they are asked for by name", () => {
    const off = ratePolicyNames.filter(name => !ratePolicies[name].isOn);
    assert.deepEqual(off, ["public-hour", "public-burst", "private-hour", "private-burst", "control-strict"]);
    const asked = resolveRateLimits(Object.fromEntries(off.map(name => [name, "on"])));
    assert.equal(rateLimitPolicy(asked.user), '"minute";q=100;w=60, "hour";q=1000;w=3600, "second";q=20;w=1');
    assert.equal(
      rateLimitPolicy(asked.key),
      '"minute";q=10000;w=60, "hour";q=100000;w=3600, "second";q=200;w=1',
    );
  });

  it("can be changed one by one, and switched off one by one or all together", () => {
    const { user, key } = resolveRateLimits({ public: { limit: 7, windowMs: 1_000 }, private: "off" });
    assert.deepEqual(user, [{ name: "minute", limit: 7, windowMs: 1_000 }]);
    assert.deepEqual(key, []);
    assert.deepEqual(Object.values(resolveRateLimits("off")).flat(), []);
  });
});

describe("rate limits as operators write them", () => {
  it("are off, or policies with what becomes of them", () => {
    assert.equal(parseRateLimits(" off "), "off");
    assert.deepEqual(parseRateLimits("public-burst, private=off,public=200/60"), {
      "public-burst": "on",
      private: "off",
      public: { limit: 200, windowMs: 60_000 },
    });
    for (const name of ratePolicyNames) {
      assert.deepEqual(parseRateLimits(name), { [name]: "on" } satisfies { [N in RatePolicyName]?: "on" });
    }
  });

  it("are refused where they mean nothing", () => {
    for (const text of [
      "",
      "publik",
      "public=",
      "public=1",
      "public=0/1",
      "public=1/0",
      "public=1/1/1",
      "a=b=c",
    ]) {
      assert.throws(() => parseRateLimits(text), RangeError, text);
    }
    for (const text of ["__proto__", "constructor=off", "public=1.5/60", "public=9999999999/1", "on"]) {
      assert.throws(() => parseRateLimits(text), RangeError, text);
    }
  });
});
