import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import {
  ApiKeyUses,
  addToIndex,
  apiKeysPerOrganisationMax,
  createApiKeys,
  indexedKeys,
} from "../../../lib/auth/api_keys/api_keys.ts";
import { newApiKeyId } from "../../../lib/auth/api_keys/record.ts";
import { systemRandom } from "../../../lib/auth/crypto/mod.ts";
import type { ApiKeys } from "../../../lib/auth/mod.ts";
import type { Store } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { createDyingStore } from "../../support/dying_store.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";
import { createFixture, hasCode, secret } from "./_setup.ts";

const apiKeyUseLanesMax = 16;
const apiKeyUseMs = 60_000;
const apiKeyUsesMax = 10_000;

const wanted = { organisationId: "org-1", permissions: ["users:read"], name: "Ticketing" } as const;

async function opened(t: TestContext, open: OpenStore) {
  const time = createTestClock();
  const store = await open(time.now);
  t.after(() => store[Symbol.asyncDispose]());
  const process = (): ApiKeys => createApiKeys({ store, secret, clock: time.now, random: systemRandom });
  return { time, store, process };
}

describeOnStores("the last use of a key", open => {
  it("is written apart from requests, at most once a minute over all processes", async t => {
    const { time, process } = await opened(t, open);
    const [one, two] = [process(), process()];
    const { key, secret: given } = await one.create(wanted);
    const reference = { organisationId: "org-1", keyId: key };
    const lastUse = async (): Promise<unknown> => (await one.find(reference))?.lastUsedAt;
    const began = time.now();
    await one.verify(key, given);
    assert.equal(await lastUse(), null);
    await one.flushUses();
    assert.equal(await lastUse(), began);
    time.advance(apiKeyUseMs - 1);
    await Promise.all([one.verify(key, given), two.verify(key, given)]);
    await Promise.all([one.flushUses(), two.flushUses()]);
    assert.equal(await lastUse(), began);
    time.advance(1);
    await Promise.all([one.verify(key, given), two.verify(key, given)]);
    await Promise.all([one.flushUses(), two.flushUses()]);
    assert.equal(await lastUse(), began + apiKeyUseMs);
    assert.equal(apiKeyUseMs, 60_000);
  });

  it("of a revoked key leaves nothing behind", async t => {
    const { store, process } = await opened(t, open);
    const keys = process();
    const { key, secret: given } = await keys.create(wanted);
    await keys.verify(key, given);
    await process().revoke({ organisationId: "org-1", keyId: key });
    await keys.flushUses();
    const [use] = await store.read(`g:api_key:${key}`, [{ type: "record", key: "api_key_use" }]);
    assert.equal(use, null);
  });
});

describe("uses that are noted", () => {
  it("are no more than the bound", async () => {
    const { store } = createFixture();
    const uses = new ApiKeyUses(store);
    for (let n = 0; n <= apiKeyUsesMax; n++) uses.note(`key-${n}`, 1);
    await uses.flush();
    assert.equal(store.reads, apiKeyUsesMax);
  });

  it("are written side by side, and by no more lanes than the bound", async () => {
    const { store } = createFixture();
    let [running, most] = [0, 0];
    const slow: Store = {
      ...store,
      traits: store.traits,
      async read(partition, queries) {
        most = Math.max(most, ++running);
        await new Promise(resolve => setImmediate(resolve));
        running -= 1;
        return await store.read(partition, queries);
      },
      commit: (...args) => store.commit(...args),
      ping: () => store.ping(),
      [Symbol.asyncDispose]: async () => {},
    };
    const uses = new ApiKeyUses(slow);
    for (let n = 0; n < 3 * apiKeyUseLanesMax; n++) uses.note(`key-${n}`, 1);
    await Promise.all([uses.flush(), uses.flush()]);
    assert.deepEqual([most, store.reads], [apiKeyUseLanesMax, 3 * apiKeyUseLanesMax]);
  });

  it("are written later if the store is down, and only when due", async () => {
    const fixture = createFixture();
    const keys = createApiKeys(fixture);
    const { key, secret: given } = await keys.create(wanted);
    await keys.verify(key, given);
    fixture.store.isDown = true;
    await assert.rejects(keys.flushUses(), hasCode("storage_unavailable"));
    fixture.store.isDown = false;
    const before = fixture.store.commits;
    await keys.flushUses();
    await keys.verify(key, given);
    await keys.flushUses();
    assert.equal(fixture.store.commits, before + 1);
  });
});

describeOnStores("the index of an organisation's keys", open => {
  it("names every key that was created side by side", async t => {
    const { process } = await opened(t, open);
    const [one, two] = [process(), process()];
    const made = await Promise.all(
      Array.from({ length: 40 }, (_, n) => (n % 2 === 0 ? one : two).create(wanted)),
    );
    const listed = (await two.list("org-1")).map(({ key }) => key);
    assert.deepEqual(listed.toSorted(), made.map(({ key }) => key).toSorted());
    assert.deepEqual(await two.list("org-2"), []);
  });

  it("hides an entry without a key, and drops it when room is needed", async t => {
    const { store, time, process } = await opened(t, open);
    const dying = createDyingStore(store);
    const keys = createApiKeys({ store: dying, secret, clock: time.now, random: systemRandom });
    // Two reads and a commit of the index come before the key's own record.
    dying.dieAt({ at: 3, when: "before" });
    await assert.rejects(keys.create(wanted), hasCode("storage_unavailable"));
    assert.equal((await indexedKeys(store, "org-1")).length, 1);
    assert.deepEqual(await process().list("org-1"), []);
    for (let n = 1; n < apiKeysPerOrganisationMax; n++) {
      await addToIndex(store, "org-1", newApiKeyId(systemRandom));
    }
    await assert.rejects(addToIndex(store, "org-1", newApiKeyId(systemRandom)), hasCode("conflict"));
    const { key } = await process().create(wanted);
    assert.deepEqual(await indexedKeys(store, "org-1"), [key]);
  });

  it("does not list a key whose revocation was cut short", async t => {
    const { store, time, process } = await opened(t, open);
    const { key } = await process().create(wanted);
    const dying = createDyingStore(store);
    // The read of the record, its removal, and then the index.
    dying.dieAt({ at: 2, when: "before" });
    const keys = createApiKeys({ store: dying, secret, clock: time.now, random: systemRandom });
    await assert.rejects(
      keys.revoke({ organisationId: "org-1", keyId: key }),
      hasCode("storage_unavailable"),
    );
    assert.deepEqual(await process().list("org-1"), []);
  });
});
