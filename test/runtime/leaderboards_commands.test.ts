/** `grandstand leaderboards`, over the store of a deployment. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { openFileStore } from "../../adapters/file/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { boardPartition } from "../../lib/fans/leaderboards/scores/resolve_board.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { databases, openKept } from "../support/databases.ts";
import { ids, openPlatform } from "../support/platform.ts";
import { type Outcome, runHere } from "./command_line.ts";

const folder = mkdtempSync(join(tmpdir(), "grandstand-boards-"));
after(() => rmSync(folder, { recursive: true }));
const secretText = "a master secret for commands and long enough to be accepted";
const partition = boardPartition(
  {
    projectId: ids.project,
    eventId: null,
    leaderboardId: "overall",
    season: "",
  },
  0,
);

function rebuild(args: readonly string[]): Promise<Outcome> {
  return runHere(["leaderboards", "rebuild", ...args], { GRANDSTAND_SECRET: secretText });
}

/** Fills a store with a fan who has 3 points, and spoils the board: a stranger is on it in the fan's place. */
async function spoil(store: Store): Promise<string> {
  const world = await openPlatform(async () => store, {
    secret: new MasterSecret(secretText),
    clock: Date.now,
    startAt: Date.now(),
  });
  const fan = await world.fan("Sam");
  await fan.act("prediction", { outcome: "exact" });
  await world.platform.idle();
  await world.platform.close();
  const key = "board";
  await store.commit(partition, {
    writes: [
      { type: "unscore", key, member: fan.userId },
      { type: "score", op: "set", key, member: "stranger", score: -99, tie: 1 },
    ],
  });
  return fan.userId;
}

async function members(store: Store): Promise<readonly (readonly [string, number])[]> {
  const [{ entries }] = await store.read(partition, [{ type: "board", key: "board", limit: 10 }]);
  return entries.map(({ member, score }) => [member, score]);
}

describe("grandstand leaderboards rebuild", () => {
  it("recomputes a board of a data folder from stored histories, and may be repeated", async () => {
    const data = join(folder, "data");
    const before = await openFileStore(data);
    const userId = await spoil(before);
    await before[Symbol.asyncDispose]();
    const { code, stderr } = await rebuild(["overall", "--project", ids.project, "--data", data]);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /Wrote 1 entries and removed 1/);
    const again = await rebuild(["overall", "--project", ids.project, "--data", data, "--json"]);
    assert.deepEqual(JSON.parse(again.stdout).data, { written: 1, removed: 0 });
    await using store = await openFileStore(data);
    assert.deepEqual(await members(store), [[userId, -3]]);
  });

  for (const { name, flag, skip, empty } of databases) {
    it(`recomputes a board on ${name} from stored histories`, { skip }, async () => {
      const url = await empty();
      await using kept = openKept(url);
      const userId = await spoil(kept.store);
      const { code, stderr } = await rebuild(["overall", "--project", ids.project, flag, url]);
      assert.equal(code, 0, stderr);
      assert.deepEqual(await members(kept.store), [[userId, -3]]);
    });
  }

  it("says which board there is not, and which one back ends write to", async () => {
    const data = join(folder, "refused");
    const before = await openFileStore(data);
    await spoil(before);
    await before[Symbol.asyncDispose]();
    const of = (board: string, ...more: string[]): Promise<Outcome> =>
      rebuild([board, "--project", ids.project, "--data", data, ...more]);
    const unknown = await of("unheard-of");
    assert.equal(unknown.code, 8);
    assert.match(unknown.stderr, /none of this id is declared/);
    assert.equal((await of("overall", "--event", ids.otherProject)).code, 6);
    const direct = await of("goals");
    assert.equal(direct.code, 7, direct.stderr);
    assert.equal((await rebuild(["overall", "--data", data])).code, 2);
    assert.match(
      (await rebuild(["overall", "--project", ids.project])).stderr,
      /--redis, --postgres, --store or --data/,
    );
  });
});
