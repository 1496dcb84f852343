/** The keys that sign tokens, as users and verifiers meet them: two servers on one store. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { decodeRing, standbyMs } from "../../lib/auth/tokens/key_ring.ts";
import { createPlatform, type Platform, silentLogger } from "../../lib/mod.ts";
import { platformPartition } from "../../lib/storage/names.ts";
import { ids, openPlatform, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const ringAgeMs = 60_000;

describeOnStores("the keys that sign tokens", open => {
  /** Another server on the store of a platform. */
  async function serverOn(
    { store, clock }: TestPlatform,
    signatureAlgorithm?: "EdDSA" | "ES256",
  ): Promise<Platform> {
    return await createPlatform({
      ...{ store, secret: testSecret, clock: clock.now, limiter: "off", logger: silentLogger },
      defaultSpaceId: ids.space,
      ...(signatureAlgorithm === undefined ? {} : { signatureAlgorithm }),
    });
  }

  function headerOf(token: string): { readonly kid: string; readonly alg: string } {
    return JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString());
  }

  async function statusAt(platform: Platform, token: string): Promise<number> {
    const headers = { authorization: `Bearer ${token}` };
    const request = new Request("http://club.example/api/loyalty/profile", { headers });
    return (await platform.fetch(request, {})).status;
  }

  async function publishedKids({ call }: TestPlatform): Promise<readonly string[]> {
    const { json } = await call("/.well-known/jwks.json");
    return json.keys.map(({ kid }: { kid: string }) => kid);
  }

  it("of an algorithm that was set and taken back never come into force", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const before = headerOf((await world.fan("Robin")).token);
    await (await serverOn(world, "ES256")).close();
    assert.equal((await publishedKids(world)).length, 1);
    world.clock.advance(ringAgeMs);
    assert.equal((await publishedKids(world)).length, 2);
    await (await serverOn(world)).close();
    world.clock.advance(standbyMs);
    assert.deepEqual(headerOf((await world.fan("Sam")).token), before);
    assert.deepEqual(await publishedKids(world), [before.kid]);
  });

  it("of an algorithm that was set come into force, and its predecessor's tokens stay", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    await (await serverOn(world, "ES256")).close();
    world.clock.advance(standbyMs - ringAgeMs);
    const robin = await world.fan("Robin");
    assert.equal(headerOf(robin.token).alg, "EdDSA");
    world.clock.advance(ringAgeMs);
    assert.equal(headerOf((await world.fan("Sam")).token).alg, "ES256");
    assert.equal(await statusAt(world.platform, robin.token), 200);
  });

  it("can be revoked once their successor signs: every server refuses their tokens within a minute", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const second = await serverOn(world);
    t.after(() => second.close());
    const ring = world.platform.keyRing;
    const robin = await world.fan("Robin");
    const { kid } = headerOf(robin.token);
    await assert.rejects(ring.revoke(kid), /Cannot revoke the key as it signs/);
    await assert.rejects(ring.revoke("unknown"), /the ring has no key unknown/);
    await ring.rotate();
    await assert.rejects(ring.revoke(kid), /Cannot revoke the key as it signs/);
    world.clock.advance(standbyMs);
    const sam = await world.fan("Sam");
    assert.notEqual(headerOf(sam.token).kid, kid);
    for (const server of [world.platform, second]) assert.equal(await statusAt(server, robin.token), 200);
    await second.keyRing.jwks();
    await ring.revoke(kid);
    await ring.revoke(kid);
    const states = (await ring.list()).map(({ state, goneAt }) => [state, goneAt]);
    assert.deepEqual(states, [
      ["revoked", world.clock.now()],
      ["active", null],
    ]);
    assert.equal(await statusAt(world.platform, robin.token), 401);
    world.clock.advance(ringAgeMs);
    // The first look finds that the copy is old, and has it read again.
    await statusAt(second, robin.token);
    await second.keyRing.jwks();
    assert.equal(await statusAt(second, robin.token), 401);
    for (const server of [world.platform, second]) assert.equal(await statusAt(server, sam.token), 200);
    assert.deepEqual(await publishedKids(world), [headerOf(sam.token).kid]);
    // A server that starts later reads the end from the store.
    const third = await serverOn(world);
    t.after(() => third.close());
    assert.equal(await statusAt(third, robin.token), 401);
  });

  it("that wait are removed when they are revoked", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const ring = world.platform.keyRing;
    const [first] = await ring.list();
    const { kid } = await ring.rotate();
    await ring.revoke(kid);
    assert.deepEqual(await ring.list(), [first]);
    world.clock.advance(standbyMs);
    assert.equal(headerOf((await world.fan("Robin")).token).kid, first?.kid);
    const [record] = await world.store.read(platformPartition("key_ring"), [{ type: "record", key: "ring" }]);
    assert.equal(decodeRing(record?.value ?? "").length, 1);
  });
});
