/** What the control API writes of organisations, spaces and projects, and what fans see of it. */

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { directoryPartition } from "../../lib/fans/directory/records.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { createDyingStore, moments } from "../support/dying_store.ts";
import { sampleSize } from "../support/full.ts";
import { type Answer, ids, openPlatform, otherHost, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores, type OpenStore } from "../support/stores.ts";
import { operatorHeaders } from "./_control_examples.ts";

type Attributes = Readonly<Record<string, unknown>>;

const typeOf = (path: string): string => path.split("/")[1] ?? "";
const settingOf = (text: string) => [{ key: "texts", values: { all: text } }];
const digestOf = (text: string): string =>
  `sha256:${createHash("sha256")
    .update(`[{"key":"texts","values":{"all":${JSON.stringify(text)}}}]`)
    .digest("hex")}`;

describeOnStores("tenants in the control API", open => {
  async function opened(t: TestContext, store: OpenStore = open) {
    const world = await openPlatform(store);
    t.after(() => world.dispose());
    return { world, ...(await author(world)) };
  }

  /** Opens another process on the store of a platform. */
  async function secondProcess(world: TestPlatform): Promise<TestPlatform> {
    const store = { ...lend(world.store), [Symbol.asyncDispose]: async () => {} };
    return await openPlatform(async () => store, { clock: world.clock.now, seed: nothing });
  }

  async function author(world: TestPlatform) {
    const headers = await operatorHeaders(world);
    const get = (path: string) => world.call(`/api/v2${path}`, { headers });
    const patch = (path: string, attributes: Attributes, more: Attributes = {}): Promise<Answer> =>
      world.call(`/api/v2${path}`, {
        method: "PATCH",
        body: { data: { type: typeOf(path), attributes } },
        headers: { ...headers, ...more } as Record<string, string>,
      });
    const post = (path: string, body: unknown) => world.call(`/api/v2${path}`, { body, headers });
    return { get, patch, post };
  }

  const partition = directoryPartition("project", ids.project);
  const project = `/projects/${ids.project}`;
  const space = `/spaces/${ids.space}`;

  it("keeps 4 MiB of settings, with digest and size", async t => {
    const { get, patch, world } = await opened(t);
    const empty = await get(project);
    assert.deepEqual(empty.json.data.attributes.settings, []);
    assert.equal(empty.json.data.meta.settings_bytes, 2);
    const frame = JSON.stringify(settingOf("")).length;
    const text = 'é"'.repeat((4 * 1_048_576 - frame) / 4);
    const settings = settingOf(text);
    assert.equal((await patch(project, { settings })).status, 204);
    const answer = await get(project);
    assert.deepEqual(answer.json.data.attributes.settings, settings);
    assert.equal(answer.json.data.meta.settings_digest, digestOf(text));
    assert.equal(answer.json.data.meta.settings_bytes, Buffer.byteLength(JSON.stringify(settings)));
    const [record] = await world.store.read(partition, [{ type: "record", key: "project" }]);
    assert.ok((record?.value.length ?? 0) < 4_000, "the fan side reads no settings of the app");
    const larger = await patch(project, { settings: settingOf(`${text}12345`) });
    assert.equal(larger.status, 422, larger.text);
    assert.equal(larger.json.errors[0].source.pointer, "/data/attributes/settings");
    const tried = await world.call(`/api/v2${project}?dry_run=true`, {
      method: "PATCH",
      body: { data: { type: "projects", attributes: { settings: settingOf("tried") } } },
      headers: await operatorHeaders(world),
    });
    assert.deepEqual(tried.json.data.attributes.settings, settingOf("tried"), tried.text);
    const same = await patch(project, { settings });
    assert.equal(same.headers.get("etag"), answer.headers.get("etag"), "equal settings are no change");
    assert.deepEqual((await get(project)).json.data.attributes.settings, settings);
  });

  it("shows readers the settings before or after a change, and keeps no old parts", async t => {
    const { world, get, patch } = await opened(t);
    const texts = ["a", "b", "c"].map(letter => letter.repeat(600_000));
    const values = new Map(texts.map(text => [text, digestOf(text)]));
    await patch(project, { settings: settingOf(texts[0] ?? "") });
    let isDone = false;
    const changes = (async () => {
      for (let index = 1; index < sampleSize(24, 8); index++)
        assert.equal((await patch(project, { settings: settingOf(texts[index % 3] ?? "") })).status, 204);
      isDone = true;
    })();
    while (!isDone) {
      // Reads of a store in memory end before anything else gets its turn.
      await setImmediate();
      const { json } = await get(project);
      const text = json.data.attributes.settings[0].values.all;
      assert.equal(json.data.meta.settings_digest, values.get(text));
    }
    await changes;
    await patch(project, { settings: [] });
    const [staged] = await world.store.read(partition, [
      { type: "board", key: "staged_settings", limit: 10 },
    ]);
    assert.equal(staged.size, 0);
  });

  it("keeps settings whole wherever a process dies, and removes what it left", async t => {
    for (const when of moments) {
      for (let at = 0; ; at++) {
        const { world, patch } = await opened(t);
        const before = settingOf("old");
        assert.equal((await patch(project, { settings: before })).status, 204);
        const dying = createDyingStore(world.store);
        const doomed = await openPlatform(async () => dying, { clock: world.clock.now, seed: nothing });
        const other = await author(doomed);
        dying.dieAt({ at, when });
        await other.patch(project, { settings: settingOf("x".repeat(2_000_000)) });
        world.clock.advance(601_000);
        await world.platform.work();
        const seen = (await (await author(world)).get(project)).json.data;
        assert.ok([3, 2_000_000].includes(seen.attributes.settings[0].values.all.length));
        const [staged] = await world.store.read(partition, [
          { type: "board", key: "staged_settings", limit: 10 },
        ]);
        assert.equal(staged.size, 0, `${when} ${at}`);
        await doomed.platform.close();
        if (!dying.isDead) break;
      }
    }
  });

  it("gives a domain to one space, and the one before up", async t => {
    const { world, patch, post, get } = await opened(t);
    const taken = await patch(space, { domain: otherHost });
    assert.equal(taken.status, 409, taken.text);
    assert.equal(taken.json.errors[0].source.pointer, "/data/attributes/domain");
    assert.equal((await patch(space, { domain: "one.example" })).status, 204);
    assert.equal((await patch(space, { domain: "two.example" })).status, 204);
    const inOrganisation = {
      relationships: { organisation: { data: { type: "organisations", id: ids.organisation } } },
    };
    const create = (domain: string) =>
      post("/spaces", { data: { type: "spaces", attributes: { name: "Heir", domain }, ...inOrganisation } });
    assert.equal((await create("two.example")).status, 409);
    const heir = await create("one.example");
    assert.equal(heir.status, 201, heir.text);
    world.clock.advance(1_000);
    assert.equal((await get(`/spaces/${heir.json.data.id}`)).json.data.attributes.domain, "one.example");
    assert.equal((await patch(space, { domain: null })).status, 204);
    assert.equal((await create("two.example")).status, 201);
  });

  it("gives a claim up when the change fails", async t => {
    const { patch } = await opened(t);
    const failed = await patch(space, { domain: "new.example" }, { "if-match": '"v99"' });
    assert.equal(failed.status, 412, failed.text);
    assert.equal((await patch(`/spaces/${ids.otherSpace}`, { domain: "new.example" })).status, 204);
  });

  it("leaves no domain taken by a process that died", async t => {
    for (const when of moments) {
      for (let at = 0; ; at++) {
        const { world, patch, get } = await opened(t);
        assert.equal((await patch(space, { domain: "old.example" })).status, 204);
        const dying = createDyingStore(world.store);
        const doomed = await openPlatform(async () => dying, { clock: world.clock.now, seed: nothing });
        const other = await author(doomed);
        dying.dieAt({ at, when });
        await other.patch(space, { domain: "new.example" });
        world.clock.advance(61_000);
        const own = (await get(space)).json.data.attributes.domain;
        const free = own === "old.example" ? "new.example" : "old.example";
        assert.equal((await patch(`/spaces/${ids.otherSpace}`, { domain: own })).status, 409);
        const given = await patch(`/spaces/${ids.otherSpace}`, { domain: free });
        assert.equal(given.status, 204, `${when} ${at}: ${given.text}`);
        await doomed.platform.close();
        if (!dying.isDead) break;
      }
    }
  });

  it("joins services by section, and tells the faults of each area", async t => {
    const { get, patch } = await opened(t);
    const old = (await get(project)).json.data.attributes.services;
    assert.equal((await patch(project, { services: { location: null, custom: { a: 1 } } })).status, 204);
    const { location: _, ...kept } = old;
    assert.deepEqual((await get(project)).json.data.attributes.services, { ...kept, custom: { a: 1 } });
    const faults: [path: string, services: unknown, pointer: string][] = [
      [project, { leaderboards: [{ id: "x y" }] }, "leaderboards/0/id"],
      [project, { eventLeaderboards: 1 }, "eventLeaderboards"],
      [project, { location: { allow: ["Germany"] } }, "location/allow/0"],
      [project, { identity: { hostedIdp: {} } }, "identity/hostedIdp/"],
      [space, { issuer: { issuer: 1 } }, "issuer/"],
      [space, { defaultProjectId: "x" }, "defaultProjectId"],
      [`/organisations/${ids.organisation}`, { audience: { customFields: { a: {} } } }, "audience/"],
      [`/organisations/${ids.organisation}`, { exports: { webhook: {} } }, "exports/"],
    ];
    for (const [path, services, pointer] of faults) {
      const refused = await patch(path, { services });
      assert.equal(refused.status, 422, `${path} ${JSON.stringify(services)}: ${refused.text}`);
      for (const { source } of refused.json.errors)
        assert.ok(source.pointer.startsWith(`/data/attributes/services/${pointer}`), source.pointer);
    }
  });

  it("lets other processes act on services within a second", async t => {
    const { world, patch } = await opened(t);
    const other = await secondProcess(world);
    t.after(() => other.platform.close());
    const status = async (path: string, options = {}) => (await other.call(path, options)).status;
    const location = `/v1/locations/projects/${ids.project}/check`;
    const board = `/projects/${ids.project}/leaderboards/fresh`;
    const selector = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
    const register = () => status("/v1/user", { body: { ...selector, data: { username: "sam" } } });
    const fan = await world.fan("Kim");
    const wear = (cap: string) =>
      status("/v1/api/audience/profile", {
        method: "PATCH",
        token: fan.token,
        headers: {
          "x-platform-org-id": ids.organisation,
          "content-type": "application/merge-patch+json",
          "if-match": "*",
        },
        body: { customFields: { cap } },
      });
    assert.deepEqual(
      [await status(location), await status(board), await register(), await wear("red")],
      [200, 400, 200, 400],
    );
    const changed = await patch(project, {
      services: {
        location: { unknownLocation: "deny" },
        leaderboards: [{ id: "fresh" }],
        identity: { providers: ["managedPool"] },
      },
    });
    assert.equal(changed.status, 204, changed.text);
    const fields = { audience: { customFields: { cap: { type: "string" } } } };
    assert.equal((await patch(`/organisations/${ids.organisation}`, { services: fields })).status, 204);
    world.clock.advance(1_000);
    assert.deepEqual([await status(location), await status(board), await wear("red")], [403, 200, 200]);
    assert.ok((await register()) >= 400);
  });

  it("keeps what the control API wrote when a seed is applied again", async t => {
    const { world, get, patch } = await opened(t);
    await patch(project, {
      settings: settingOf("kept"),
      locales: ["es"],
      services: { custom: 1, location: { deny: ["FR"] } },
    });
    await patch(space, { domain: "mine.example", annotations: { note: "kept" } });
    await patch(`/events/${ids.event}`, { name: "Final" });
    const { etag } = (await get(project)).json.data.meta;
    await seedDirectory(world.store, seed, { clock: world.clock.now });
    world.clock.advance(1_000);
    const { attributes, meta } = (await get(project)).json.data;
    assert.deepEqual(attributes.settings, settingOf("kept"));
    assert.deepEqual(attributes.locales, ["es"]);
    assert.equal(attributes.services.custom, 1);
    assert.deepEqual(attributes.services.location, { unknownLocation: "allow" }, "the seed names it");
    assert.notEqual(meta.etag, etag);
    const { domain, annotations } = (await get(space)).json.data.attributes;
    assert.deepEqual([domain, annotations], ["mine.example", { note: "kept" }]);
    assert.equal((await get(`/events/${ids.event}`)).json.data.attributes.name, "Match");
  });
});

const nothing = { organisations: [], spaces: [], projects: [], events: [] };

/** A store without its end, for another process. */
function lend(store: TestPlatform["store"]) {
  const { traits } = store;
  return {
    traits,
    read: store.read.bind(store),
    commit: store.commit.bind(store),
    ping: store.ping.bind(store),
  };
}
