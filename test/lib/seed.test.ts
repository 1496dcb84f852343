import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { createDirectory } from "../../lib/fans/directory/directory.ts";
import { type Seed, seedPlatform } from "../../lib/mod.ts";
import { ids, seed } from "../support/platform.ts";

async function refusedAt(document: Seed): Promise<string[]> {
  await using store = createMemoryStore();
  try {
    await seedPlatform(store, document);
    return [];
  } catch (error) {
    assert.ok(error instanceof AppError && error.code === "validation_failed");
    const directory = createDirectory({ store, clock: Date.now });
    assert.equal(await directory.project(ids.project), null, "nothing was written");
    return (error.fields ?? []).map(({ pointer }) => pointer);
  }
}

const [project, ...others] = seed.projects;
const [event] = seed.events;
if (project === undefined || event === undefined) throw new Error("The seed has no project or event");
const withBoards = (settings: Record<string, unknown>): Seed => ({
  ...seed,
  projects: [{ ...project, settings }, ...others],
});

describe("the seed of a platform", () => {
  it("may declare boards of projects and events", async () => {
    assert.deepEqual(await refusedAt(seed), []);
    const leaderboards = [{ id: "daily", seasons: { type: "daily", timeZone: "Asia/Kathmandu" } }];
    assert.deepEqual(await refusedAt(withBoards({ leaderboards })), []);
  });

  it("is refused with the places of what it lacks", async () => {
    const { events: _, ...eventless } = seed;
    assert.deepEqual(await refusedAt(eventless as Seed), ["/events"]);
    assert.deepEqual(await refusedAt({ loyalty: {} } as unknown as Seed), [
      "/organisations",
      "/spaces",
      "/projects",
      "/events",
    ]);
    assert.deepEqual(await refusedAt(null as unknown as Seed), [""]);
    const shapeless = { ...seed, projects: [null], loyalty: 5 } as unknown as Seed;
    assert.deepEqual(await refusedAt(shapeless), ["/projects/0", "/loyalty"]);
  });

  it("is refused with the place of every fault in the settings of all areas, at once", async () => {
    const location = { alow: ["DE"] };
    const faulty = {
      ...withBoards({
        location,
        leaderboards: [{ id: "daily", order: "up" }],
        identity: { registration: 1 },
      }),
      events: [{ ...event, settings: { location: { allow: ["Germany"] } } }],
      spaces: seed.spaces.map(space => ({ ...space, settings: { defaultProjectId: "x" } })),
      organisations: seed.organisations.map(one => ({
        ...one,
        settings: { audience: { customFields: { shirt: { type: "text" } } }, exports: { webhook: {} } },
      })),
    };
    const places = await refusedAt(faulty);
    for (const place of [
      "/projects/0/settings/location/alow",
      "/projects/0/settings/leaderboards/0/order",
      "/projects/0/settings/identity/registration",
      "/events/0/settings/location/allow/0",
      "/spaces/0/settings/defaultProjectId",
      "/organisations/1/settings/exports/webhook/url",
    ]) {
      assert.ok(places.includes(place), `${place} of ${places.join(" ")}`);
    }
    assert.ok(places.some(place => place.startsWith("/organisations/0/settings/audience/customFields")));
  });

  it("is refused with the place of every fault in identity settings", async () => {
    const faultsOf = (identity: unknown): Promise<string[]> => refusedAt(withBoards({ identity }));
    const at = "/projects/0/settings/identity";
    assert.deepEqual(await faultsOf({ providers: ["managedPool"], registration: "closed" }), []);
    assert.deepEqual(await faultsOf({ providers: ["managedpool"] }), [`${at}/providers/0`]);
    assert.deepEqual(await faultsOf({ recoveryauth: "optional", registration: "no" }), [
      `${at}/registration`,
      `${at}/recoveryauth`,
    ]);
    assert.deepEqual(await faultsOf({ hostedIdp: { issuer: "http://login.example", audience: "a" } }), [
      `${at}/hostedIdp/issuer`,
    ]);
    for (const identity of [[], "open", 5]) assert.deepEqual(await faultsOf(identity), [at]);
    const spaces = seed.spaces.map((space, index) =>
      index === 0 ? { ...space, settings: { issuer: {}, defaultProjectId: "x" } } : space,
    );
    assert.deepEqual(await refusedAt({ ...seed, spaces }), [
      "/spaces/0/settings/issuer/issuer",
      "/spaces/0/settings/issuer/audience",
      "/spaces/0/settings/defaultProjectId",
    ]);
  });

  it("moves no space or project to another organisation", async () => {
    await using store = createMemoryStore();
    await seedPlatform(store, seed);
    const settings = { changed: true };
    const owner = { id: ids.otherOrganisation, name: "Renamed", settings };
    const space = { id: ids.space, organisationId: owner.id, name: "Taken" };
    const taken = { ...project, spaceId: ids.space, organisationId: owner.id };
    const spaces = [{ id: ids.otherSpace, organisationId: owner.id, name: "Own" }, space];
    await assert.rejects(
      seedPlatform(store, { organisations: [owner], spaces, projects: [taken], events: [] }),
      (error: unknown) => {
        assert.ok(error instanceof AppError && error.code === "conflict");
        const pointers = error.fields?.map(({ pointer }) => pointer);
        assert.deepEqual(pointers, ["/spaces/1/organisationId", "/projects/0/organisationId"]);
        return true;
      },
    );
    const directory = createDirectory({ store, clock: Date.now });
    assert.equal((await directory.space(ids.space))?.organisationId, ids.organisation);
    assert.equal((await directory.project(ids.project))?.organisationId, ids.organisation);
    assert.notEqual((await directory.organisation(owner.id))?.name, "Renamed");
  });

  it("is refused where an export would be told of over http in public", async () => {
    const withExports = (url: string): Seed => ({
      ...seed,
      organisations: seed.organisations.map(one => ({ ...one, settings: { exports: { webhook: { url } } } })),
    });
    assert.deepEqual(await refusedAt(withExports("https://crm.example/")), []);
    assert.deepEqual(await refusedAt(withExports("http://crm.example/")), [
      "/organisations/0/settings/exports/webhook/url",
      "/organisations/1/settings/exports/webhook/url",
    ]);
  });

  it("is refused with the place of every fault of its boards", async () => {
    const source = { type: "action", action: "goal", when: { eq: [{ var: "user.metrics.points" }, 1] } };
    const settings = {
      leaderboards: [{ id: "a", shards: 3 }, { id: "b" }, { id: "c", order: "up" }],
      eventLeaderboards: [{ id: "d", source }],
    };
    assert.deepEqual(await refusedAt(withBoards(settings)), [
      "/projects/0/settings/leaderboards/0/shards",
      "/projects/0/settings/leaderboards/2/order",
      "/projects/0/settings/eventLeaderboards/0/source/when/eq/0/var",
    ]);
    const events = [{ ...event, settings: { leaderboards: {} } }];
    assert.deepEqual(await refusedAt({ ...seed, events }), ["/events/0/settings/leaderboards"]);
  });
});
