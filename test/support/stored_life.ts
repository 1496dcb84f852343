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
import { ids, openPlatform } from "./platform.ts";

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
}

async function writeLife(folder: string): Promise<void> {
  const data = mkdtempSync(join(tmpdir(), "grandstand-life-"));
  const world = await openPlatform(() => openFileStore(data));
  const { key, secret } = await world.platform.apiKeys.create({
    organisationId: ids.organisation,
    name: "Desk",
    permissions: ["users:read", "rewards:write"],
  });
  const fan = await world.fan("Sam");
  for (const [at, result] of ["exact", "right"].entries()) {
    assert.equal((await fan.act("prediction", { outcome: result }, `prediction-${at}`)).status, 200);
  }
  await world.platform.work();
  const { userId, externalId, token } = fan;
  const life: StoredLife = {
    now: world.clock.now(),
    userId,
    externalId,
    token,
    apiKey: { "x-api-key": key, "x-api-secret": secret },
    points: 4,
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
