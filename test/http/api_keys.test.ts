/** The API keys of an organisation over the control API. */

import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { apiKeysPerOrganisationMax } from "../../lib/auth/api_keys/api_keys.ts";
import { type Permission, permissions } from "../../lib/auth/mod.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { errorCode } from "./_families.ts";

const graceSecondsMax = 2_592_000;

interface Credentials {
  readonly key: string;
  readonly secret: string;
}

const path = `/api/v2/organisations/${ids.organisation}/api_keys`;

function headersOf({ key, secret }: Credentials): Readonly<Record<string, string>> {
  return { "x-api-key": key, "x-api-secret": secret };
}

async function keyWith(
  world: TestPlatform,
  granted: readonly Permission[],
  organisationId: string = ids.organisation,
): Promise<Credentials> {
  return await world.platform.apiKeys.create({ organisationId, name: "Test", permissions: granted });
}

function resource(name: string, granted: readonly string[]): unknown {
  return { data: { type: "api_keys", attributes: { name, permissions: granted } } };
}

/** Returns true if the platform accepts the credentials. */
async function isTaken(world: TestPlatform, credentials: Credentials): Promise<boolean> {
  const { status } = await world.call(path, { headers: headersOf(credentials) });
  assert.ok([200, 401, 403].includes(status), String(status));
  return status !== 401;
}

