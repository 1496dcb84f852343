/** Access tokens of the control API: their limits, their repeated requests, and their end. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { setImmediate } from "node:timers/promises";
import { createMemoryLimiter } from "../../adapters/memory/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { createPlatform, type PlatformOptions, silentLogger } from "../../lib/mod.ts";
import { ids, openPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { until } from "../support/until.ts";
import { resource, to } from "./_control_examples.ts";

/** The time within which every process has to know of a change, in ms. */
const freshMs = 999;

describeOnStores("access tokens", open => {
  async function opened(t: TestContext, options: Partial<PlatformOptions> = {}) {
    const world = await openPlatform(open, options);
    t.after(() => world.dispose());
    const { authors } = world.platform;
    const operator = await authors.findOrCreate("op@example.com", { operator: true });
    const issue = async (userId = operator.id) => {
      const { id, token } = await authors.createToken({ userId, name: "Test" });
      return { id, token, userId };
    };
    return { world, issue };
  }

  it("have a budget each, which answers show", async t => {
    const limiter = createMemoryLimiter({ clock: () => 0 });
    const { world, issue } = await opened(t, { limiter });
    const [{ token }, other] = [await issue(), await issue()];
    const answers = await Promise.all(Array.from({ length: 121 }, () => world.call("/api/v2/me", { token })));
    assert.equal(answers.filter(({ status }) => status === 200).length, 120);
    const refused = answers.find(({ status }) => status === 429);
    assert.equal(refused?.headers.get("ratelimit-policy"), '"control";q=120;w=6');
    assert.match(refused?.headers.get("retry-after") ?? "", /^\d+$/);
    const free = await world.call("/api/v2/me", { token: other.token });
    assert.equal(free.headers.get("ratelimit"), '"control";r=119;t=7');
  });

  it("may have the budget of 15 instead", async t => {
    const limiter = createMemoryLimiter({ clock: () => 0 });
    const { world, issue } = await opened(t, {
      limiter,
      rateLimits: { control: "off", "control-strict": "on" },
    });
    const { token } = await issue();
    const answers = await Promise.all(Array.from({ length: 16 }, () => world.call("/api/v2/me", { token })));
    assert.equal(answers.filter(({ status }) => status === 429).length, 1);
  });

  it("open with their whole text alone, also while they are in memory", async t => {
    const { world, issue } = await opened(t);
    const [{ token }, other] = [await issue(), await issue()];
    const [, id, secret] = /^gst_([0-9a-f]+)_(.+)$/.exec(token) ?? [];
    const [, , strange = ""] = /^gst_([0-9a-f]+)_(.+)$/.exec(other.token) ?? [];
    const status = async (text: string) => (await world.call("/api/v2/me", { token: text })).status;
    for (const round of ["unknown", "known"]) {
      assert.equal(await status(`gst_${id}_${strange}`), 401, round);
      assert.equal(await status(`gst_${id}_${secret?.toLowerCase()}`), 401, round);
      assert.equal(await status(token), 200, round);
    }
  });

  it("expire to the second, also while they are in memory", async t => {
    const { world } = await opened(t);
    const { authors } = world.platform;
    const user = await authors.findOrCreate("op@example.com");
    const expires = Math.floor(world.clock.now() / 1_000) + 1;
    const { token } = await authors.createToken({ userId: user.id, name: "Brief", expires });
    world.clock.advance(expires * 1_000 - 1 - world.clock.now());
    assert.equal((await world.call("/api/v2/me", { token })).status, 200);
    world.clock.advance(1);
    const late = await world.call("/api/v2/me", { token });
    assert.deepEqual([late.status, late.json.errors[0].code], [401, "token_expired"]);
  });

  it("say when they were used last, noted once a minute at most and never once they are revoked", async t => {
    let notes = 0;
    const world = await openPlatform(async clock => {
      const store = await open(clock);
      const { commit } = store;
      const counted = async (...[partition, change]: Parameters<typeof commit>) => {
        const done = await commit.call(store, partition, change);
        if (done.ok && change.writes.some(write => write.type === "put" && write.key === "use")) notes++;
        return done;
      };
      return Object.assign(store, { commit: counted });
    });
    t.after(() => world.dispose());
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate("op@example.com");
    const [used, idle] = [
      await authors.createToken({ userId, name: "Used" }),
      await authors.createToken({ userId, name: "Idle" }),
    ];
    const listed = async (): Promise<readonly (number | null)[]> => {
      const { json } = await world.call("/api/v2/access_tokens", { token: used.token });
      return json.data.map(
        ({ attributes }: { attributes: { last_used_at: number | null } }) => attributes.last_used_at,
      );
    };
    const first = Math.floor(world.clock.now() / 1_000);
    await listed();
    await until("the use is noted", () => notes === 1);
    assert.deepEqual(await listed(), [first, null]);
    world.clock.advance(59_000);
    await listed();
    await listed();
    await setImmediate();
    assert.deepEqual([await listed(), notes], [[first, null], 1]);
    world.clock.advance(1_000);
    await listed();
    await until("a minute later", () => notes === 2);
    assert.deepEqual(await listed(), [first + 60, null]);
    await world.call("/api/v2/me", { token: idle.token });
    await until("the other is noted", () => notes === 3);
    world.clock.advance(60_000);
    await Promise.all([
      world.call("/api/v2/me", { token: idle.token }),
      authors.revokeToken(userId, idle.id),
    ]);
    await setImmediate();
    const [left] = await world.store.read(`g:access_token:${idle.id}`, [{ type: "record", key: "use" }]);
    assert.equal(left, null);
  });

  it("make a change once for each idempotency key", async t => {
    const { world, issue } = await opened(t);
    const { token } = await issue();
    const relationships = { project: to("projects", ids.project) };
    const create = (name: string, headers = { "idempotency-key": "k-1" }) =>
      world.call("/api/v2/events", { token, headers, body: resource("events", { name }, { relationships }) });
    const first = await create("Match");
    assert.equal(first.status, 201, first.text);
    const again = await create("Match");
    assert.deepEqual([again.status, again.json], [201, first.json]);
    assert.equal(again.headers.get("idempotent-replayed"), "true");
    assert.equal(again.headers.get("location"), first.headers.get("location"));
    const other = await create("Final");
    assert.deepEqual([other.status, other.json.errors[0].code], [422, "idempotency_mismatch"]);
    const { id } = first.json.data;
    const change = { method: "PATCH", token, headers: { "idempotency-key": "k-2" } };
    const body = resource("events", { action: "start" });
    assert.equal((await world.call(`/api/v2/events/${id}`, { ...change, body })).status, 204);
    const repeated = await world.call(`/api/v2/events/${id}`, { ...change, body });
    assert.deepEqual([repeated.status, repeated.headers.get("idempotent-replayed")], [204, "true"]);
  });

  it("never have their secrets stored for repeated requests", async t => {
    const { world, issue } = await opened(t);
    const { token } = await issue();
    const options = { token, headers: { "idempotency-key": "k-3" } };
    const body = resource("access_tokens", { name: "Pipeline" });
    const [first, second] = [
      await world.call("/api/v2/access_tokens", { ...options, body }),
      await world.call("/api/v2/access_tokens", { ...options, body }),
    ];
    assert.notEqual(first.json.data.attributes.token, second.json.data.attributes.token);
  });

  it("are read again together with their owners", async t => {
    const trips: string[][] = [];
    const world = await openPlatform(async clock => {
      const store = await open(clock);
      const { read } = store;
      let waiting = 0;
      // What is asked for at once is one round trip.
      const counted = async (...[partition, queries]: Parameters<typeof read>) => {
        if (waiting++ === 0) trips.push([]);
        trips.at(-1)?.push(partition);
        await setImmediate();
        waiting--;
        return await read.call(store, partition, queries);
      };
      return Object.assign(store, { read: counted });
    });
    t.after(() => world.dispose());
    const { authors } = world.platform;
    const { id: userId } = await authors.findOrCreate("op@example.com");
    const { token } = await authors.createToken({ userId, name: "Test" });
    const tripsOf = async () => {
      trips.length = 0;
      assert.equal((await world.call("/api/v2/me", { token })).status, 200);
      return trips.map(({ length }) => length);
    };
    assert.deepEqual(await tripsOf(), [1, 1]);
    assert.deepEqual(await tripsOf(), []);
    world.clock.advance(1_000);
    assert.deepEqual(await tripsOf(), [2]);
  });

  it("and roles end within a second in every process", async t => {
    const { world, issue } = await opened(t);
    const { store, clock } = world;
    const elsewhere = await createPlatform({
      ...{
        store,
        secret: testSecret,
        clock: clock.now,
        limiter: "off",
        logger: silentLogger,
        control: createControl,
      },
    });
    t.after(() => elsewhere.close());
    const status = async (path: string, token: string): Promise<number> => {
      const headers = { authorization: `Bearer ${token}` };
      return (await elsewhere.fetch(new Request(`http://club.example/api/v2${path}`, { headers }))).status;
    };
    const operator = await issue();
    const sam = await world.platform.authors.findOrCreate("sam@example.com");
    const { token } = await issue(sam.id);
    const roles = `/api/v2/projects/${ids.project}/roles`;
    const body = resource("scope_roles", { email: "sam@example.com", role: "viewer" });
    const granted = await world.call(roles, { token: operator.token, body });
    const project = `/projects/${ids.project}`;
    assert.equal(await status(project, token), 200);
    const path = `/api/v2/scope_roles/${granted.json.data.id}`;
    assert.equal((await world.call(path, { method: "DELETE", token: operator.token })).status, 204);
    assert.equal((await world.call(`/api/v2${project}`, { token })).status, 404);
    clock.advance(freshMs);
    assert.equal(await status(project, token), 404);
    const spare = await issue(sam.id);
    assert.equal(await status("/me", spare.token), 200);
    const revoked = await world.call(`/api/v2/access_tokens/${spare.id}`, { method: "DELETE", token });
    assert.equal(revoked.status, 204, revoked.text);
    assert.equal((await world.call("/api/v2/me", { token: spare.token })).status, 401);
    clock.advance(freshMs);
    assert.equal(await status("/me", spare.token), 401);
  });
});
