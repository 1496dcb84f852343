import assert from "node:assert/strict";
import { createHmac, createSign, generateKeyPairSync, sign as signBytes } from "node:crypto";
import { before, describe, it } from "node:test";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import {
  type Claims,
  clockSkewSecondsMax,
  createTokens,
  type KeyRing,
  retentionMs,
  standbyMs,
  type TokenExpectation,
  type Tokens,
  tokenCacheAgeMsMax,
  tokenCharsMax,
  tokenTtlSecondsMax,
  unknownKeyCooldownMs,
} from "../../../lib/auth/mod.ts";
import { createFixture, type Fixture, hasCode, openRing } from "./_setup.ts";

const expected: TokenExpectation = {
  typ: "at+jwt",
  issuer: "https://id.example",
  audience: "https://api.example",
};
const content = {
  ...expected,
  subject: "user-1",
  ttlSeconds: 600,
  claims: { orgId: "org-1", scope: ["a", "b"] },
};

interface Subject {
  readonly fixture: Fixture;
  readonly ring: KeyRing;
  readonly tokens: Tokens;
}

async function createSubject(fixture: Fixture = createFixture()): Promise<Subject> {
  const ring = await openRing(fixture);
  return { fixture, ring, tokens: createTokens({ ...fixture, ring }) };
}

function encode(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

function decode(part: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(part ?? "", "base64url").toString());
}

async function assertRefused(tokens: Tokens, token: string, why: string): Promise<void> {
  await assert.rejects(
    async () => await tokens.verify(token, expected),
    error => hasCode("invalid_token")(error) && String(error).includes("not valid for this request"),
    why,
  );
}

describe("a token", () => {
  for (const algorithm of ["EdDSA", "ES256", "RS256"] as const) {
    it(`signed with ${algorithm} verifies here and with the published keys alone`, async () => {
      const fixture = createFixture();
      const ring = await openRing(fixture, { algorithm });
      const tokens = createTokens({ ...fixture, ring });
      const token = await tokens.sign(content);
      const claims = await tokens.verify(token, expected);
      const published = createLocalJWKSet(structuredClone(await ring.jwks()) as JSONWebKeySet);
      const outside = await jwtVerify(token, published, {
        algorithms: [algorithm],
        typ: "at+jwt",
        issuer: expected.issuer,
        audience: expected.audience,
        currentDate: new Date(fixture.clock()),
      });
      assert.deepEqual(claims, outside.payload);
      assert.equal(outside.protectedHeader.alg, algorithm);
    });
  }
  for (const algorithm of ["EdDSA", "ES256", "RS256"] as const) {
    it(`signed with ${algorithm} is refused with any other signature`, async () => {
      const fixture = createFixture();
      const ring = await openRing(fixture, { algorithm });
      const tokens = createTokens({ ...fixture, ring });
      const [one, two] = [await tokens.sign(content), await tokens.sign(content)];
      const input = one.slice(0, one.lastIndexOf("."));
      const signature = Buffer.from(one.slice(input.length + 1), "base64url");
      const others = [
        Buffer.from(two.slice(two.lastIndexOf(".") + 1), "base64url"),
        Buffer.alloc(signature.length),
        Buffer.alloc(signature.length, 255),
        Buffer.alloc(1),
        signature.subarray(1),
        Buffer.concat([signature, Buffer.alloc(1)]),
        signature.toReversed(),
      ];
      for (const other of others) {
        const text = Buffer.from(other).toString("base64url");
        await assertRefused(tokens, `${input}.${text}`, text);
      }
      assert.equal((await tokens.verify(one, expected)).sub, "user-1");
    });
  }
  it("carries its claims, times and a unique id", async () => {
    const { tokens, fixture } = await createSubject();
    const [first, second] = [await tokens.sign(content), await tokens.sign(content)];
    const { jti, ...claims } = await tokens.verify(first, expected);
    const iat = Math.floor(fixture.clock() / 1_000);
    assert.deepEqual(claims, {
      orgId: "org-1",
      scope: ["a", "b"],
      iss: expected.issuer,
      aud: expected.audience,
      sub: "user-1",
      iat,
      exp: iat + 600,
    });
    assert.notEqual(jti, (await tokens.verify(second, expected)).jti);
  });
  it("for several audiences is accepted by each of them and by no other", async () => {
    const { tokens } = await createSubject();
    const token = await tokens.sign({ ...content, audience: ["one", "two"] });
    assert.equal((await tokens.verify(token, { ...expected, audience: "two" })).sub, "user-1");
    assert.equal((await tokens.verify(token, { ...expected, audience: "one" })).sub, "user-1");
    await assertRefused(tokens, token, "third audience");
  });
  it("has claims that nobody can change", async () => {
    const { tokens } = await createSubject();
    const claims = await tokens.verify(
      await tokens.sign({ ...content, claims: { a: { b: [{ c: 1 }] } } }),
      expected,
    );
    const a = claims.a as { b: [{ c: number }] };
    assert.ok([claims, a, a.b, a.b[0]].every(Object.isFrozen));
  });
  it("is not signed for a life that is out of bounds", async () => {
    const { tokens } = await createSubject();
    for (const ttlSeconds of [0, -1, 1.5, Number.NaN, tokenTtlSecondsMax + 1]) {
      await assert.rejects(tokens.sign({ ...content, ttlSeconds }), RangeError);
    }
    assert.ok(await tokens.sign({ ...content, ttlSeconds: tokenTtlSecondsMax }));
  });
  it("is not signed with a registered claim or when it would be too long to be accepted", async () => {
    const { tokens } = await createSubject();
    for (const name of ["iss", "sub", "aud", "exp", "nbf", "iat", "jti"]) {
      await assert.rejects(tokens.sign({ ...content, claims: { [name]: 1 } }), TypeError);
    }
    await assert.rejects(
      tokens.sign({ ...content, claims: { long: "x".repeat(tokenCharsMax) } }),
      RangeError,
    );
  });
});

