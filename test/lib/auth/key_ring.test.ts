import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KeyRing } from "../../../lib/auth/mod.ts";
import {
  clockSkewSecondsMax,
  createKeyRing,
  decodeRing,
  jwksAgeSecondsMax,
  keyLives,
  keyState,
  retentionMs,
  ringAgeMsMax,
  ringKeysMax,
  standbyMs,
} from "../../../lib/auth/tokens/key_ring.ts";
import { createTokens, tokenTtlSecondsMax } from "../../../lib/auth/tokens/mod.ts";
import { platformPartition } from "../../../lib/storage/names.ts";
import { createFixture, type Fixture, hasCode, openRing, otherSecret } from "./_setup.ts";

const unknownKeyCooldownMs = 30_000;
const failedReloadCooldownMs = 1_000;

const partition = platformPartition("key_ring");

async function stored(fixture: Fixture): Promise<{ value: string; version: string }> {
  const [record] = await fixture.store.read(partition, [{ type: "record", key: "ring" }]);
  assert.ok(record !== null);
  return record;
}

async function overwrite(fixture: Fixture, value: string): Promise<void> {
  await fixture.store.commit(partition, { writes: [{ type: "put", key: "ring", value }] });
}

async function publishedKids(ring: KeyRing): Promise<readonly string[]> {
  return (await ring.jwks()).keys.map(key => key.kid);
}

/** The states of all keys of the stored ring, in the order in which they sign. */
async function states(fixture: Fixture): Promise<readonly string[]> {
  const lives = keyLives(decodeRing((await stored(fixture)).value));
  return lives.map(life => keyState(life, lives, fixture.clock()));
}

describe("minting", () => {
  it("makes one ring of 64 processes that start at once", async () => {
    const fixture = createFixture();
    const rings = await Promise.all(Array.from({ length: 64 }, () => openRing(fixture)));
    const kids = await Promise.all(rings.map(async ring => (await ring.signer()).kid));
    assert.equal(new Set(kids).size, 1);
    assert.equal(decodeRing((await stored(fixture)).value).length, 1);
  });
  it("creates a first key that signs at once", async () => {
    const fixture = createFixture();
    const ring = await openRing(fixture);
    assert.deepEqual(await states(fixture), ["active"]);
    assert.deepEqual(await publishedKids(ring), [(await ring.signer()).kid]);
  });
  it("signs with the earliest key if its clock is behind", async () => {
    const fixture = createFixture();
    const ring = await openRing(fixture);
    const late = await openRing({ ...fixture, clock: () => fixture.clock() - 5_000 });
    assert.equal((await late.signer()).kid, (await ring.signer()).kid);
  });
  it("never publishes or stores a private member", async () => {
    for (const algorithm of ["EdDSA", "ES256", "RS256"] as const) {
      const fixture = createFixture();
      const ring = await openRing(fixture, { algorithm });
      const { keys } = await ring.jwks();
      assert.equal(keys.length, 1);
      for (const key of keys) {
        assert.deepEqual(
          Object.keys(key).filter(member => ["d", "p", "q", "dp", "dq", "qi", "oth", "k"].includes(member)),
          [],
        );
        assert.deepEqual([key.alg, key.use], [algorithm, "sig"]);
      }
      assert.doesNotMatch((await stored(fixture)).value, /"(d|p|q|k|x|n)"/);
      assert.equal((await ring.signer()).privateKey.extractable, false);
    }
  });
  it("fails when the store is down", async () => {
    const fixture = createFixture();
    fixture.store.isDown = true;
    await assert.rejects(openRing(fixture), hasCode("storage_unavailable"));
  });
});

