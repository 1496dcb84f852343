import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import type { KeyRing } from "../../../lib/auth/mod.ts";
import { clockSkewSecondsMax, retentionMs, standbyMs } from "../../../lib/auth/tokens/key_ring.ts";
import { createTokens, tokenCharsMax, tokenTtlSecondsMax } from "../../../lib/auth/tokens/mod.ts";
import { createFixture, hasCode, openRing } from "./_setup.ts";
import { assertRefused, content, createSubject, decode, expected } from "./_token_setup.ts";

const tokenCacheAgeMsMax = 60_000;
const unknownKeyCooldownMs = 30_000;

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
  it("of any issuer must be for its issuer", async () => {
    const { tokens } = await createSubject();
    const anyIssuer = { typ: expected.typ, issuer: null };
    const own = await tokens.sign({ ...content, audience: ["another", expected.issuer] });
    assert.equal((await tokens.verify(own, anyIssuer)).iss, expected.issuer);
    const other = tokens.verify(await tokens.sign(content), anyIssuer);
    await assert.rejects(async () => await other, hasCode("invalid_token"));
  });
  it("has frozen claims", async () => {
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
  it("is ignored if expired tokens are accepted, but nothing else is", async () => {
    const { tokens, fixture } = await createSubject();
    const token = await tokens.sign(content);
    fixture.time.advance(601_000);
    const lenient = { ...expected, acceptExpired: true };
    assert.equal((await tokens.verify(token, lenient)).sub, "user-1");
    await assert.rejects(async () => await tokens.verify(token, expected), hasCode("token_expired"));
    const other = { ...lenient, audience: "other" };
    await assert.rejects(async () => await tokens.verify(token, other), hasCode("invalid_token"));
  });
  it("ends a token whose signature is then verified once, however often it is presented", async () => {
    const { tokens, fixture } = await createSubject();
    const token = await tokens.sign(content);
    fixture.time.advance(601_000);
    await assert.rejects(async () => await tokens.verify(token, expected), hasCode("token_expired"));
    // Only what needs no signature answers without a promise.
    assert.throws(() => tokens.verify(token, expected), hasCode("token_expired"));
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
    const removable: Pick<KeyRing, "signer" | "find" | "lookup"> = {
      signer: () => ring.signer(),
      find: (kid, now) => (isRemoved ? undefined : ring.find(kid, now)),
      lookup: async kid => (isRemoved ? undefined : await ring.lookup(kid)),
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