describe("time", () => {
  it("ends a token in the second of its exp, seen before or not", async () => {
    const { tokens, fixture } = await createSubject();
    const token = await tokens.sign(content);
    const unseen = await tokens.sign(content);
    const remaining = 600_000 - (fixture.clock() % 1_000);
    fixture.time.advance(remaining - 1);
    assert.equal((await tokens.verify(token, expected)).sub, "user-1");
    fixture.time.advance(1);
    await assert.rejects(async () => await tokens.verify(token, expected), hasCode("token_expired"));
    await assert.rejects(async () => await tokens.verify(unseen, expected), hasCode("token_expired"));
  });
  it("does not matter where expired tokens are accepted, but everything else does", async () => {
    const { tokens, fixture } = await createSubject();
    const token = await tokens.sign(content);
    fixture.time.advance(601_000);
    const lenient = { ...expected, acceptExpired: true };
    assert.equal((await tokens.verify(token, lenient)).sub, "user-1");
    await assert.rejects(async () => await tokens.verify(token, expected), hasCode("token_expired"));
    const refused = tokens.verify(token, { ...lenient, audience: "other" });
    await assert.rejects(async () => await refused, hasCode("invalid_token"));
  });
  it("of another clock may be ahead by the skew and no more", async () => {
    const { tokens, fixture, ring } = await createSubject();
    const skew = clockSkewSecondsMax * 1_000;
    const near = createTokens({ ...fixture, ring, clock: () => fixture.clock() + skew });
    const far = createTokens({ ...fixture, ring, clock: () => fixture.clock() + skew + 1_000 });
    assert.equal((await tokens.verify(await near.sign(content), expected)).sub, "user-1");
    await assertRefused(tokens, await far.sign(content), "iat in the future");
  });
});

