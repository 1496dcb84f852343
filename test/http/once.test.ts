/** Creations by authors, repeated under their key after the process died at any operation of the store. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { claimLeaseMs } from "../../lib/http/idempotency/idempotency.ts";
import { createPlatform, silentLogger } from "../../lib/mod.ts";
import { createDyingStore, moments } from "../support/dying_store.ts";
import { quickKernels } from "../support/kernels.ts";
import { ids, openPlatform, testSecret } from "../support/platform.ts";
import { errorCode } from "./_families.ts";

const to = (type: string, id: string) => ({ data: { type, id } });
const inProject = { project: to("projects", ids.project) };
const inOrganisation = { organisation: to("organisations", ids.organisation) };
const event = { type: "events", attributes: { name: "Final" }, relationships: inProject };
const space = { type: "spaces", attributes: { name: "Stadium" }, relationships: inOrganisation };
const both = [
  { op: "add", data: { ...event, lid: "e" } },
  {
    op: "add",
    data: {
      type: "elements",
      attributes: { content_type: "poll" },
      relationships: { event: { data: { type: "events", lid: "e" } } },
    },
  },
];

/** Path, body, status, and the lists on which the creations are shown with the number of records from before. */
const creations: Readonly<Record<string, [string, object, number, Readonly<Record<string, number>>]>> = {
  "an event": ["/events", { data: event }, 201, { [`/projects/${ids.project}/events`]: 1 }],
  "a space": ["/spaces", { data: space }, 201, { [`/organisations/${ids.organisation}/spaces`]: 1 }],
  "an event with its element": [
    "/operations",
    { "atomic:operations": both },
    200,
    { [`/projects/${ids.project}/events`]: 1 },
  ],
};

async function opened(t: TestContext) {
  const world = await openPlatform(async clock => createMemoryStore({ clock }));
  t.after(() => world.dispose());
  const { authors } = world.platform;
  const { id: userId } = await authors.findOrCreate("ann@club.example", { operator: true });
  const { token } = await authors.createToken({ userId, name: "Tests" });
  const request = (path: string, key: string | null, body?: object): Request =>
    new Request(`http://club.example/api/v2${path}`, {
      method: body === undefined ? "GET" : "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/vnd.api+json",
        ...(key === null ? {} : { "idempotency-key": key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  const count = async (path: string): Promise<number> => {
    const answer = await world.platform.fetch(request(path, null));
    return ((await answer.json()) as { data: unknown[] }).data.length;
  };
  return { world, request, count };
}

describe("a creation by an author", () => {
  for (const [name, [path, body, status, lists]] of Object.entries(creations)) {
    it(`of ${name} takes effect once, wherever the process dies`, async t => {
      const { world, request, count } = await opened(t);
      const before = Object.fromEntries(
        await Promise.all(Object.keys(lists).map(async list => [list, await count(list)] as const)),
      );
      let made = 0;
      for (let at = 0, isOver = false; !isOver; at++) {
        for (const when of moments) {
          const store = createDyingStore(world.store);
          const common = { secret: testSecret, passwordKernels: quickKernels(), clock: world.clock.now };
          const dying = await createPlatform({
            ...common,
            store,
            control: createControl,
            logger: silentLogger,
          });
          store.dieAt({ at, when });
          const key = `"${name} ${at} ${when}"`;
          const first = await dying.fetch(request(path, key, body));
          isOver = !store.isDead;
          world.clock.advance(claimLeaseMs);
          const again = await world.platform.fetch(request(path, key, body));
          assert.equal(again.status, status, `${key}: ${first.status}, then ${await again.clone().text()}`);
          made += 1;
          const shown = await again.json();
          const left = shown.data ?? shown["atomic:results"][0].data;
          for (const [list, number] of Object.entries(before)) {
            const { data } = (await (
              await world.platform.fetch(request(`${list}?page[count]=100`, null))
            ).json()) as {
              data: { id: string }[];
            };
            assert.equal(data.length, Number(number) + made, key);
            assert.ok(
              data.some(({ id }) => id === left.id),
              key,
            );
          }
        }
      }
      assert.ok(made > 10, `${made} deaths`);
    });
  }

  it("of a home is the same one under its key for good, and leaves what was changed since", async t => {
    const { world, request } = await opened(t);
    const create = async (body: object) => await world.platform.fetch(request("/spaces", "k", body));
    const { data } = await (await create({ data: space })).json();
    const { authorization = "" } = Object.fromEntries(request("/spaces", null).headers);
    const renamed = { data: { type: "spaces", id: data.id, attributes: { name: "Arena" } } };
    const headers = { authorization, "content-type": "application/vnd.api+json" };
    await world.call(`/api/v2/spaces/${data.id}`, { method: "PATCH", headers, body: renamed });
    world.clock.advance(25 * 3_600_000);
    const again = await (await create({ data: space })).json();
    assert.deepEqual([again.data.id, again.data.attributes.name], [data.id, "Arena"]);
    world.clock.advance(25 * 3_600_000);
    const other = await create({ data: { ...space, attributes: { name: "Another" } } });
    assert.equal(other.status, 422);
  });

  it("is refused under the key of another one, also where its reply was lost", async t => {
    const { world, request } = await opened(t);
    const other = { data: { ...event, attributes: { name: "Another" } } };
    const store = createDyingStore(world.store);
    const common = { secret: testSecret, passwordKernels: quickKernels(), clock: world.clock.now };
    const dying = await createPlatform({ ...common, store, control: createControl, logger: silentLogger });
    assert.equal((await dying.fetch(request("/events", null, { data: event }))).status, 201);
    store.dieAt({ at: Number.MAX_SAFE_INTEGER, when: "after" });
    assert.equal((await dying.fetch(request("/events", "k-0", { data: event }))).status, 201);
    const operations = store.operations;
    // The last operation stores the reply.
    store.dieAt({ at: operations - 1, when: "before" });
    assert.equal((await dying.fetch(request("/events", "k-1", { data: event }))).status, 201);
    assert.ok(store.isDead);
    world.clock.advance(claimLeaseMs);
    const answer = await world.call("/api/v2/events", {
      headers: Object.fromEntries(request("/events", "k-1", other).headers),
      body: other,
    });
    assert.deepEqual([answer.status, errorCode(answer, "jsonApi" as never)], [422, "idempotency_mismatch"]);
  });
});
