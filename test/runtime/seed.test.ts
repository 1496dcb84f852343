import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createDirectory } from "../../lib/fans/directory/directory.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { readSeedFiles } from "../../runtime/services/seed_files.ts";
import { ids, loyalty, seed } from "../support/platform.ts";

const seedFromFile = async (store: Store, path: string): Promise<void> =>
  (await readSeedFiles({ seed: path })).write(store, Date.now);

const folder = mkdtempSync(join(tmpdir(), "grandstand-seed-"));
after(() => rmSync(folder, { recursive: true }));

function file(name: string, content: string): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

describe("a seed file", () => {
  it("creates what it describes, and again replaces it", async () => {
    const store = createMemoryStore();
    await seedFromFile(store, file("good.json", JSON.stringify(seed)));
    const [project, ...projects] = seed.projects;
    const renamed = { ...seed, projects: [{ ...project, name: "Renamed" }, ...projects] };
    await seedFromFile(store, file("renamed.json", JSON.stringify(renamed)));
    const directory = createDirectory({ store, clock: Date.now });
    assert.equal((await directory.project(ids.project))?.name, "Renamed");
    assert.deepEqual((await directory.loyalty(ids.space))?.document, loyalty);
  });

  it("is refused with every fault and its place, and then nothing is written", async () => {
    const store = createMemoryStore();
    const wrong = { ...loyalty, rules: [{ id: "r", trigger: { action: "unknown" }, effects: [] }] };
    const path = file("wrong.json", JSON.stringify({ ...seed, loyalty: { [ids.space]: wrong } }));
    await assert.rejects(seedFromFile(store, path), (error: Error) => {
      assert.match(error.message, new RegExp(`/loyalty/${ids.space}/rules/0/effects: `));
      assert.ok(error.message.startsWith(`Cannot seed from ${path}: `));
      return true;
    });
    assert.equal(await createDirectory({ store, clock: Date.now }).project(ids.project), null);
  });

  it("is refused where it cannot be read or is not JSON", async () => {
    const store = createMemoryStore();
    await assert.rejects(
      seedFromFile(store, join(folder, "missing.json")),
      /Cannot seed from .*missing\.json/,
    );
    await assert.rejects(seedFromFile(store, file("bad.json", "{")), /Cannot seed from .*bad\.json/);
  });
});
