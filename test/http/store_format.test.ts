/** The format of a store: an older process does not touch a newer store, and a newer one reads what is older. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openFileStore, restoreJournal } from "../../adapters/file/mod.ts";
import { storeFormat } from "../../lib/auth/tokens/jwks_routes.ts";
import { createPlatform, silentLogger } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { platformPartition } from "../../lib/storage/names.ts";
import { temporaryDirectory } from "../adapters/file/directory.ts";
import { ids, openPlatform, testSecret } from "../support/platform.ts";
import type { StoredLife } from "../support/stored_life.ts";
import { describeOnStores } from "../support/stores.ts";
import { until } from "../support/until.ts";

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

/** Time after which an export that was requested is built further. */
const exportMs = 60_000;

describe("a store of an earlier release", () => {
  it("is read: what its callers hold is good, and points, boards and users are there", async t => {
    const folder = "test/http/stored/format_1";
    const life: StoredLife = JSON.parse(readFileSync(join(folder, "callers.json"), "utf8"));
    const data = join(await temporaryDirectory(), "data");
    await restoreJournal(join(folder, "store.backup"), data);
    // The settings are those of the store.
    const seed = { organisations: [], spaces: [], projects: [], events: [] };
    const world = await openPlatform(clock => openFileStore(data, { clock }), { seed, startAt: life.now });
    t.after(() => world.dispose());
    const { token, userId, externalId, apiKey: headers, points } = life;
    const prediction = (actionId: string) =>
      world.call("/api/loyalty/action", {
        token,
        body: { action: "prediction", data: { outcome: "exact" }, actionId },
      });

    assert.equal((await prediction("prediction-0")).status, 200);
    const profile = await world.call("/api/loyalty/profile", { token });
    assert.equal(profile.json.data.metrics.points, points, "a repetition has no effect");
    const reversal = await world.call(`/internal/loyalty/users/${userId}/reversals`, {
      headers,
      body: { transactionId: crypto.randomUUID() },
    });
    assert.equal(reversal.status, 404, "the API key is known, and its transaction is not");
    const selector = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
    const login = await world.call(`/v1/user?${new URLSearchParams({ ...selector, externalId })}`);
    assert.equal(login.status, 200, "its external id is unsealed");
    const board = await world.call(`/projects/${ids.project}/leaderboards/overall`);
    assert.deepEqual(board.json.data, [
      { userId, rank: 1, score: points, publicProfile: { username: "Sam" } },
    ]);
    const { account, author, webhook, exportId } = life;
    const pool = { projectId: ids.project, strategy: "email", provider: "managedPool" };
    const entered = await world.call("/v1/user/login", { method: "PUT", body: { ...pool, data: account } });
    assert.equal(entered.json.data.userId, account.userId, "its password is right");
    const authored = { headers: { authorization: `Bearer ${author.token}` } };
    const element = await world.call(`/api/v2/elements/${author.elementId}`, authored);
    assert.equal(element.json.data.attributes.name, "Who wins?");
    const shop = `/api/v2/spaces/${ids.space}/loyalty/webhooks/${webhook.id}`;
    const { attributes } = (await world.call(shop, { headers })).json.data;
    assert.equal(attributes.secret, webhook.secret, "its receiver verifies messages");
    assert.equal(attributes.status, "failing", "it has taken no message");
    const path = `/v1/api/audience/internal/exports/${exportId}`;
    const exporter = { headers: { ...headers, "x-platform-org-id": ids.organisation } };
    await until("the export is built", async () => {
      world.clock.advance(exportMs);
      await world.platform.work();
      return (await world.call(path, exporter)).json.data.status === "completed";
    });
    const { password } = (await world.call(path, exporter)).json.data;
    assert.equal(typeof password, "string", "it is unsealed");
  });
});
