/** What exports take at most, and how much of them a process looks through and remembers at a time. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { systemRandom } from "../../../lib/auth/mod.ts";
import { byteRange, rangeCharactersMax } from "../../../lib/exports/http/byte_range.ts";
import { capabilityCharactersMax, createCapabilities } from "../../../lib/exports/http/capability.ts";
import { dueExportsMax, orphanMs } from "../../../lib/exports/jobs/runner.ts";
import { exportSettings, noticeCharactersMax } from "../../../lib/exports/jobs/settings.ts";
import { appendEntry, readTrail } from "../../../lib/exports/jobs/trail.ts";
import {
  exportFileMs,
  exportPageUsers,
  exportUsersMax,
  partBytesMin,
  trailEntriesMax,
} from "../../../lib/exports/mod.ts";
import type { Store } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";
import { ids } from "../../support/platform.ts";
import { ask, ExportWorld, exportPath, look, manyUsers } from "./_world.ts";

const open = async (clock: () => number): Promise<Store> => createMemoryStore({ clock });
const addressOf = (length: number): string => "@club.example".padStart(length, "a");

describe("an export", () => {
  it(`has at most ${exportUsersMax} users unless the operator says otherwise`, async () => {
    await using world = await ExportWorld.open(open, []);
    const of = (estimate: number) =>
      world.process({
        source: {
          compile: async () => ({
            fields: [],
            estimate: async () => estimate,
            printedPage: async () => ({ rows: [], cursor: null, examined: 0 }),
          }),
        },
      });
    const body = { format: "csv" };
    assert.equal((await of(exportUsersMax).call(exportPath, { body })).status, 202);
    const refused = await of(exportUsersMax + 1).call(exportPath, { body });
    assert.deepEqual([refused.status, (await refused.json()).code], [400, "limit_reached"]);
  });

  it(`is told to addresses of at most ${noticeCharactersMax} characters, in requests and settings`, async () => {
    await using world = await ExportWorld.open(open, manyUsers(1));
    const process = world.process();
    for (const [length, status] of [
      [noticeCharactersMax, 202],
      [noticeCharactersMax + 1, 400],
    ] as const) {
      const email = addressOf(length);
      const answer = await process.call(exportPath, { body: { format: "csv", notify: { email } } });
      assert.equal(answer.status, status);
      const settings = { exports: { notify: { email } } };
      const { notify } = exportSettings({ id: ids.organisation, name: "Club", settings });
      assert.equal(notify?.email, status === 202 ? email : undefined);
    }
  });

  it(`is stored in parts of at least ${partBytesMin} bytes that end with a page`, async () => {
    const nameCharacters = Math.ceil((2 * partBytesMin) / (5 * exportPageUsers));
    await using world = await ExportWorld.open(open, manyUsers(5 * exportPageUsers, nameCharacters));
    const process = world.process({ intervalMs: 0 });
    await ask(process, { encrypt: false });
    await process.exports.idle();
    const pageBytes = 1.1 * exportPageUsers * (nameCharacters + 50);
    const sizes = [...world.blobs.sizes.values()];
    assert.ok(sizes.length > 1);
    for (const size of sizes.slice(0, -1)) {
      assert.ok(size >= partBytesMin && size < partBytesMin + pageBytes, `${size}`);
    }
  });

  it("that is due is built however many others are due before it and stay so", async () => {
    await using world = await ExportWorld.open(open, manyUsers(1));
    const process = world.process();
    const exportId = await ask(process);
    const members = Array.from({ length: 2 * dueExportsMax + 1 }, (_, n) => `${ids.organisation}/${n}`);
    world.clock.advance(orphanMs / 2);
    const score = world.clock.now() - orphanMs / 2;
    await world.store.commit("g:exports", {
      writes: members.map(member => ({ type: "score", op: "set", key: "due", member, score })),
    });
    await process.work();
    assert.equal((await look(process, exportId)).status, "completed");
    const due = { type: "board", key: "due", max: world.clock.now(), limit: 999 } as const;
    assert.equal((await world.store.read("g:exports", [due]))[0].entries.length, members.length);
  });
});

describe("the trail of exports", () => {
  it(`has the newest ${trailEntriesMax} entries`, async () => {
    const clock = createTestClock();
    await using store = createMemoryStore({ clock: clock.now });
    const partition = `o:${ids.organisation}:exports`;
    for (let n = 0; n <= trailEntriesMax; n += 1) {
      const entry = { at: clock.now(), event: "requested", exportId: `e${n}` } as const;
      await store.commit(partition, { writes: [appendEntry(entry)] });
    }
    const found: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await readTrail(store, ids.organisation, { limit: 999, cursor });
      found.push(...page.entries.map(({ exportId }) => exportId));
      ({ cursor } = page);
    }
    assert.deepEqual([found.length, found[0], found.at(-1)], [trailEntriesMax, `e${trailEntriesMax}`, "e1"]);
  });
});

describe("what downloads read of a request", () => {
  it(`is a range of at most ${rangeCharactersMax} characters; a longer one counts as none`, () => {
    const range = "bytes=3-4".padEnd(rangeCharactersMax);
    assert.deepEqual(byteRange(range, 10), { first: 3, last: 4 });
    assert.equal(byteRange(`${range} `, 10), null);
  });

  it(`is a capability of at most ${capabilityCharactersMax} characters`, () => {
    const clock = createTestClock();
    const options = { key: new Uint8Array(32), clock: clock.now, random: systemRandom };
    const capabilities = createCapabilities(options);
    const address = (length: number) => ({ organisationId: "o".repeat(length), exportId: ids.event });
    const grant = (length: number): string => capabilities.grant(address(length), clock.now() + exportFileMs);
    let length = 1;
    while (grant(length + 1).length <= capabilityCharactersMax) length += 1;
    assert.deepEqual(capabilities.read(grant(length)), address(length));
    assert.equal(capabilities.read(grant(length + 1)), null);
  });
});
