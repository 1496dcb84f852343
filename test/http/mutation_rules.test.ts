/** Rules of every mutation that the OpenAPI document lists: dry runs, idempotency keys and `If-Match`. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { definitionOf } from "../../lib/authoring/table/table.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import type { Batch, Commit, Partition, Store } from "../../lib/storage/mod.ts";
import { createTestClock } from "../support/clock.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";
import {
  credentialsFor,
  type Example,
  examplesFor,
  newKey,
  type Operation,
  operationsOf,
  send,
  targetOf,
  validExamples,
} from "./_operations.ts";

type Headers = Readonly<Record<string, string>>;

/** Runs in place of a commit. */
type Intercept = (partition: Partition, batch: Batch, pass: () => Promise<Commit>) => Promise<Commit>;

/** Opens a platform on a store whose commits a test can intercept, and another process on the same store. */
async function opened(t: TestContext) {
  const intercepted: { by: Intercept | null } = { by: null };
  const clock = createTestClock();
  const shared = createMemoryStore({ clock: clock.now });
  const intercepting: Store = {
    ...lent(shared),
    commit: (partition, batch) => {
      const pass = () => shared.commit(partition, batch);
      return intercepted.by === null ? pass() : intercepted.by(partition, batch, pass);
    },
  };
  const world = await openPlatform(async () => intercepting, { clock: clock.now });
  const empty = { organisations: [], spaces: [], projects: [], events: [] };
  const other = await openPlatform(async () => lent(shared), { clock: clock.now, seed: empty });
  t.after(async () => {
    await other.dispose();
    await world.dispose();
  });
  return { world, other, operations: await operationsOf(world), intercepted };
}

/** The store as one of its processes reaches it. */
function lent(store: Store): Store {
  return {
    traits: store.traits,
    read: store.read.bind(store),
    commit: store.commit.bind(store),
    ping: store.ping.bind(store),
    [Symbol.asyncDispose]: async () => {},
  };
}

/** Returns a request of a caller with the operation's scheme, if one of the examples is such. */
function exampleOf(operation: Operation, examples: Awaited<ReturnType<typeof validExamples>>): Example {
  const all = examplesFor(operation, examples);
  return (
    all.find(({ headers }) => headers?.authorization !== undefined) ?? all[0] ?? assert.fail(operation.id)
  );
}

/** POSTs that change nothing, beside the mutations with `dry_run`. */
const readOnly: ReadonlySet<string> = new Set(["tryAction", "searchAudienceUsers", "validateSpecUrl"]);

describe("a dry run", () => {
  it("writes nothing, whatever it tries", async t => {
    const { world, operations, intercepted } = await opened(t);
    const tried = operations.filter(
      ({ id, queryNames }) => queryNames.includes("dry_run") || readOnly.has(id),
    );
    assert.ok(tried.length > 40, `${tried.length} operations`);
    const examples = await validExamples(world);
    for (const operation of tried) {
      const { query, ...example } = exampleOf(operation, examples);
      const isDry = operation.queryNames.includes("dry_run");
      const headers = { ...(await credentialsFor(operation.scheme, world)), ...example.headers };
      const written: string[] = [];
      intercepted.by = async (partition, { writes }) => {
        written.push(...writes.map(({ key }) => `${key} of ${partition}`));
        throw new AppError("storage_unavailable", "Cannot write in a dry run");
      };
      const tries = { ...example, query: isDry ? { ...query, dry_run: "true" } : query };
      const answer = await send(world, operation, { example: tries, headers });
      intercepted.by = null;
      assert.deepEqual(written, [], operation.id);
      assert.equal(answer.status, 200, `${operation.id}: ${answer.text}`);
    }
  });
});

/** Creates callers of a scheme who may do the same. */
async function twins(world: TestPlatform, scheme: string | null): Promise<readonly Headers[]> {
  if (scheme === "apiKey") {
    const keys = await Promise.all([newKey(world), newKey(world)]);
    return keys.map(({ key, secret }) => ({ "x-api-key": key, "x-api-secret": secret }));
  }
  if (scheme === "spaceToken") {
    const fans = [await world.fan("Ann"), await world.fan("Ben")];
    return fans.map(({ token }) => ({ authorization: `Bearer ${token}` }));
  }
  const { authors } = world.platform;
  const operators = ["ann@club.example", "ben@club.example"].map(async email => {
    const { id: userId } = await authors.findOrCreate(email, { operator: true });
    return (await authors.createToken({ userId, name: "Twin" })).token;
  });
  return (await Promise.all(operators)).map(token => ({ authorization: `Bearer ${token}` }));
}