describe("a token that was made or changed by somebody else", () => {
  let subject: Subject;
  let token: string;
  let header: Record<string, unknown>;
  let payload: Record<string, unknown>;
  /** Signs any header and payload text with the ring's own key, so that only their content can be at fault. */
  let forge: (header: unknown, payload: unknown) => Promise<string>;

  before(async () => {
    subject = await createSubject();
    token = await subject.tokens.sign(content);
    const parts = token.split(".");
    header = decode(parts[0]);
    payload = decode(parts[1]);
    const { privateKey } = await subject.ring.signer();
    forge = async (forgedHeader, forgedPayload) => {
      const input = `${encode(forgedHeader)}.${encode(forgedPayload)}`;
      const signature = await crypto.subtle.sign("Ed25519", privateKey, Buffer.from(input));
      return `${input}.${Buffer.from(signature).toString("base64url")}`;
    };
  });

  it("is accepted only in this form, which shows that the forger below works", async () => {
    assert.equal((await subject.tokens.verify(await forge(header, payload), expected)).sub, "user-1");
  });
  it("is refused with alg none in any spelling", async () => {
    for (const alg of ["none", "None", "NONE", ""]) {
      const input = `${encode({ ...header, alg })}.${encode(payload)}`;
      for (const forged of [`${input}.`, input, `${input}.AAAA`])
        await assertRefused(subject.tokens, forged, alg);
    }
  });
  it("is refused when the public key was used as an HMAC secret", async () => {
    const [key] = (await subject.ring.jwks()).keys;
    const x = String(key?.x);
    for (const hmacKey of [x, Buffer.from(x, "base64url"), JSON.stringify(key)]) {
      const input = `${encode({ ...header, alg: "HS256" })}.${encode(payload)}`;
      const mac = createHmac("sha256", hmacKey).update(input).digest("base64url");
      await assertRefused(subject.tokens, `${input}.${mac}`, "HS256");
      const keepAlg = `${encode(header)}.${encode(payload)}`;
      const sameAlg = createHmac("sha256", hmacKey).update(keepAlg).digest("base64url");
      await assertRefused(subject.tokens, `${keepAlg}.${sameAlg}`, "EdDSA with an HMAC");
    }
  });
  it("is refused with another algorithm than that of its key, although the signature is good", async () => {
    for (const alg of ["Ed25519", "ES256", "RS256", "eddsa", null, 5, ["EdDSA"]]) {
      await assertRefused(subject.tokens, await forge({ ...header, alg }, payload), String(alg));
    }
  });
  it("is refused when another key signed it under our kid", async () => {
    const input = `${encode(header)}.${encode(payload)}`;
    const { privateKey } = generateKeyPairSync("ed25519");
    const signature = signBytes(null, Buffer.from(input), privateKey).toString("base64url");
    await assertRefused(subject.tokens, `${input}.${signature}`, "foreign key");
  });
  it("is refused when an RSA key signed it under our kid", async () => {
    const input = `${encode({ ...header, alg: "RS256" })}.${encode(payload)}`;
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2_048 });
    const signature = createSign("sha256").update(input).sign(privateKey, "base64url");
    await assertRefused(subject.tokens, `${input}.${signature}`, "RS256");
  });
  it("is refused for a kid that is unknown, a prototype, a path, a query or no text", async () => {
    const kids = [
      "__proto__",
      "constructor",
      "toString",
      "../../../dev/null",
      "' OR 1=1 --",
      "",
      "x".repeat(4_000),
      `${String(header.kid)}\u0000`,
      null,
      0,
      { kid: header.kid },
      [header.kid],
      undefined,
    ];
    for (const kid of kids)
      await assertRefused(subject.tokens, await forge({ ...header, kid }, payload), String(kid));
  });
  it("does not bring its own key: jku, x5u, jwk and x5c are never read", async () => {
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    const jwk = publicKey.export({ format: "jwk" });
    const url = "https://attacker.example/keys";
    for (const extra of [{ jwk }, { jku: url }, { x5u: url }, { x5c: ["MIIB"] }, { jwk, kid: undefined }]) {
      const input = `${encode({ ...header, ...extra })}.${encode(payload)}`;
      const signature = signBytes(null, Buffer.from(input), privateKey).toString("base64url");
      await assertRefused(subject.tokens, `${input}.${signature}`, JSON.stringify(extra));
    }
    const own = await forge({ ...header, jku: url, jwk }, payload);
    assert.equal((await subject.tokens.verify(own, expected)).sub, "user-1");
  });
  it("is refused with critical extensions", async () => {
    for (const extra of [{ crit: ["exp"] }, { crit: [] }, { b64: false }, { b64: false, crit: ["b64"] }]) {
      await assertRefused(
        subject.tokens,
        await forge({ ...header, ...extra }, payload),
        JSON.stringify(extra),
      );
    }
  });
  it("is refused when it is another kind of token", async () => {
    for (const typ of ["rt+jwt", "pt+jwt", "JWT", "AT+JWT", "application/at+jwt", "", null, undefined]) {
      await assertRefused(subject.tokens, await forge({ ...header, typ }, payload), String(typ));
    }
  });
  it("is refused for a claim that is missing, wrong or of the wrong type", async () => {
    const { iat, exp } = payload as unknown as Claims;
    for (const change of [
      { iss: "https://other.example" },
      { iss: "https://id.example/" },
      { iss: [expected.issuer] },
      { iss: undefined },
      { aud: "other" },
      { aud: [] },
      { aud: [["https://api.example"]] },
      { aud: [expected.audience, 5] },
      { aud: undefined },
      { sub: "" },
      { sub: 5 },
      { sub: undefined },
      { exp: undefined },
      { exp: String(exp) },
      { exp: null },
      { exp: -1 },
      { exp: iat },
      { exp: iat + tokenTtlSecondsMax + 1 },
      { iat: undefined },
      { iat: "1" },
      { iat: iat + clockSkewSecondsMax + 2 },
      { nbf: iat + clockSkewSecondsMax + 2 },
      { nbf: "0" },
    ]) {
      await assertRefused(
        subject.tokens,
        await forge(header, { ...payload, ...change }),
        JSON.stringify(change),
      );
    }
  });
  it("is refused when its payload is no JSON object", async () => {
    for (const text of ["", "null", "[]", "5", "{", '"x"', "\ufeff{}"]) {
      await assertRefused(subject.tokens, await forge(header, text), text);
    }
  });
  it("is refused when its header is no JSON object", async () => {
    const [, body, signature] = token.split(".");
    for (const text of ["null", "[]", "5", "{", '"x"']) {
      await assertRefused(subject.tokens, `${encode(text)}.${body}.${signature}`, text);
    }
    const notUtf8 = Buffer.from([0x7b, 0xff, 0x7d]).toString("base64url");
    await assertRefused(subject.tokens, `${notUtf8}.${body}.${signature}`, "not UTF-8");
  });
  it("is refused after any one character was changed", async () => {
    // The last character of an Ed25519 signature carries four bits that mean nothing, so it is left out.
    for (let index = 0; index < token.length - 1; index += 3) {
      const changed = token[index] === "A" ? "Q" : "A";
      if (token[index] === ".") continue;
      await assertRefused(
        subject.tokens,
        token.slice(0, index) + changed + token.slice(index + 1),
        `at ${index}`,
      );
    }
  });
  it("is refused when truncated anywhere", async () => {
    for (let length = 0; length < token.length; length += 7) {
      await assertRefused(subject.tokens, token.slice(0, length), `${length} characters`);
    }
  });
  it("is refused with more or fewer dots, white space, padding or other characters", async () => {
    const [head, body, signature] = token.split(".");
    for (const text of [
      "",
      ".",
      "..",
      "...",
      `${token}.`,
      `.${token}`,
      `${token}.${signature}`,
      `${head}..${signature}`,
      `${head}.${body}`,
      `${head}.${body}.`,
      ` ${token}`,
      `${token}\n`,
      `${token}=`,
      `${token}\u0000`,
      token.replace(".", "\u3002"),
      `${token}\u{1f600}`,
      "\ud800.\ud800.\ud800",
    ]) {
      await assertRefused(subject.tokens, text, JSON.stringify(text));
    }
  });
  it("is refused when it is huge, without looking at it", async () => {
    const huge = await forge(header, { ...payload, pad: "x".repeat(tokenCharsMax) });
    await assertRefused(subject.tokens, huge, "huge");
    await assertRefused(subject.tokens, "a".repeat(20_000_000), "20 million characters");
  });
  it("gets an answer that does not say why, while the log can", async () => {
    const wrongKid = await forge({ ...header, kid: "x" }, payload);
    const error: unknown = await Promise.resolve(subject.tokens.verify(wrongKid, expected)).catch(
      caught => caught,
    );
    assert.ok(error instanceof Error);
    assert.equal(error.cause, "kid");
  });
});

