/** `grandstand users`, over the store of a deployment. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { Users } from "../../lib/fans/identity/mod.ts";
import { userBoards, userIndexPartition } from "../../lib/fans/users/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { databases, openKept } from "../support/databases.ts";
import { externalIds, ids, seed, testSecret } from "../support/platform.ts";
import { type Outcome, runHere } from "./command_line.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-users-"));
after(() => rmSync(folder, { recursive: true }));
const signUp = 1_790_000_000;
const userId = "0e000000-0000-4000-8000-00000000000e";

function run(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Promise<Outcome> {
  return runHere(["users", ...args], environment);
}

/** A store with somebody who signed up before there was an index. */
async function fill(store: Store): Promise<void> {
  await seedDirectory(store, seed, { clock: Date.now });
  const user = {
    ...externalIds.seal(userId, "ext-1"),
    username: "Robin",
    provider: "noLogin",
    signUp,
  } as const;
  const nothing = { loginHistory: [signUp + 60], devices: [], appProfile: {} };
  await new Users(store, testSecret).create(ids.project, { ...user, ...nothing });
}

async function listedAt(store: Store, key: string): Promise<number | undefined> {
  const place = userIndexPartition(ids.organisation, userId);
  const [standing] = await store.read(place, [{ type: "standing", key, member: userId }]);
  return standing?.score;
}

describe("grandstand users index", () => {
  it("lists the users of a data folder, needs no secret, and may be repeated", async () => {
    const data = join(folder, "data");
    const before = await openFileStore(data);
    await fill(before);
    await before[Symbol.asyncDispose]();
    const { code, stderr } = await run(["index", "--data", data]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /listed 1 users and built 0 indexes/);
    const again = await run(["index", "--json"], { GRANDSTAND_DATA: data });
    assert.deepEqual(JSON.parse(again.stdout).data, { examined: 1, listed: 0, metrics: 0 });
    const store = await openFileStore(data);
    assert.equal(await listedAt(store, userBoards.created), signUp * 1_000);
    assert.equal(await listedAt(store, userBoards.active), (signUp + 60) * 1_000);
    await store[Symbol.asyncDispose]();
  });

  for (const { name, flag, skip, empty } of databases) {
    it(`lists the users of a ${name}`, { skip }, async () => {
      const url = await empty();
      await using kept = openKept(url);
      await fill(kept.store);
      const { code, stderr } = await run(["index", flag, url]);
      assert.equal(code, 0, stderr);
      assert.equal(await listedAt(kept.store, userBoards.created), signUp * 1_000);
    });
  }

  it("says that it needs a store that lasts, and who else has it", async () => {
    const nowhere = await run(["index"]);
    assert.equal(nowhere.code, 2);
    assert.match(nowhere.stderr, /users index needs --redis, --postgres, --store or --data/);
    const data = join(folder, "held");
    await using _holder = await openFileStore(data);
    const held = await run(["index", "--data", data]);
    assert.equal(held.code, 1);
    assert.match(held.stderr, /is in use by .* Stop that process first/);
    const file = join(folder, "file");
    writeFileSync(file, "");
    assert.notEqual((await run(["index", "--data", file])).code, 0);
  });
});
