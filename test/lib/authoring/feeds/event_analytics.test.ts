/** The bounds of what an event keeps for its analytics. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { createMemoryStore } from "../../../../adapters/memory/mod.ts";
import { EventAnalytics, type NamedActions } from "../../../../lib/authoring/feeds/event_analytics.ts";
import { PeopleSample } from "../../../../lib/authoring/feeds/people_sample.ts";
import { readAnalytics } from "../../../../lib/authoring/feeds/read_analytics.ts";
import { directoryPartition } from "../../../../lib/fans/directory/records.ts";
import { seedDirectory } from "../../../../lib/fans/directory/seed.ts";
import { silentLogger } from "../../../../lib/mod.ts";
import { systemTimer } from "../../../../lib/storage/background/mod.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids, seed } from "../../../support/platform.ts";

const owner = { projectId: ids.project, eventId: ids.event };

async function opened() {
  const clock = createTestClock();
  const store = createMemoryStore();
  await seedDirectory(store, seed, { clock: clock.now });
  const services = { store, clock: clock.now };
  const analytics = new EventAnalytics({
    ...services,
    timer: systemTimer,
    logger: silentLogger,
    holder: "a",
  });
  const act = (id: string, users: readonly string[], more: Partial<NamedActions> = {}): void => {
    const people = new PeopleSample();
    for (const user of users) people.add(user);
    analytics.add(owner, { id, options: [], count: users.length, gained: new Map(), people, ...more });
  };
  async function read() {
    await analytics.idle();
    const found = await readAnalytics(services, owner, 60);
    assert.ok(found !== null);
    return found;
  }
  const sizeOf = async (t: TestContext): Promise<number> => {
    const hour = Math.floor(clock.now() / 3_600_000);
    const key = `analytics:${ids.event}:${hour}`;
    const [stored] = await store.read(directoryPartition("project", ids.project), [{ type: "record", key }]);
    t.diagnostic(`${stored?.value.length} characters`);
    return stored?.value.length ?? 0;
  };
  return { clock, analytics, act, read, sizeOf };
}

const usersFrom = (first: number, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `fan-${first + index}`);

it("1,000 people are counted, and more of them estimated from those whose hash is lowest", async t => {
  const { clock, act, read, sizeOf } = await opened();
  act(ids.event, usersFrom(0, 1_000));
  assert.deepEqual([(await read()).people, (await read()).isExact], [1_000, true]);
  for (let minute = 1; minute <= 10; minute++) {
    clock.advance(60_000);
    act(ids.event, usersFrom(0, 2_000));
    act(ids.event, usersFrom(2_000 * minute, 2_000));
    await read();
  }
  const { people, isExact, actions, steps, retention } = await read();
  assert.equal(isExact, false);
  assert.equal(actions, 41_000);
  const isNear = (found: number, expected: number): boolean => Math.abs(found - expected) < expected * 0.25;
  assert.ok(isNear(people, 22_000), `${people}`);
  assert.ok(isNear(steps.at(-1)?.people ?? 0, 4_000), JSON.stringify(steps.at(-1)));
  const [first] = retention.cohorts;
  assert.ok(isNear(first?.people ?? 0, 1_000) && first?.acted.every(count => count === first.people));
  assert.ok((await sizeOf(t)) < 500_000);
});

it("an hour tells 199 elements apart, and counts others for the event", async () => {
  const { act, read } = await opened();
  const element = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  for (let n = 0; n < 300; n++) act(element(n), [`fan-${n}`], { options: [1] });
  const { elements, actions, people } = await read();
  assert.deepEqual([elements.length, actions, people], [199, 300, 300]);
  assert.ok(elements.every(({ votes }) => votes[0] === 1));
});

it("an hour keeps 10,000 numbers, and counts what adds others for the event", async t => {
  const { clock, act, read, sizeOf } = await opened();
  const element = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  clock.advance(3_600_000 - (clock.now() % 3_600_000));
  for (let minute = 0; minute < 59; minute++) {
    for (let n = 0; n < 10; n++)
      act(element(n), ["ann"], { options: [100], gained: new Map([["points", 1]]) });
    clock.advance(60_000);
  }
  const { elements, actions, points } = await read();
  assert.deepEqual([actions, points.points], [590, 590]);
  assert.ok(elements.reduce((sum, each) => sum + each.actions, 0) < 100, "about 98 numbers of 102 fit");
  assert.ok((await sizeOf(t)) < 500_000);
});

it("an event has figures of its first 48 hours with actions", async () => {
  const { clock, act, read } = await opened();
  for (let hour = 0; hour < 50; hour++) {
    act(ids.event, ["ann"]);
    await read();
    clock.advance(3_600_000);
  }
  const { actions, steps } = await read();
  assert.deepEqual([actions, steps.length], [48, 48]);
});
