/** Registering a device whose user is somebody else's by the time it is made. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import type { Partition, Read, Results } from "../../lib/storage/mod.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { WatchedStore } from "../support/watched_store.ts";

const deviceClaimsMax = 3;

/** A store in which users register by other means just before somebody looks, so many times. */
class RacingStore extends WatchedStore {
  races = 0;

  override async read<const Q extends readonly Read[]>(
    partition: Partition,
    queries: Q,
  ): Promise<Results<Q>> {
    const [, userId] = new RegExp(`^p:${ids.project}:user:(.+)$`).exec(partition) ?? [];
    if (userId !== undefined && this.races > 0) {
      this.races -= 1;
      const user = { userId, externalId: "e", provider: "noLogin", username: "Sam", signUp: 0 };
      const value = JSON.stringify({ ...user, devices: [], loginHistory: [], appProfile: {} });
      await super.commit(partition, { writes: [{ type: "put", key: "user", value }] });
    }
    return await super.read(partition, queries);
  }
}

describe("a device that registers", () => {
  it(`gets a new user ${deviceClaimsMax} times while its user changes, and gets Retry-After then`, async t => {
    let store: RacingStore | undefined;
    const world = await openPlatform(async clock => {
      store = new RacingStore(createMemoryStore({ clock }));
      return store;
    });
    t.after(() => world.dispose());
    const register = async (races: number): Promise<number> => {
      assert.ok(store !== undefined);
      store.races = races;
      const selector = { projectId: ids.project, strategy: "simplified", provider: "anonymous" };
      const data = { deviceId: randomUUID(), additionalId: "app" };
      const { status } = await world.call("/v1/user", { body: { ...selector, data } });
      assert.equal(store.races, 0);
      return status;
    };
    assert.equal(await register(deviceClaimsMax - 1), 201);
    assert.equal(await register(deviceClaimsMax), 409);
  });
});
