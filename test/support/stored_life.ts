/**
 * Data of a release: what a store holds after some life, as a backup with what its callers hold. The tests read those of
 * earlier releases. Writes one anew: `npx tsx test/support/stored_life.ts <folder>`, for a new format of the store alone.
 */

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { argv } from "node:process";
import { pathToFileURL } from "node:url";
import { backUpJournal, openFileStore } from "../../adapters/file/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { quickKernels } from "./kernels.ts";
import { ids, loyalty, openPlatform, seed } from "./platform.ts";

/** What the callers of a store hold, and the time at which its life ended. */
export interface StoredLife {
  /** Unix ms. */
  readonly now: number;
  readonly userId: string;
  readonly externalId: string;
  /** Space token of the user. */
  readonly token: string;
  readonly apiKey: { readonly "x-api-key": string; readonly "x-api-secret": string };
  readonly points: number;
  /** An account of the managed pool. */
  readonly account: { readonly userId: string; readonly email: string; readonly password: string };
  /** Access token of an operator, and an element that it made. */
  readonly author: { readonly token: string; readonly elementId: string };
  /** A webhook whose receiver has taken no message. */
  readonly webhook: { readonly id: string; readonly secret: string };
  /** An export that nobody has built yet. */
  readonly exportId: string;
}

const webhookId = "shop";

async function writeLife(folder: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), "grandstand-life-"));
  const webhooks = [{ id: webhookId, url: "https://shop.example/", events: ["actionRewarded"] }];
  const world = await openPlatform(clock => openFileStore(data, { clock }), {
    seed: { ...seed, loyalty: { [ids.space]: { ...loyalty, webhooks } } },
    control: createControl,
    passwordKernels: quickKernels(),
    webhooks: {
      async send() {
        throw new Error("The shop is closed");
      },
    },
  });
  const { key, secret } = await world.platform.apiKeys.create({
    organisationId: ids.organisation,
    name: "Desk",
    permissions: ["users:read", "rewards:write", "users:export", "config:write"],
  });
  const apiKey = { "x-api-key": key, "x-api-secret": secret };
  const fan = await world.fan("Sam");
  for (const [at, result] of ["exact", "right"].entries()) {
    assert.equal((await fan.act("prediction", { outcome: result }, `prediction-${at}`)).status, 200);
  }
  const account = { email: "ann@example.com", password: "correct horse battery" };
  const pool = { projectId: ids.project, strategy: "email", provider: "managedPool" };
  await world.call("/v1/user", { body: { ...pool, data: account } });
  const login = await world.call("/v1/user/login", { method: "PUT", body: { ...pool, data: account } });
  const operator = await world.platform.authors.findOrCreate("op@example.com", { operator: true });
  const author = await world.platform.authors.createToken({ userId: operator.id, name: "Desk" });
  const made = await world.call("/api/v2/elements", {
    headers: { authorization: `Bearer ${author.token}` },
    body: {
      data: {
        type: "elements",
        attributes: { content_type: "poll", name: "Who wins?" },
        relationships: { event: { data: { type: "events", id: ids.event } } },
      },
    },
  });
  assert.equal(made.status, 201, made.text);
  const path = "/v1/api/audience/internal/users/export";
  const headers = { ...apiKey, "x-platform-org-id": ids.organisation };
  const requested = await world.call(path, { headers, body: { format: "csv" } });
  assert.ok(requested.status < 300, requested.text);
  const shown = await world.call(`/api/v2/spaces/${ids.space}/loyalty/webhooks/${webhookId}`, {
    headers: apiKey,
  });
  await world.platform.work();
  const { userId, externalId, token } = fan;
  const life: StoredLife = {
    now: world.clock.now(),
    userId,
    externalId,
    token,
    apiKey,
    points: 4,
    account: { userId: login.json.data.userId, ...account },
    author: { token: author.token, elementId: made.json.data.id },
    webhook: { id: webhookId, secret: shown.json.data.attributes.secret },
    exportId: requested.json.data.exportId,
  };
  await world.dispose();
  mkdirSync(folder, { recursive: true });
  await backUpJournal(data, join(folder, "store.backup"));
  writeFileSync(join(folder, "callers.json"), `${JSON.stringify(life, null, 2)}\n`);
  rmSync(data, { recursive: true });
}

const [, script = "", folder] = argv;
if (import.meta.url === pathToFileURL(script).href) {
  assert.ok(folder !== undefined, "Name the folder to write to");
  await writeLife(folder);
}