describe("opening", () => {
  it("fails at once, and says why, with another master secret", async () => {
    const fixture = createFixture();
    await openRing(fixture);
    await assert.rejects(openRing(fixture, { secret: otherSecret }), /sealed under another master secret/);
  });
  it("fails for a ring that was tampered with in the store", async () => {
    const fixture = createFixture();
    await openRing(fixture);
    const { value } = await stored(fixture);
    const [key] = decodeRing(value);
    assert.ok(key !== undefined);
    for (const change of [{ kid: "mine" }, { algorithm: "ES256" }, { activeFrom: key.activeFrom - 1 }]) {
      await overwrite(fixture, JSON.stringify({ format: 1, keys: [{ ...key, ...change }] }));
      await assert.rejects(openRing(fixture), /sealed under another master secret/);
    }
  });
  it("fails for a record of an unknown format", async () => {
    const fixture = createFixture();
    for (const value of [
      "{}",
      '{"format":2,"keys":[]}',
      '{"format":1,"keys":[]}',
      '{"format":1,"keys":[{}]}',
      "[]",
    ]) {
      await overwrite(fixture, value);
      await assert.rejects(openRing(fixture), /not of a known format/, value);
    }
  });
  it("with another algorithm publishes a key of it, which signs when its time has come", async () => {
    const fixture = createFixture();
    await openRing(fixture);
    const ring = await openRing(fixture, { algorithm: "ES256" });
    assert.equal((await ring.signer()).algorithm, "EdDSA");
    assert.deepEqual(await states(fixture), ["active", "standby"]);
    fixture.time.advance(standbyMs);
    assert.equal((await ring.signer()).algorithm, "ES256");
  });

  it("keeps the algorithm of the ring where none is named", async () => {
    const fixture = createFixture();
    await openRing(fixture, { algorithm: "ES256" });
    const ring = await openRing(fixture);
    await ring.rotate();
    assert.deepEqual(await states(fixture), ["active", "standby"]);
    assert.deepEqual(
      (await ring.jwks()).keys.map(({ alg }) => alg),
      ["ES256", "ES256"],
    );
  });

  it("with another algorithm and a clock far behind removes no key", async () => {
    const fixture = createFixture();
    const ring = await openRing(fixture);
    const { kid } = await ring.signer();
    await openRing(fixture, { algorithm: "ES256", clock: () => fixture.clock() - 3_600_000 });
    assert.ok((await ring.list()).some(key => key.kid === kid));
  });
});

describe("rotation", () => {
  it("publishes a key longer than any JWKS answer may be cached before it signs", async () => {
    assert.ok(standbyMs >= jwksAgeSecondsMax * 1_000 + ringAgeMsMax);
    const fixture = createFixture();
    const ring = await openRing(fixture);
    const old = (await ring.signer()).kid;
    const { kid, activeFrom } = await ring.rotate();
    assert.equal(activeFrom, fixture.clock() + standbyMs);
    assert.deepEqual(await publishedKids(ring), [old, kid]);
    assert.deepEqual(await states(fixture), ["active", "standby"]);
    fixture.time.advance(standbyMs - 1);
    assert.equal((await ring.signer()).kid, old);
    fixture.time.advance(1);
    assert.equal((await ring.signer()).kid, kid);
    assert.deepEqual(await states(fixture), ["retired", "active"]);
  });
  it("keeps a retired key until the longest token that it signed is over", async () => {
    assert.ok(retentionMs >= (tokenTtlSecondsMax + clockSkewSecondsMax) * 1_000);
    const fixture = createFixture();
    const ring = await openRing(fixture);
    const old = (await ring.signer()).kid;
    const { kid } = await ring.rotate();
    fixture.time.advance(standbyMs + retentionMs - 1);
    assert.deepEqual(await publishedKids(ring), [old, kid]);
    assert.ok(ring.find(old, fixture.clock()) !== undefined);
    fixture.time.advance(1);
    assert.deepEqual(await publishedKids(ring), [kid]);
    assert.equal(ring.find(old, fixture.clock()), undefined);
    assert.deepEqual(await states(fixture), ["gone", "active"]);
    await ring.rotate();
    assert.deepEqual(await states(fixture), ["active", "standby"]);
  });
  it("by many processes at once mints one key", async () => {
    const fixture = createFixture();
    const rings = await Promise.all(Array.from({ length: 8 }, () => openRing(fixture)));
    const rotations = await Promise.all(rings.map(ring => ring.rotate()));
    assert.equal(new Set(rotations.map(rotation => rotation.kid)).size, 1);
    assert.deepEqual(await states(fixture), ["active", "standby"]);
  });
  it("is refused when the ring is full of keys that tokens may need", async () => {
    const fixture = createFixture();
    const ring = await openRing(fixture);
    for (let count = 1; count < ringKeysMax; count++) {
      await ring.rotate();
      fixture.time.advance(standbyMs);
    }
    await assert.rejects(ring.rotate(), RangeError);
    fixture.time.advance(retentionMs);
    await assert.doesNotReject(ring.rotate());
  });
  it("by another process is seen before the new key signs", async () => {
    const fixture = createFixture();
    const [ring, other] = [await openRing(fixture), await openRing(fixture)];
    const { kid } = await other.rotate();
    fixture.time.advance(ringAgeMsMax);
    assert.ok((await publishedKids(ring)).includes(kid));
    fixture.time.advance(standbyMs - ringAgeMsMax);
    assert.equal((await ring.signer()).kid, kid);
  });
  it("leaves the keys that stay as they were, so that nothing has to be verified again", async () => {
    const fixture = createFixture();
    const [ring, other] = [await openRing(fixture), await openRing(fixture)];
    const before = await ring.signer();
    await other.rotate();
    fixture.time.advance(ringAgeMsMax);
    assert.equal(await ring.signer(), before);
  });
});

