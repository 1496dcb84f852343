/** `grandstand doctor`, over the store of a deployment. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { directoryPartition } from "../../lib/fans/directory/records.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { databases, openKept } from "../support/databases.ts";
import { ids, seed } from "../support/platform.ts";
import { type Outcome, runHere } from "./command_line.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-doctor-"));
after(() => rmSync(folder, { recursive: true }));
const doctor = (...args: readonly string[]): Promise<Outcome> => runHere(["doctor", ...args]);

/** Seeds a store and takes the project off the list of its space, as lost writes do. */
async function damage(store: Store): Promise<void> {
  await seedDirectory(store, seed, { clock: Date.now });
  await store.commit(directoryPartition("space", ids.space), {
    writes: [{ type: "delete", shape: "record", key: "projects" }],
  });
}

async function verdicts(
  ...args: readonly string[]
): Promise<{ code: unknown; found: number[]; repaired: number[] }> {
  const { code, stdout, stderr } = await doctor("--json", ...args);
  assert.ok(stdout !== "", stderr);
  const all: { check: string; found: number | null; repaired: number }[] = JSON.parse(stdout).data;
  const data = all.flatMap(row => (row.found === null ? [] : [{ ...row, found: row.found }]));
  assert.deepEqual(
    data.map(({ check }) => check),
    ["directory", "lookup-keys", "boards"],
  );
  return { code, found: data.map(({ found }) => found), repaired: data.map(({ repaired }) => repaired) };
}

describe("grandstand doctor", () => {
  it("finds and repairs what lost writes took off a list in a data folder", async () => {
    const data = join(folder, "data");
    {
      await using store = await openFileStore(data);
      await damage(store);
    }
    const shown = await doctor("--data", data);
    assert.equal(shown.code, 3, shown.stderr);
    assert.match(shown.stdout, /directory\tfound\t\d+ examined, 1 found, 0 repaired/);
    assert.match(shown.stderr, new RegExp(`the project ${ids.project} is in no list`));
    assert.deepEqual(await verdicts("--data", data, "--repair"), {
      code: 0,
      found: [1, 0, 0],
      repaired: [1, 0, 0],
    });
    assert.deepEqual(await verdicts("--data", data), { code: 0, found: [0, 0, 0], repaired: [0, 0, 0] });
  });

  for (const { name, flag, skip, empty } of databases) {
    it(`does so in a ${name}`, { skip }, async () => {
      const url = await empty();
      await using kept = openKept(url);
      await damage(kept.store);
      assert.equal((await verdicts(flag, url)).code, 3);
      assert.deepEqual(await verdicts(flag, url, "--repair"), {
        code: 0,
        found: [1, 0, 0],
        repaired: [1, 0, 0],
      });
      assert.equal((await verdicts(flag, url)).code, 0);
    });
  }

  it("says that it needs a store that lasts", async () => {
    const nowhere = await doctor();
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.stderr, /doctor needs --redis, --postgres, --store or --data/);
    assert.match((await doctor("--help")).stdout, /--repair/);
  });
});
