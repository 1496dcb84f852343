import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { bearerToken, foreignBearerToken, tokenCharsMax } from "../../../lib/auth/tokens/mod.ts";
import { hasCode } from "./_setup.ts";

const authorizationCharsMax = 8_192 + 64;

const noSingleToken = [
  "Bearer",
  "Bearer ",
  "Bearer a b",
  "Bearer a, Bearer b",
  `Bearer ${"a".repeat(authorizationCharsMax)}`,
];

describe("bearerToken", () => {
  it("takes the scheme in any case and any number of spaces after it", () => {
    for (const header of ["Bearer abc", "bearer abc", "BEARER abc", "bEaReR    abc"]) {
      assert.equal(bearerToken(header), "abc");
    }
  });
  it("takes tokens of full length", () => {
    const longest = "a".repeat(tokenCharsMax);
    assert.equal(bearerToken(`Bearer ${longest}`), longest);
  });
  it("reports a missing token for no header and for another scheme", () => {
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
  it("refuses a bearer that is no single token", () => {
    for (const header of noSingleToken) {
      assert.throws(() => bearerToken(header), hasCode("invalid_token"), header);
    }
  });
});

describe("foreignBearerToken", () => {
  it("accepts well-formed bearer tokens", () => {
    assert.equal(foreignBearerToken("bearer  aZ09-._~+/=="), "aZ09-._~+/==");
    assert.throws(() => foreignBearerToken(null), hasCode("missing_token"));
  });
  it("refuses a bearer that is no single well-formed token", () => {
    const malformed = ["Bearer a,b", "Bearer =a", 'Bearer "a"', "Bearer a\n", "Bearer ü"];
    for (const header of [...noSingleToken, ...malformed]) {
      assert.throws(() => foreignBearerToken(header), hasCode("invalid_token"), header);
    }
  });
  it("takes its time in proportion to the header alone", () => {
    const started = process.cpuUsage().user;
    for (let round = 0; round < 50; round++) {
      assert.throws(() => foreignBearerToken(`Bearer ${"=".repeat(8_000)}!`), hasCode("invalid_token"));
      assert.throws(() => foreignBearerToken(`Bearer${" ".repeat(8_000)}!`), hasCode("invalid_token"));
      assert.throws(() => foreignBearerToken(`Bearer ${"a".repeat(8_000)}!`), hasCode("invalid_token"));
    }
    assert.ok(
      process.cpuUsage().user - started < 500_000,
      "150 hostile headers took more than half a second",
    );
  });
});