describe("reading the ring again", () => {
  it("happens once per cooldown for unknown keys, however many tokens name one", async () => {
    const fixture = createFixture();
    const ring = await openRing(fixture);
    const before = fixture.store.reads;
    const found = await Promise.all(
      Array.from({ length: 200 }, (_, index) => ring.lookup(`unknown-${index}`)),
    );
    assert.deepEqual(new Set(found), new Set([undefined]));
    assert.equal(fixture.store.reads, before + 1);
    fixture.time.advance(unknownKeyCooldownMs - 1);
    await ring.lookup("unknown");
    assert.equal(fixture.store.reads, before + 1);
    fixture.time.advance(1);
    await ring.lookup("unknown");
    assert.equal(fixture.store.reads, before + 2);
  });
  it("finds the key of another process for every caller that waits", async () => {
    const fixture = createFixture();
    const [ring, other] = [await openRing(fixture), await openRing(fixture)];
    const { kid } = await other.rotate();
    const found = await Promise.all(Array.from({ length: 20 }, () => ring.lookup(kid)));
    assert.ok(found.every(key => key?.pair.kid === kid));
  });
  it("costs one read per minute of signing", async () => {
    const fixture = createFixture();
    const ring = await openRing(fixture);
    const before = fixture.store.reads;
    for (let second = 0; second < 120; second++) {
      await Promise.all([ring.signer(), ring.signer()]);
      fixture.time.advance(1_000);
    }
    assert.equal(fixture.store.reads, before + 1);
  });
  it("uses its copy while the store is down, and reports it", async () => {
    const fixture = createFixture();
    const failures: unknown[] = [];
    const ring = await openRing(fixture, { onReloadFailed: error => failures.push(error) });
    const { kid } = await ring.signer();
    fixture.store.isDown = true;
    fixture.time.advance(ringAgeMsMax);
    assert.equal((await ring.signer()).kid, kid);
    assert.deepEqual(await publishedKids(ring), [kid]);
    assert.equal(failures.length, 1);
    assert.ok(hasCode("storage_unavailable")(failures[0]));
  });
  it("answers that the store is down, not that the key is unknown, and tries again soon", async () => {
    const fixture = createFixture();
    const [ring, other] = [await openRing(fixture), await openRing(fixture)];
    const { kid } = await other.rotate();
    fixture.store.isDown = true;
    await assert.rejects(ring.lookup(kid), hasCode("storage_unavailable"));
    const reads = fixture.store.reads;
    await assert.rejects(ring.lookup(kid), hasCode("storage_unavailable"));
    assert.equal(fixture.store.reads, reads);
    fixture.store.isDown = false;
    fixture.time.advance(failedReloadCooldownMs);
    assert.equal((await ring.lookup(kid))?.pair.kid, kid);
  });
  it("never fails a request when another process has spoilt the ring", async () => {
    const fixture = createFixture();
    const failures: unknown[] = [];
    const ring = await openRing(fixture, { onReloadFailed: error => failures.push(error) });
    const tokens = createTokens({ ...fixture, ring });
    const content = { typ: "at+jwt", issuer: "i", audience: "a", subject: "s", ttlSeconds: 3_600 };
    const token = await tokens.sign(content);
    const spoilt = createFixture();
    await createKeyRing({ ...spoilt, secret: otherSecret });
    await overwrite(fixture, (await stored(spoilt)).value);
    fixture.time.advance(ringAgeMsMax);
    assert.equal(await ring.lookup("unknown"), undefined);
    const verified = await tokens.verify(await tokens.sign(content), content);
    assert.equal(verified.sub, "s");
    assert.equal((await tokens.verify(token, content)).sub, "s");
    assert.match(String(failures[0]), /sealed under another master secret/);
  });
});
