import assert from "node:assert/strict";
import { it } from "node:test";
import { createDirectory } from "../../../../lib/fans/directory/directory.ts";
import type { Directory, Event } from "../../../../lib/fans/directory/mod.ts";
import { seedDirectory } from "../../../../lib/fans/directory/seed.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids, otherHost, seed } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";
import { WatchedStore } from "../../../support/watched_store.ts";

const [match] = seed.events;
assert.ok(match !== undefined);
const eventAt = (number: number, state: Event["state"]) => ({
  ...match,
  id: `0d000000-0000-4000-8000-00000000010${number}`,
  state,
  startAt: match.startAt + number,
});

describeOnStores("the directory", open => {
  async function opened(t: { after(end: () => Promise<void>): void }) {
    const clock = createTestClock();
    const store = new WatchedStore(await open(clock.now));
    t.after(() => store[Symbol.asyncDispose]());
    await seedDirectory(store, seed);
    store.reads.length = 0;
    const directory: Directory = createDirectory({ store, clock: clock.now, defaultSpaceId: ids.space });
    return { clock, store, directory };
  }

  it("answers without a promise and without a read while a record is fresh", async t => {
    const { clock, store, directory } = await opened(t);
    const first = await directory.project(ids.project);
    clock.advance(900 - 1);
    assert.equal(directory.project(ids.project), first);
    assert.equal(store.reads.length, 1);
    clock.advance(1);
    const renewed = directory.project(ids.project);
    assert.ok(renewed instanceof Promise);
    assert.deepEqual(await renewed, first);
  });

  it("lets 64 callers share one read", async t => {
    const { store, directory } = await opened(t);
    const found = await Promise.all(Array.from({ length: 64 }, () => directory.project(ids.project)));
    assert.equal(new Set(found).size, 1);
    assert.equal(store.reads.length, 1);
  });

  it("shows a change within a second, and keeps the object of what did not change", async t => {
    const { clock, store, directory } = await opened(t);
    const [before, space] = [await directory.project(ids.project), await directory.space(ids.space)];
    const loyalty = await directory.loyalty(ids.space);
    await seedDirectory(store, {
      ...seed,
      projects: seed.projects.map(project => ({ ...project, name: "New" })),
    });
    clock.advance(900);
    const after = await directory.project(ids.project);
    assert.deepEqual([before?.name, after?.name], ["Club app", "New"]);
    assert.deepEqual(await directory.space(ids.space), space);
    assert.deepEqual((await directory.loyalty(ids.space))?.document, loyalty?.document);
    clock.advance(900);
    assert.equal(await directory.project(ids.project), after);
  });

  it("shows a record that was not there before within a second", async t => {
    const { clock, store, directory } = await opened(t);
    const added = eventAt(9, "future");
    assert.equal(await directory.event(ids.project, added.id), null);
    await seedDirectory(store, { ...seed, events: [added] });
    clock.advance(900);
    assert.equal((await directory.event(ids.project, added.id))?.id, added.id);
  });

  it("finds the event that runs and started last, and the finished one that started last", async t => {
    const { store, directory } = await opened(t);
    const events = [
      eventAt(1, "past"),
      eventAt(2, "on_demand"),
      eventAt(3, "current"),
      eventAt(4, "current"),
      eventAt(5, "future"),
    ];
    await seedDirectory(store, { ...seed, events: events.toReversed() });
    assert.equal((await directory.event(ids.project, "current"))?.id, events[3]?.id);
    assert.equal((await directory.event(ids.project, "latest"))?.id, events[1]?.id);
    assert.equal(await directory.event(ids.otherProject, "current"), null);
  });

  it("moves an alias on within a second, also between events that one commit wrote", async t => {
    const { clock, store, directory } = await opened(t);
    const [first, last] = [eventAt(1, "past"), eventAt(2, "past")];
    const partition = `p:${ids.project}:directory`;
    // One commit gives all the records that it puts the same version.
    await store.commit(partition, {
      writes: [first, last].flatMap(event => [
        { type: "put", key: `event:${event.id}`, value: JSON.stringify({ ...event, settings: {} }) },
        { type: "score", op: "set", key: "events", member: event.id, score: event.startAt },
      ]),
    });
    assert.equal((await directory.event(ids.project, "latest"))?.id, last.id);
    await store.commit(partition, {
      writes: [{ type: "delete", shape: "record", key: `event:${last.id}` }],
    });
    clock.advance(900);
    assert.equal((await directory.event(ids.project, "latest"))?.id, first.id);
  });

  it("finds events by id or alias only, and does not ask the store for others", async t => {
    const { store, directory } = await opened(t);
    for (const name of [
      "",
      "x",
      "__proto__",
      "CURRENT",
      `${ids.event}/x`,
      `event:${ids.event}`,
      "a".repeat(2_000),
      "\ud800",
    ]) {
      assert.equal(directory.event(ids.project, name), null);
    }
    assert.equal(store.reads.length, 0);
    assert.equal((await directory.event(ids.project, ids.event.toUpperCase()))?.id, ids.event);
    assert.equal(await directory.event(ids.otherProject, ids.event), null);
  });

  it("finds the space of a host in any case, and the default space of any other", async t => {
    const { store, directory } = await opened(t);
    assert.equal((await directory.spaceOfHost(otherHost.toUpperCase()))?.id, ids.otherSpace);
    for (const host of ["", "nobody.example", "a".repeat(260)]) {
      assert.equal((await directory.spaceOfHost(host))?.id, ids.space, host);
    }
    const reads = store.reads.length;
    assert.equal((await directory.spaceOfHost("a".repeat(100_000)))?.id, ids.space);
    assert.equal(store.reads.length, reads);
    const strict = createDirectory({ store, clock: () => 0 });
    assert.equal(await strict.spaceOfHost("nobody.example"), null);
  });

  it("freezes its records", async t => {
    const { directory } = await opened(t);
    assert.ok(Object.isFrozen(await directory.project(ids.project)));
  });
});
