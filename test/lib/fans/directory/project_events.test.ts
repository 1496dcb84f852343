import assert from "node:assert/strict";
import { it } from "node:test";
import { projectEvents } from "../../../../lib/fans/directory/directory.ts";
import { seedDirectory } from "../../../../lib/fans/directory/seed.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids, seed } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";

describeOnStores("the events of a project", open => {
  it("are listed in the order in which they start, only those of the project", async t => {
    const store = await open(createTestClock().now);
    t.after(() => store[Symbol.asyncDispose]());
    const events = Array.from({ length: 201 }, (_, index) => ({
      id: `0d000000-0000-4000-8000-${String(index).padStart(12, "0")}`,
      projectId: index % 10 === 0 ? ids.otherProject : ids.project,
      name: `Event ${index}`,
      state: "future" as const,
      startAt: 1_000 + index,
    }));
    await seedDirectory(store, { ...seed, events });
    const found: string[] = [];
    for await (const { id } of projectEvents(store, ids.project, 0)) found.push(id);
    assert.deepEqual(
      found,
      events.filter(({ projectId }) => projectId === ids.project).map(({ id }) => id),
    );
    for await (const { id } of projectEvents(store, ids.organisation, 0)) assert.fail(id);
  });
});
