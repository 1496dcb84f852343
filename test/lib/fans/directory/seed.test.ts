import assert from "node:assert/strict";
import { it } from "node:test";
import { AppError } from "../../../../lib/base/errors/mod.ts";
import { createDirectory } from "../../../../lib/fans/directory/directory.ts";
import type { Seed } from "../../../../lib/fans/directory/mod.ts";
import { seedDirectory } from "../../../../lib/fans/directory/seed.ts";
import { createTestClock } from "../../../support/clock.ts";
import { ids, seed } from "../../../support/platform.ts";
import { describeOnStores } from "../../../support/stores.ts";
import { WatchedStore } from "../../../support/watched_store.ts";

const [club, rival] = seed.spaces;
const [app] = seed.projects;
const [match] = seed.events;
assert.ok(club !== undefined && rival !== undefined && app !== undefined && match !== undefined);

async function faults(store: WatchedStore, document: Seed): Promise<readonly string[]> {
  try {
    await seedDirectory(store, document);
  } catch (error) {
    assert.ok(error instanceof AppError);
    assert.equal(error.code, "validation_failed");
    return error.fields?.map(({ pointer }) => pointer) ?? [];
  }
  return assert.fail("the document was accepted");
}

describeOnStores("seeding the directory", open => {
  const clock = createTestClock();
  async function opened(t: { after(end: () => Promise<void>): void }): Promise<WatchedStore> {
    const store = new WatchedStore(await open(clock.now));
    t.after(() => store[Symbol.asyncDispose]());
    return store;
  }

  it("writes nothing and reports the pointer of every error of a document", async t => {
    const store = await opened(t);
    const unknown = "0a000000-0000-4000-8000-0000000000ff";
    const cases: [document: unknown, pointers: readonly string[]][] = [
      [{}, ["/organisations", "/spaces", "/projects", "/events"]],
      [{ ...seed, spaces: [{ ...club, id: "x", name: "" }, rival] }, ["/spaces/0/id", "/spaces/0/name"]],
      [{ ...seed, spaces: [club, { ...rival, domain: "UPPER.example" }] }, ["/spaces/1/domain"]],
      [
        { ...seed, events: [{ ...match, state: "paused", startAt: -1 }] },
        ["/events/0/state", "/events/0/startAt"],
      ],
      [
        { ...seed, spaces: [{ ...club, organisationId: unknown }, rival] },
        ["/spaces/0/organisationId", "/projects/0/organisationId"],
      ],
      [{ ...seed, projects: [{ ...app, spaceId: unknown }] }, ["/projects/0/spaceId"]],
      [
        { ...seed, projects: [{ ...app, organisationId: ids.otherOrganisation }] },
        ["/projects/0/organisationId"],
      ],
      [{ ...seed, events: [match, { ...match, id: unknown, projectId: unknown }] }, ["/events/1/projectId"]],
      [{ ...seed, events: [match, match] }, ["/events/1/id"]],
      [{ ...seed, spaces: [{ ...club, domain: rival.domain }, rival] }, ["/spaces/1/domain"]],
      [{ ...seed, loyalty: { [unknown]: {} } }, [`/loyalty/${unknown}`]],
      [{ ...seed, loyalty: { "a/b": {} } }, ["/loyalty/a~1b"]],
    ];
    for (const [document, pointers] of cases) {
      assert.deepEqual(await faults(store, document as Seed), pointers);
      assert.deepEqual(store.commits, []);
    }
  });

  it("writes nothing where another space holds one of the domains", async t => {
    const store = await opened(t);
    await seedDirectory(store, seed);
    const written = store.commits.length;
    const third = { ...club, id: "0b000000-0000-4000-8000-000000000003", domain: rival.domain ?? "" };
    const document = {
      ...seed,
      spaces: [{ ...club, domain: "new.example" }, third],
      projects: [],
      events: [],
      loyalty: {},
    };
    await assert.rejects(seedDirectory(store, document), { name: "AppError", code: "conflict" });
    assert.equal(store.commits.length, written);
  });

  it("writes nothing of the loser where two seeds want a domain at once", async t => {
    const store = await opened(t);
    const seeds = [4, 5].map(digit => {
      const organisation = { id: `0a000000-0000-4000-8000-00000000000${digit}`, name: "Club" };
      const spaces = ["own", "shared"].map((name, index) => ({
        id: `0b00000${index}-0000-4000-8000-00000000000${digit}`,
        organisationId: organisation.id,
        name,
        domain: name === "own" ? `own-${digit}.example` : "shared.example",
      }));
      return { organisations: [organisation], spaces, projects: [], events: [] };
    });
    const ends = await Promise.allSettled(seeds.map(one => seedDirectory(store, one)));
    assert.deepEqual(ends.map(({ status }) => status).toSorted(), ["fulfilled", "rejected"]);
    const lost = seeds[ends.findIndex(({ status }) => status === "rejected")];
    const directory = createDirectory({ store, clock: clock.now });
    assert.equal(await directory.organisation(lost?.organisations[0]?.id ?? ""), null);
    const own = lost?.spaces[0]?.domain ?? "";
    const again = seeds
      .map(one => ({ ...one, spaces: one.spaces.slice(0, 1) }))
      .find(one => one.spaces[0]?.domain !== own);
    const heir = { ...again?.spaces[0], domain: own };
    await seedDirectory(store, { ...again, spaces: [heir] } as Seed);
    assert.equal((await directory.spaceOfHost(own))?.id, heir.id);
  });

  it("can be repeated, and replaces what changed", async t => {
    const store = await opened(t);
    await seedDirectory(store, seed);
    await seedDirectory(store, {
      ...seed,
      projects: seed.projects.map(project => ({ ...project, name: "New" })),
    });
    const directory = createDirectory({ store, clock: clock.now });
    assert.equal((await directory.project(ids.project))?.name, "New");
    assert.equal((await directory.event(ids.project, "current"))?.id, ids.event);
  });

  it("releases the previous domain of a space for others", async t => {
    const store = await opened(t);
    await seedDirectory(store, seed);
    const moved = [club, { ...rival, domain: "moved.example" }];
    await seedDirectory(store, { ...seed, spaces: moved });
    const directory = createDirectory({ store, clock: clock.now });
    assert.equal(await directory.spaceOfHost(rival.domain ?? ""), null);
    assert.equal((await directory.spaceOfHost("moved.example"))?.id, rival.id);
    await seedDirectory(store, {
      ...seed,
      spaces: [{ ...club, domain: rival.domain ?? "" }, ...moved.slice(1)],
    });
    clock.advance(1_000);
    assert.equal((await directory.spaceOfHost(rival.domain ?? ""))?.id, club.id);
  });

  it("makes ids lower-case, so that they are found however they were written", async t => {
    const store = await opened(t);
    const upper = JSON.parse(JSON.stringify(seed).replace(/0[a-e]0{6}-[0-9a-f-]+/g, id => id.toUpperCase()));
    assert.notDeepEqual(upper, seed);
    await seedDirectory(store, upper);
    const directory = createDirectory({ store, clock: clock.now });
    const project = await directory.project(ids.project);
    assert.deepEqual(
      [project?.id, project?.spaceId, project?.organisationId],
      [ids.project, ids.space, ids.organisation],
    );
    assert.equal((await directory.event(ids.project, ids.event))?.projectId, ids.project);
    assert.ok(await directory.loyalty(ids.space));
  });
});