describeOnStores("API keys", open => {
  async function opened(t: TestContext) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const admin = await keyWith(world, permissions);
    const ask = (
      at: string,
      { as = admin, ...options }: { as?: Credentials; method?: string; body?: unknown } = {},
    ): Promise<Answer> => world.call(`${path}${at}`, { ...options, headers: headersOf(as) });
    return { world, admin, ask };
  }

  it("are created with a secret that is answered once", async t => {
    const { world, ask } = await opened(t);
    const created = await ask("", { body: resource("CRM", ["users:read", "users:read", "actions:write"]) });
    assert.equal(created.status, 201, created.text);
    assert.equal(created.headers.get("content-type"), "application/vnd.api+json");
    assert.equal(created.headers.get("cache-control"), "no-store");
    const { id, attributes } = created.json.data;
    assert.deepEqual(attributes.permissions, ["users:read", "actions:write"]);
    assert.ok(await isTaken(world, { key: id, secret: attributes.secret }));
    const listed = await ask("");
    assert.ok(!listed.text.includes(attributes.secret) && !listed.text.includes("hash"), listed.text);
  });

  it("are listed oldest first, with what they may do and when they were last used", async t => {
    const { world, admin, ask } = await opened(t);
    world.clock.advance(5_000);
    const second = await keyWith(world, ["users:read"]);
    const { json } = await ask("");
    assert.deepEqual(json.meta, { total: 2 });
    assert.deepEqual(
      json.data.map(({ id }: { id: string }) => id),
      [admin.key, second.key],
    );
    const created = Math.floor(world.clock.now() / 1_000);
    assert.deepEqual(json.data[1], {
      type: "api_keys",
      id: second.key,
      attributes: {
        name: "Test",
        permissions: ["users:read"],
        created_at: created,
        created_at_iso: new Date(created * 1_000).toISOString(),
        last_used_at: null,
        last_used_at_iso: null,
        secrets: [{ created_at: created, expires_at: null }],
      },
    });
    await world.platform.work();
    const [used] = (await ask("")).json.data;
    assert.equal(used.attributes.last_used_at, created);
    assert.equal(used.attributes.last_used_at_iso, new Date(created * 1_000).toISOString());
  });

  it("get a new secret, while the old one works for its grace", async t => {
    const { world, ask } = await opened(t);
    const old = await keyWith(world, ["users:read"]);
    const rotated = await ask(`/${old.key}/rotate`, { body: { grace_seconds: 60 } });
    assert.equal(rotated.status, 200, rotated.text);
    const fresh = { key: old.key, secret: rotated.json.data.attributes.secret };
    assert.deepEqual([await isTaken(world, old), await isTaken(world, fresh)], [true, true]);
    const at = Math.floor(world.clock.now() / 1_000);
    const secretsOf = async (): Promise<unknown> => (await ask("")).json.data[1].attributes.secrets;
    assert.deepEqual(await secretsOf(), [
      { created_at: at, expires_at: null },
      { created_at: at, expires_at: at + 60 },
    ]);
    world.clock.advance(60_000);
    assert.deepEqual([await isTaken(world, old), await isTaken(world, fresh)], [false, true]);
    assert.deepEqual(await secretsOf(), [{ created_at: at, expires_at: null }]);
    const long = await ask(`/${old.key}/rotate`, { body: { grace_seconds: graceSecondsMax + 1 } });
    assert.equal(long.status, 400);
    assert.equal((await ask(`/${old.key}/rotate`, { body: { grace_seconds: graceSecondsMax } })).status, 200);
  });

  it("end for good when they are revoked", async t => {
    const { world, ask } = await opened(t);
    const ended = await keyWith(world, ["users:read"]);
    assert.equal((await ask(`/${ended.key}`, { method: "DELETE" })).status, 204);
    assert.equal(await isTaken(world, ended), false);
    assert.equal((await ask("")).json.meta.total, 1);
    for (const again of [
      await ask(`/${ended.key}`, { method: "DELETE" }),
      await ask(`/${ended.key}/rotate`, { body: { grace_seconds: 0 } }),
    ]) {
      assert.deepEqual([again.status, errorCode(again, "jsonApi")], [404, "not_found"]);
    }
  });

  it("never hand on more than they may do themselves", async t => {
    const { world, admin, ask } = await opened(t);
    const as = await keyWith(world, ["keys:write", "users:read"]);
    assert.equal((await ask("", { as, body: resource("a", ["users:read"]) })).status, 201);
    assert.equal((await ask("", { as, body: resource("b", ["keys:write", "users:read"]) })).status, 201);
    for (const permission of permissions.filter(one => one !== "keys:write" && one !== "users:read")) {
      const refused = await ask("", { as, body: resource("c", ["users:read", permission]) });
      assert.deepEqual([refused.status, errorCode(refused, "jsonApi")], [403, "forbidden"], permission);
    }
    const taking = await ask(`/${admin.key}/rotate`, { as, body: { grace_seconds: 60 } });
    assert.deepEqual([taking.status, errorCode(taking, "jsonApi")], [403, "forbidden"]);
    assert.equal((await ask("")).json.data.length, 4);
  });

  it("are managed only by keys with the permission", async t => {
    const { world, ask } = await opened(t);
    const target = await keyWith(world, ["users:read"]);
    const as = await keyWith(
      world,
      permissions.filter(one => one !== "keys:write"),
    );
    const requests = [
      ["", {}],
      ["", { body: resource("a", ["users:read"]) }],
      [`/${target.key}/rotate`, { body: { grace_seconds: 0 } }],
      [`/${target.key}`, { method: "DELETE" }],
    ] as const;
    const elsewhere = await keyWith(world, permissions, ids.otherOrganisation);
    for (const [at, options] of requests) {
      const lacking = await ask(at, { ...options, as });
      assert.deepEqual([lacking.status, errorCode(lacking, "jsonApi")], [403, "insufficient_scope"], at);
      const foreign = await ask(at, { ...options, as: elsewhere });
      assert.deepEqual([foreign.status, errorCode(foreign, "jsonApi")], [404, "not_found"], at);
      assert.equal((await world.call(`${path}${at}`, options)).status, 401, at);
    }
    const own = `/api/v2/organisations/${ids.otherOrganisation}/api_keys`;
    for (const [at, options] of requests.slice(2)) {
      const answer = await world.call(`${own}${at}`, { ...options, headers: headersOf(elsewhere) });
      assert.equal(answer.status, 404, `a key of another organisation at ${at}`);
    }
    assert.ok(await isTaken(world, target));
  });

  it("are as many as an organisation may have, and one more once another is revoked", async t => {
    const { world, admin, ask } = await opened(t);
    const { apiKeys } = world.platform;
    const others = await Promise.all(
      Array.from({ length: apiKeysPerOrganisationMax - 1 }, () => keyWith(world, ["users:read"])),
    );
    const full = await ask("", { body: resource("a", ["users:read"]) });
    assert.deepEqual([full.status, errorCode(full, "jsonApi")], [409, "conflict"]);
    const keyId = others[0]?.key ?? "";
    await apiKeys.revoke({ organisationId: ids.organisation, keyId });
    assert.equal((await ask("", { body: resource("a", ["users:read"]) })).status, 201);
    assert.equal((await ask("")).json.data[0].id, admin.key);
  });
});

describe("the permissions of API keys", () => {
  it("are in the OpenAPI document", async () => {
    const { createMemoryStore } = await import("../../adapters/memory/mod.ts");
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    const { json } = await world.call("/openapi.json");
    const { security } = json.paths["/api/v2/organisations/{organisationId}/api_keys"].get;
    assert.deepEqual(security, [{ apiKey: ["keys:write"], apiSecret: [] }, { accessToken: ["admin"] }]);
    await world.dispose();
  });
});
