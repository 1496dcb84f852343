import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { authorizationCharsMax, bearerToken, tokenCharsMax } from "../../../lib/auth/mod.ts";
import { hasCode } from "./_setup.ts";

describe("bearerToken", () => {
  it("takes the scheme in any case and any number of spaces after it", () => {
    for (const header of ["Bearer abc", "bearer abc", "BEARER abc", "bEaReR    abc"]) {
      assert.equal(bearerToken(header), "abc");
    }
  });
  it("takes every character of token68 and tokens of full length", () => {
    assert.equal(bearerToken("Bearer aZ09-._~+/=="), "aZ09-._~+/==");
    const longest = "a".repeat(tokenCharsMax);
    assert.equal(bearerToken(`Bearer ${longest}`), longest);
  });
  it("misses the token where there is no header or another scheme", () => {
    for (const header of [
      null,
      "",
      "Basic dXNlcg==",
      "Bearerabc",
      "abc",
      " Bearer abc",
      "Token Bearer abc",
    ]) {
      assert.throws(() => bearerToken(header), hasCode("missing_token"), String(header));
    }
  });
  it("refuses a bearer that is no single well-formed token", () => {
    for (const header of [
      "Bearer",
      "Bearer ",
      "Bearer a b",
      "Bearer a, Bearer b",
      "Bearer a,b",
      "Bearer =a",
      'Bearer "a"',
      "Bearer a\n",
      "Bearer ü",
      `Bearer ${"a".repeat(authorizationCharsMax)}`,
    ]) {
      assert.throws(() => bearerToken(header), hasCode("invalid_token"), header);
    }
  });
  it("takes its time in proportion to the header alone", () => {
    const started = process.cpuUsage().user;
    for (let round = 0; round < 50; round++) {
      assert.throws(() => bearerToken(`Bearer ${"=".repeat(8_000)}!`), hasCode("invalid_token"));
      assert.throws(() => bearerToken(`Bearer${" ".repeat(8_000)}!`), hasCode("invalid_token"));
      assert.throws(() => bearerToken(`Bearer ${"a".repeat(8_000)}!`), hasCode("invalid_token"));
    }
    assert.ok(
      process.cpuUsage().user - started < 500_000,
      "150 hostile headers took more than half a second",
    );
  });
});
