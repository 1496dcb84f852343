/** The format of a store: an older process does not touch a newer store. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { storeFormat } from "../../lib/auth/tokens/jwks_routes.ts";
import { createPlatform, silentLogger } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { platformPartition } from "../../lib/storage/names.ts";
import { openPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

async function setFormat(store: Store, format: number): Promise<void> {
  const writes = [{ type: "put", key: "format", value: String(format) }] as const;
  assert.ok((await store.commit(platformPartition("key_ring"), { writes })).ok);
}

describeOnStores("a store of a newer format", open => {
  it("is refused at the start, with advice", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    await setFormat(world.store, storeFormat + 1);
    await assert.rejects(
      createPlatform({ store: world.store, secret: testSecret, logger: silentLogger }),
      /its format is 2 and this version knows 1; update this process/,
    );
    await setFormat(world.store, storeFormat);
    await (await createPlatform({ store: world.store, secret: testSecret, logger: silentLogger })).close();
  });

  it("makes a process that already runs not ready", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    assert.equal((await world.call("/readyz")).status, 200);
    await setFormat(world.store, storeFormat + 1);
    world.clock.advance(1_001);
    assert.equal((await world.call("/readyz")).status, 503);
  });
});
