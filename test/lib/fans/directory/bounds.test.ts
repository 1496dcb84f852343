/** Bounds of names and of the events among which an alias is resolved. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { createDirectory } from "../../../../lib/fans/directory/directory.ts";
import { seedDirectory } from "../../../../lib/fans/directory/seed.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids, seed } from "../../../support/platform.ts";
import { WatchedStore } from "../../../support/watched_store.ts";

const [match] = seed.events;
assert.ok(match !== undefined);
const clock = createTestClock();
const opened = (): WatchedStore => new WatchedStore(createMemoryStore({ clock: clock.now }));

describe("the directory", () => {
  for (const kind of ["organisations", "spaces", "projects", "events"] as const) {
    it(`takes names of 200 characters for ${kind}, and no longer ones`, async () => {
      const [first, ...rest] = seed[kind];
      const named = (length: number): Promise<void> =>
        seedDirectory(opened(), { ...seed, [kind]: [{ ...first, name: "n".repeat(length) }, ...rest] });
      await named(200);
      await assert.rejects(named(200 + 1), (error: unknown) => {
        assert.ok(error instanceof AppError);
        assert.deepEqual(
          error.fields?.map(({ pointer }) => pointer),
          [`/${kind}/0/name`],
        );
        return true;
      });
    });
  }

  it(`finds the running event of a project beside many future ones`, async () => {
    const current = async (newer: number): Promise<string | undefined> => {
      const store = opened();
      const events = Array.from({ length: newer }, (_, n) => ({
        ...match,
        id: `0d000000-0000-4000-8000-${String(1_000 + n).padStart(12, "0")}`,
        state: "future" as const,
        startAt: match.startAt + 1 + n,
      }));
      await seedDirectory(store, { ...seed, events: [match, ...events] });
      const directory = createDirectory({ store, clock: clock.now });
      return (await directory.event(ids.project, "current"))?.id;
    };
    assert.equal(await current(100 - 1), match.id);
    assert.equal(await current(250), match.id);
  });
});
