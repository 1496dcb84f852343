import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { createPlatform, type Platform, type PlatformOptions, silentLogger } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { ids, openPlatform, otherHost, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

describeOnStores("the issuer of a deployment", open => {
  async function openFirst(t: TestContext, options: Partial<PlatformOptions> = {}): Promise<TestPlatform> {
    const world = await openPlatform(open, options);
    t.after(() => world.dispose());
    return world;
  }

  /** Opens a further process on the store. */
  async function openPeer(
    t: TestContext,
    store: Store,
    options: Partial<PlatformOptions>,
  ): Promise<Platform> {
    const common = { store, secret: testSecret, limiter: "off", logger: silentLogger } as const;
    const peer = await createPlatform({ ...common, defaultSpaceId: ids.space, ...options });
    t.after(() => peer.close());
    return peer;
  }

  async function statusAt(peer: Platform, token: string, host = "club.example"): Promise<number> {
    const headers = { authorization: `Bearer ${token}` };
    const request = new Request(`http://${host}/api/loyalty/profile`, { headers });
    return (await peer.fetch(request, {})).status;
  }

  it("is one urn for all processes on a store, whatever address each listens on", async t => {
    const first = await openFirst(t, { localUrl: "http://127.0.0.1:8787" });
    const { now: clock } = first.clock;
    const second = await openPeer(t, first.store, { localUrl: "http://127.0.0.1:9797", clock });
    assert.match(first.platform.issuer, /^urn:uuid:[0-9a-f-]{36}$/);
    assert.equal(second.issuer, first.platform.issuer);
    const { token } = await first.fan("Sam");
    assert.equal(await statusAt(second, token), 200);
  });

  it("is the public URL of the first start; a later one changes nothing and is a warning", async t => {
    const first = await openFirst(t, { publicUrl: "https://club.example", basePath: "/api/stand" });
    assert.equal(first.platform.issuer, "https://club.example/api/stand");
    const lines: unknown[] = [];
    const logger: PlatformOptions["logger"] = {
      enabled: () => true,
      log: (level, event, fields) => void lines.push({ level, event, ...fields }),
    };
    const publicUrl = "https://new.example";
    const second = await openPeer(t, first.store, { publicUrl, logger, clock: first.clock.now });
    assert.equal(second.issuer, first.platform.issuer);
    assert.deepEqual(lines, [{ level: "warn", event: "issuer_differs", issuer: second.issuer, publicUrl }]);
  });

  it("is one when several processes start at once on an empty store", async t => {
    const { now } = (await openFirst(t)).clock;
    const store = await open(now);
    t.after(() => store[Symbol.asyncDispose]());
    const peers = await Promise.all(Array.from({ length: 4 }, () => openPeer(t, store, { clock: now })));
    assert.equal(new Set(peers.map(({ issuer }) => issuer)).size, 1);
  });

  it("accepts tokens of a space with a domain at every address and process", async t => {
    const first = await openFirst(t);
    const second = await openPeer(t, first.store, { clock: first.clock.now });
    const space = await first.platform.directory.space(ids.otherSpace);
    assert.ok(space !== null);
    const { accessToken } = await first.platform.spaceTokens.issue(space, {
      kind: "user",
      userId: crypto.randomUUID(),
      organisationId: ids.otherOrganisation,
      spaceId: ids.otherSpace,
      projectId: ids.otherProject,
    });
    assert.equal(await statusAt(second, accessToken, otherHost), 200);
    assert.equal(await statusAt(second, accessToken), 200);
  });
});
