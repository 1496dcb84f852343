/** Changes that other processes get ahead of are tried again, but not for ever. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createApiKeys } from "../../../lib/auth/api_keys/api_keys.ts";
import type { Batch, Commit, Partition } from "../../../lib/storage/mod.ts";
import { ids } from "../../support/platform.ts";
import { WatchedStore } from "../../support/watched_store.ts";
import { createFixture, hasCode, openRing } from "./_setup.ts";

/** As many as every decision. */
const apiKeyAttemptsMax = 50;
const ringAttemptsMax = 8;

/** A store in which somebody else writes every record anew that is about to be changed, so many times. */
class RacingStore extends WatchedStore {
  races = 0;

  override async commit(partition: Partition, batch: Batch): Promise<Commit> {
    const key = batch.checks?.[0]?.key;
    if (this.races > 0 && key !== undefined) {
      this.races -= 1;
      const [stored] = await this.read(partition, [{ type: "record", key }]);
      await super.commit(partition, { writes: [{ type: "put", key, value: stored?.value ?? "" }] });
    }
    return await super.commit(partition, batch);
  }
}

describe("a change of an API key", () => {
  it(`is tried ${apiKeyAttemptsMax} times while others change the key`, async () => {
    const { clock, random, secret, store: inner } = createFixture();
    const store = new RacingStore(inner);
    const keys = createApiKeys({ store, clock, random, secret });
    const organisationId = ids.organisation;
    const made = await keys.create({ organisationId, name: "CRM", permissions: ["users:read"] });
    const key = { organisationId, keyId: made.key };
    store.races = apiKeyAttemptsMax - 1;
    assert.notEqual((await keys.rotate(key)).secret, made.secret);
    store.races = apiKeyAttemptsMax;
    await assert.rejects(keys.rotate(key), hasCode("conflict"));
    assert.equal(store.races, 0);
  });
});

describe("a change of the key ring", () => {
  it(`is tried ${ringAttemptsMax} times while others change the ring`, async () => {
    const fixture = createFixture();
    const store = new RacingStore(fixture.store);
    const ring = await openRing(fixture, { store });
    store.races = ringAttemptsMax - 1;
    assert.ok((await ring.rotate()).activeFrom > fixture.clock());
    fixture.time.advance(366 * 86_400_000);
    store.races = ringAttemptsMax;
    await assert.rejects(ring.rotate(), /Cannot change the key ring/);
    assert.equal(store.races, 0);
  });
});
