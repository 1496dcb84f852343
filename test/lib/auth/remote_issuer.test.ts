import assert from "node:assert/strict";
import { createHmac, createPublicKey, generateKeyPairSync, sign } from "node:crypto";
import { beforeEach, describe, it } from "node:test";
import {
  anyTokenTypes,
  createRemoteFetch,
  createRemoteIssuers,
  type RemoteIssuer,
  type RemoteIssuers,
} from "../../../lib/auth/remote_issuers/mod.ts";
import { clockSkewSecondsMax } from "../../../lib/auth/tokens/key_ring.ts";
import { tokenCharsMax } from "../../../lib/auth/tokens/mod.ts";
import type { ErrorCode } from "../../../lib/base/errors/mod.ts";
import type { LogFields } from "../../../lib/http/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { forge, issuerKey, TestIssuer } from "../../support/issuer.ts";
import { hasCode } from "./_setup.ts";

describe("a token of another issuer", () => {
  const clock = createTestClock();
  let login: TestIssuer;
  let issuers: RemoteIssuers;
  let from: RemoteIssuer;
  beforeEach(() => {
    login = new TestIssuer();
    issuers = createRemoteIssuers({ fetch: createRemoteFetch({ fetch: login.fetch }), clock: clock.now });
    from = { issuer: login.issuer, audience: "app-1" };
  });

  function claims(more: object = {}): Record<string, unknown> {
    return login.claims(clock.now(), more);
  }
  async function refused(token: string, why: string, code: ErrorCode = "invalid_token"): Promise<void> {
    await assert.rejects(issuers.verify(token, from), hasCode(code), why);
  }
  function parts(token: string): string {
    return token.slice(0, token.lastIndexOf("."));
  }

  it("is accepted from the configured issuer for the configured audience", async () => {
    const verified = await issuers.verify(forge(login.key, claims({ nickname: "Al" })), from);
    assert.equal(verified.sub, "alice");
    assert.equal(verified.nickname, "Al");
    assert.equal(
      (await issuers.verify(forge(login.key, claims({ aud: ["x", "app-1"] })), from)).sub,
      "alice",
    );
    assert.deepEqual(login.asked, [
      "https://login.example/.well-known/openid-configuration",
      "https://login.example/jwks",
    ]);
  });
  it("is refused without a signature, in any spelling", async () => {
    for (const alg of ["none", "None", "NONE", ""]) {
      const input = parts(forge(login.key, claims(), { alg }));
      for (const token of [`${input}.`, input, `${input}.AAAA`, forge(login.key, claims(), { alg })]) {
        await refused(token, alg);
      }
    }
  });
  it("is refused when the public key was used as an HMAC secret", async () => {
    const publicKey = createPublicKey(login.key.privateKey);
    const pem = publicKey.export({ format: "pem", type: "spki" });
    for (const secret of [pem, JSON.stringify(login.key.jwk), String(login.key.jwk.x)]) {
      const input = parts(forge(login.key, claims(), { alg: "HS256" }));
      const mac = createHmac("sha256", secret).update(input).digest("base64url");
      await refused(`${input}.${mac}`, "HS256");
    }
  });
  it("is refused when another key signed it, under a foreign name or that of a published key", async () => {
    const stranger = issuerKey("stranger");
    await refused(forge(stranger, claims()), "foreign kid");
    await refused(forge(stranger, claims(), { kid: login.key.kid }), "stolen kid");
    await refused(forge(stranger, claims(), { kid: login.key.kid, jwk: stranger.jwk }), "own jwk");
    await refused(forge(stranger, claims(), { jku: "https://evil.example/jwks" }), "jku");
    assert.equal(login.asked.filter(url => url.includes("evil")).length, 0);
  });
  it("is accepted without the name of a key, also of one that was published a moment ago", async () => {
    const unnamed = { kid: undefined };
    await issuers.verify(forge(login.key, claims(), unnamed), from);
    await refused(forge(issuerKey(), claims(), unnamed), "a key of nobody");
    clock.advance(30_000);
    login.keys.push(issuerKey());
    await issuers.verify(forge(login.key, claims(), unnamed), from);
    await issuers.verify(forge(login.keys[0] ?? login.key, claims(), unnamed), from);
    const asked = login.asked.length;
    for (let count = 0; count < 5; count++) await refused(forge(issuerKey(), claims(), unnamed), "stranger");
    assert.equal(login.asked.length, asked, "the keys are not fetched for every token");
    await refused(forge(login.key, claims(), { kid: 7 }), "kid");
  });
  it("is tried with each of five keys that share a name", async () => {
    login.keys = Array.from({ length: 6 }, () => issuerKey("shared"));
    for (const key of login.keys.slice(0, 5)) await issuers.verify(forge(key, claims()), from);
    await refused(forge(issuerKey("shared"), claims()), "another one");
  });
  it("may name its times in fractions of a second", async () => {
    const now = clock.now() / 1_000;
    const times = { iat: now - 1.5, nbf: now - 1.5, exp: now + 60.5 };
    assert.equal((await issuers.verify(forge(login.key, claims(times)), from)).iat, times.iat);
    await refused(forge(login.key, claims({ exp: now - clockSkewSecondsMax - 0.5 })), "exp", "token_expired");
  });
  it("is refused with a reason in the log, which has nothing of the token", async () => {
    const lines: [level: string, event: string, fields: LogFields][] = [];
    const log = (level: string, event: string, fields: LogFields) => void lines.push([level, event, fields]);
    const fetch = createRemoteFetch({ fetch: login.fetch });
    issuers = createRemoteIssuers({ fetch, clock: clock.now, logger: { enabled: () => true, log } });
    const stranger = issuerKey("stranger");
    const { kid } = login.key;
    const cases: [token: string, kid: string | null, reason: RegExp][] = [
      [forge(login.key, claims({ aud: "secret-2" })), kid, /^aud: /],
      [forge(login.key, claims({ iss: "https://secret.example" })), kid, /^iss: /],
      [forge(login.key, claims({ exp: 1 })), kid, /^the token has expired$/],
      [forge(stranger, claims()), "stranger", /^the issuer publishes no key of this kid and alg$/],
      [forge(stranger, claims(), { kid }), kid, /^no published key fits the signature$/],
      [forge(login.key, claims(), { typ: "secret+jwt" }), kid, /^typ$/],
      ["secret", null, /./],
    ];
    for (const [token, name, reason] of cases) {
      lines.length = 0;
      await assert.rejects(issuers.verify(token, from));
      const [[level, event, fields] = []] = lines;
      assert.deepEqual([level, event, lines.length], ["info", "token_refused", 1]);
      assert.deepEqual([fields?.issuer, fields?.audience, fields?.kid], [login.issuer, "app-1", name]);
      assert.match(String(fields?.reason), reason);
      assert.doesNotMatch(JSON.stringify(lines), /secret/);
    }
  });
  it("is refused for another audience or from another issuer", async () => {
    await refused(forge(login.key, claims({ aud: "app-2" })), "aud");
    await refused(forge(login.key, claims({ aud: ["app-2"] })), "aud list");
    await refused(forge(login.key, claims({ aud: undefined })), "no aud");
    await refused(forge(login.key, claims({ iss: "https://evil.example" })), "iss");
    await refused(forge(login.key, claims({ iss: `${login.issuer}/` })), "iss with a slash");
  });
  it("is refused when its time is over or has not come", async () => {
    const now = Math.floor(clock.now() / 1_000);
    await refused(forge(login.key, claims({ exp: now - clockSkewSecondsMax })), "exp", "token_expired");
    await refused(forge(login.key, claims({ nbf: now + clockSkewSecondsMax + 1 })), "nbf");
    await refused(forge(login.key, claims({ iat: now + clockSkewSecondsMax + 1 })), "iat");
    await issuers.verify(forge(login.key, claims({ exp: now - clockSkewSecondsMax + 1 })), from);
    await issuers.verify(forge(login.key, claims({ iat: now + clockSkewSecondsMax })), from);
  });
  it("is refused when it expires beyond any clock", async () => {
    for (const exp of [1e300, Number.MAX_SAFE_INTEGER, 8_640_000_000_001]) {
      await refused(forge(login.key, claims({ exp })), String(exp));
    }
    await issuers.verify(forge(login.key, claims({ exp: 8_640_000_000_000 })), from);
  });
  it("is refused when it lacks a claim or names no subject", async () => {
    for (const name of ["sub", "exp", "iat", "iss"]) {
      await refused(forge(login.key, claims({ [name]: undefined })), name);
    }
    for (const sub of ["", "a".repeat(256), "ä", "a\n", 7, null]) {
      await refused(forge(login.key, claims({ sub })), String(sub));
    }
    await issuers.verify(forge(login.key, claims({ sub: "a".repeat(255) })), from);
  });
  it("is refused with an algorithm that is not configured, however good its signature", async () => {
    const { publicKey, privateKey } = generateKeyPairSync("ed25519");
    const jwk = { ...publicKey.export({ format: "jwk" }), kid: "ed" };
    login.keys.push({ kid: "ed", jwk, privateKey });
    const input = parts(forge(login.keys[0] ?? issuerKey(), claims(), { alg: "EdDSA", kid: "ed" }));
    const token = `${input}.${sign(null, Buffer.from(input), privateKey).toString("base64url")}`;
    from = { ...from, algorithms: ["ES256"] };
    await refused(token, "EdDSA");
    from = { ...from, algorithms: ["EdDSA"] };
    assert.equal((await issuers.verify(token, from)).sub, "alice");
  });
  it("is refused with critical extensions and with an unencoded payload", async () => {
    await refused(forge(login.key, claims(), { crit: ["exp"], exp: 1 }), "crit");
    await refused(forge(login.key, claims(), { b64: false, crit: ["b64"] }), "b64");
  });
  it("is accepted only as the kind of token that is expected", async () => {
    for (const typ of ["JWT", "jwt", undefined, "application/jwt"]) {
      await issuers.verify(forge(login.key, claims(), { typ }), from);
    }
    for (const typ of ["at+jwt", "logout+jwt", "secevent+jwt", "rt+jwt"]) {
      await refused(forge(login.key, claims(), { typ }), typ);
    }
    const token = forge(login.key, claims(), { typ: "at+jwt" });
    assert.equal((await issuers.verify(token, from, { types: anyTokenTypes })).sub, "alice");
  });
  it("is refused when it is no token at all, or a longer one than any, before anything is asked", async () => {
    await refused("a".repeat(tokenCharsMax + 1), "length");
    assert.equal(login.asked.length, 0);
    for (const text of ["", "a", "a.b.c", "....", "€.€.€", "{}"]) await refused(text, text);
  });
  it("keeps its issuer's keys however many other issuers fail", async () => {
    const token = forge(login.key, claims());
    await issuers.verify(token, from);
    login.asked.length = 0;
    await issuers.verify(token, from);
    assert.deepEqual(login.asked, []);
    for (let index = 0; index < 1_000; index++) {
      const other = { issuer: `https://other-${index}.example`, audience: "app-1" };
      await assert.rejects(issuers.verify(token, other), hasCode("provider_error"));
    }
    login.asked.length = 0;
    await issuers.verify(token, from);
    assert.deepEqual(login.asked, []);
  });
});
