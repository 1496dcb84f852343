import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TokenCache, type VerifiedToken } from "../../../lib/auth/tokens/mod.ts";
import { createFixture, openRing } from "./_setup.ts";

const ageMs = 60_000;
/** The estimated memory of a token of 8,000 characters. */
const entryBytes = 512 + 2 * 8_000;

const pair = await (await openRing(createFixture())).signer();

function verified(exp: number): VerifiedToken {
  return { typ: "at+jwt", claims: { iss: "i", aud: "a", sub: "s", iat: 0, exp }, pair };
}

describe("the token cache", () => {
  it("remembers for a minute at most", () => {
    const cache = new TokenCache();
    cache.put("t", verified(1_000), 0);
    assert.equal(cache.get("t", ageMs - 1)?.typ, "at+jwt");
    assert.equal(cache.get("t", ageMs), undefined);
  });
  it("never holds more entries than its bound, and keeps the newest half at least", () => {
    const cache = new TokenCache({ entriesMax: 100 });
    for (let index = 0; index < 225; index++) {
      cache.put(`t${index}`, verified(1_000), 0);
      assert.ok(cache.size <= 100);
    }
    for (let back = 1; back <= 50; back++) assert.ok(cache.get(`t${225 - back}`, 1));
  });
  it("never holds more memory than its bound", () => {
    const cache = new TokenCache({ bytesMax: 100 * entryBytes });
    const pad = "x".repeat(7_995);
    let size = 0;
    for (let index = 10_000; index < 10_300; index++) {
      cache.put(pad + index, verified(1_000), 0);
      size = Math.max(size, cache.size);
    }
    assert.equal(size, 100);
  });
  it("counts a token once, however often it is put", () => {
    const cache = new TokenCache({ bytesMax: 100 * entryBytes });
    const token = "x".repeat(8_000);
    cache.put("first", verified(1_000), 0);
    for (let index = 0; index < 100; index++) cache.put(token, verified(1_000), 0);
    cache.put("last", verified(1_000), 0);
    assert.equal(cache.size, 3);
    assert.ok(cache.get("first", 1));
  });
  it("never takes one token for another with the same end", () => {
    const cache = new TokenCache();
    const tail = "x".repeat(60);
    cache.put(`a.${tail}`, verified(1_000), 0);
    assert.equal(cache.get(`b.${tail}`, 1), undefined);
    assert.equal(cache.get(tail, 1), undefined);
    assert.ok(cache.get(`a.${tail}`, 1));
    cache.put(`b.${tail}`, verified(1_000), 0);
    assert.ok(cache.get(`b.${tail}`, 1));
    assert.equal(cache.get(`a.${tail}`, 1), undefined);
  });
  it("drops entries that it no longer returns", () => {
    const cache = new TokenCache();
    for (let index = 0; index < 100; index++) cache.put(`t${index}`, verified(1_000), 0);
    cache.put("u", verified(1_000), ageMs);
    cache.put("v", verified(1_000), ageMs * 2);
    assert.equal(cache.size, 2);
  });
});