describe("tokens of another platform or process", () => {
  it("are refused when another ring signed them", async () => {
    const [ours, theirs] = [await createSubject(), await createSubject()];
    await assertRefused(ours.tokens, await theirs.tokens.sign(content), "other ring");
  });
  it("verify in every process on the same store", async () => {
    const ours = await createSubject();
    const others = await createSubject(ours.fixture);
    assert.equal((await others.tokens.verify(await ours.tokens.sign(content), expected)).sub, "user-1");
  });
  it("verify through a rotation until the retired key is gone", async () => {
    const { tokens, ring, fixture } = await createSubject();
    const long = await tokens.sign({ ...content, ttlSeconds: tokenTtlSecondsMax });
    await ring.rotate();
    fixture.time.advance(standbyMs);
    const { kid } = await ring.signer();
    const fresh = await tokens.sign(content);
    assert.equal(decode(fresh.split(".")[0]).kid, kid);
    assert.notEqual(decode(long.split(".")[0]).kid, kid);
    const lenient = { ...expected, acceptExpired: true };
    assert.equal((await tokens.verify(fresh, expected)).sub, "user-1");
    assert.equal((await tokens.verify(long, lenient)).sub, "user-1");
    fixture.time.advance(retentionMs - 1);
    assert.equal((await tokens.verify(long, lenient)).sub, "user-1");
    fixture.time.advance(1);
    await assert.rejects(async () => await tokens.verify(long, lenient), hasCode("invalid_token"));
  });
  it("of a key that another process minted verify after one reading of the ring", async () => {
    const ours = await createSubject();
    const others = await createSubject(ours.fixture);
    await others.ring.rotate();
    ours.fixture.time.advance(standbyMs);
    const token = await others.tokens.sign(content);
    const reads = ours.fixture.store.reads;
    const all = await Promise.all(Array.from({ length: 50 }, () => ours.tokens.verify(token, expected)));
    assert.ok(all.every(claims => claims.sub === "user-1"));
    assert.equal(ours.fixture.store.reads, reads + 1);
  });
  it("of unknown keys cost one reading of the ring per cooldown", async () => {
    const [ours, theirs] = [await createSubject(), await createSubject()];
    const foreign = await theirs.tokens.sign(content);
    const reads = ours.fixture.store.reads;
    for (let count = 0; count < 20; count++) await assertRefused(ours.tokens, foreign, "unknown kid");
    assert.equal(ours.fixture.store.reads, reads + 1);
    ours.fixture.time.advance(unknownKeyCooldownMs);
    await assertRefused(ours.tokens, foreign, "unknown kid");
    assert.equal(ours.fixture.store.reads, reads + 2);
  });
});