describe("an idempotency key", () => {
  it("is its caller's alone: the same request of another one is carried out by itself", async t => {
    const { world, operations } = await opened(t);
    const { json } = await world.call("/openapi.json");
    const keyed = operations.filter(({ method, path }) =>
      json.paths[path][method.toLowerCase()].parameters.some(
        ({ name }: { readonly name: string }) => name === "Idempotency-Key",
      ),
    );
    assert.ok(keyed.length > 40, `${keyed.length} operations`);
    for (const operation of keyed) {
      // Operations before may have used up the records.
      const { headers: own = {}, ...example } = exampleOf(operation, await validExamples(world));
      const [first = {}, second = {}] = await twins(world, operation.scheme);
      const ask = (caller: Headers): Promise<Answer> =>
        send(world, operation, {
          example,
          headers: { ...own, ...caller, "idempotency-key": `"${operation.id}"` },
        });
      const theirs = await ask(first);
      const others = await ask(second);
      assert.equal(others.headers.get("idempotent-replayed"), null, operation.id);
      if (theirs.status === 201 && others.status === 201)
        assert.notEqual(others.json.data.id, theirs.json.data.id, operation.id);
      // Authors are told apart in the commit as well, where no reply was stored.
      if (theirs.status === 201)
        assert.ok([201, 409].includes(others.status), `${operation.id}: ${others.text}`);
    }
  });

  it("of an author does not reach what the same key made in another space or organisation", async t => {
    const { world } = await opened(t);
    const headers = { ...(await operatorHeaders(world)), "idempotency-key": '"k"' };
    const event = (projectId: string) =>
      resource("events", { name: "Final" }, { relationships: { project: to("projects", projectId) } });
    const first = await world.call("/api/v2/events", { headers, body: event(ids.project) });
    assert.equal(first.status, 201, first.text);
    const again = await world.call("/api/v2/events", { headers, body: event(ids.project) });
    assert.equal(again.json.data.id, first.json.data.id);
    const elsewhere = await world.call("/api/v2/events", { headers, body: event(ids.otherProject) });
    assert.equal(elsewhere.status, 422, elsewhere.text);
    assert.ok(!elsewhere.text.includes(first.json.data.id), elsewhere.text);
  });
});

/** Returns what another author changes of a record. */
function rivalAttributes(type: string, text: string): object {
  const attributes = definitionOf(type)?.attributes ?? {};
  if ("annotations" in attributes) return { annotations: { rival: text } };
  return { ["name" in attributes ? "name" : "alt_text"]: text };
}

/** Types whose records never change, or cannot be read alone. */
const untagged: ReadonlySet<string> = new Set(["access_tokens", "apps", "scope_roles"]);

/** Returns the record of the control API that a request changes or removes; null where nobody else can change it. */
function recordOf(operation: Operation, example: Example) {
  const path = targetOf(operation, { ...example, query: {} });
  const [, record = "", type = ""] = /^(\/api\/v2\/(\w+)\/[^/]+)/.exec(path) ?? [];
  const isChange = ["PATCH", "DELETE"].includes(operation.method);
  return operation.scheme === "accessToken" && isChange && !untagged.has(type) ? { record, type } : null;
}

/** Documents with a tag outside of the table of authored resources: path, and a change that writes a text. */
const documents: readonly (readonly [
  what: string,
  path: string,
  change: (text: string, json: Answer["json"]) => { method: string; type?: string; body: unknown },
])[] = [
  [
    "a loyalty configuration",
    `/api/v2/spaces/${ids.space}/loyalty`,
    (title, { data }) => ({
      method: "PUT",
      body: { ...data.attributes, codePools: [{ id: "drinks", title }] },
    }),
  ],
  [
    "a profile",
    "/v1/api/audience/profile",
    displayName => ({ method: "PATCH", type: "application/merge-patch+json", body: { displayName } }),
  ],
];

describe("If-Match", () => {
  it("of an author holds at the commit: what a rival changed since the read is not lost", async t => {
    const { world, other, operations, intercepted } = await opened(t);
    const headers = await operatorHeaders(world);
    const tried: string[] = [];
    const examples = await validExamples(world);
    for (const operation of operations) {
      const example = exampleOf(operation, examples);
      const changed = recordOf(operation, example);
      if (changed === null) continue;
      const { record, type } = changed;
      const etag = (await world.call(record, { headers })).headers.get("etag");
      assert.ok(etag !== null, record);
      const attributes = rivalAttributes(type, operation.id);
      intercepted.by = async (_, __, pass) => {
        intercepted.by = null;
        const rival = await other.call(record, {
          method: "PATCH",
          headers,
          body: resource(type, attributes),
        });
        assert.ok(rival.status < 300, `${operation.id}: ${rival.text}`);
        return await pass();
      };
      const answer = await send(world, operation, { example, headers: { ...headers, "if-match": etag } });
      // An example that changes nothing commits nothing.
      if (intercepted.by === null) {
        assert.equal(answer.status, 412, `${operation.id}: ${answer.text}`);
        tried.push(operation.id);
      }
      intercepted.by = null;
    }
    assert.ok(tried.length >= 20, `${tried}`);
  });

  for (const [what, path, change] of documents) {
    it(`of ${what} holds at the commit: what a rival changed since the read is not lost`, async t => {
      const { world, other, intercepted } = await opened(t);
      const { token } = await world.fan("Sam");
      const key = await credentialsFor("apiKey", world);
      const fan = { authorization: `Bearer ${token}`, "x-platform-org-id": ids.organisation };
      const headers = path.startsWith("/api/v2/") ? key : fan;
      const before = await world.call(path, { headers });
      const etag = before.headers.get("etag") ?? "";
      const write = (process: TestPlatform, text: string) => {
        const { method, type = "application/json", body } = change(text, before.json);
        const sent = { ...headers, "content-type": type, "if-match": etag };
        return process.call(path, { method, headers: sent, body });
      };
      intercepted.by = async (_, __, pass) => {
        intercepted.by = null;
        assert.equal((await write(other, "rival")).status, 200);
        return await pass();
      };
      const answer = await write(world, "late");
      assert.equal(intercepted.by, null);
      assert.equal(answer.status, 412, answer.text);
      const { text } = await world.call(path, { headers });
      assert.ok(text.includes('"rival"') && !text.includes('"late"'), text);
    });
  }
});