describe("a token seen before", () => {
  it("is answered without a promise, with the same claims", async () => {
    const { tokens } = await createSubject();
    const token = await tokens.sign(content);
    const first = tokens.verify(token, expected);
    assert.ok(first instanceof Promise);
    const claims = await first;
    assert.equal(tokens.verify(token, expected), claims);
    // The text alone matters, not the string object.
    assert.equal(tokens.verify(` ${token}`.slice(1), expected), claims);
  });
  it("is checked against typ, issuer and audience each time", async () => {
    const { tokens } = await createSubject();
    const token = await tokens.sign(content);
    await tokens.verify(token, expected);
    for (const change of [{ typ: "rt+jwt" }, { issuer: "other" }, { audience: "other" }]) {
      assert.throws(() => tokens.verify(token, { ...expected, ...change }), hasCode("invalid_token"));
    }
  });
  it("is remembered by one who expected something else, who got nothing", async () => {
    const { tokens } = await createSubject();
    const token = await tokens.sign(content);
    const refused = tokens.verify(token, { ...expected, typ: "rt+jwt" });
    await assert.rejects(async () => await refused, hasCode("invalid_token"));
    assert.equal((await tokens.verify(token, expected)).sub, "user-1");
  });
  it("has its signature checked again after a minute", async () => {
    const { tokens, fixture } = await createSubject();
    const token = await tokens.sign(content);
    await tokens.verify(token, expected);
    fixture.time.advance(tokenCacheAgeMsMax - 1);
    assert.equal(tokens.verify(token, expected) instanceof Promise, false);
    fixture.time.advance(1);
    const again = tokens.verify(token, expected);
    assert.ok(again instanceof Promise);
    assert.equal((await again).sub, "user-1");
  });
  it("is forgotten with its key", async () => {
    const { fixture, ring } = await createSubject();
    let isRemoved = false;
    const removable: KeyRing = {
      signer: () => ring.signer(),
      find: (kid, now) => (isRemoved ? undefined : ring.find(kid, now)),
      lookup: async kid => (isRemoved ? undefined : await ring.lookup(kid)),
      jwks: () => ring.jwks(),
      rotate: () => ring.rotate(),
    };
    const tokens = createTokens({ ...fixture, ring: removable });
    const token = await tokens.sign(content);
    await tokens.verify(token, expected);
    assert.equal(tokens.verify(token, expected) instanceof Promise, false);
    isRemoved = true;
    await assertRefused(tokens, token, "key removed");
  });
  it("is not remembered when it was refused", async () => {
    const { tokens } = await createSubject();
    const forged = `${(await tokens.sign(content)).slice(0, -8)}AAAAAAAA`;
    await assertRefused(tokens, forged, "first");
    const again = tokens.verify(forged, expected);
    assert.ok(again instanceof Promise);
    await assert.rejects(again, hasCode("invalid_token"));
  });
});
