/** The application profile of credential-less users, and projects that demand signatures of them. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, it } from "node:test";
import { appProfileBytesMax, appProfileDepthMax } from "../../lib/fans/identity/providers/fields.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const noLogin = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
const anonymous = { projectId: ids.project, strategy: "simplified", provider: "anonymous" };

function refusal({ status, json }: Answer): [number, string] {
  assert.equal(json.result, 0);
  return [status, json.data.code];
}

async function create(world: TestPlatform): Promise<Answer["json"]> {
  return (await world.call("/v1/user", { body: { ...noLogin, data: { username: "Sam" } } })).json.data;
}

function update(world: TestPlatform, body: object): Promise<Answer> {
  return world.call("/v1/user", { method: "PUT", body: { ...noLogin, ...body } });
}

function fetchProfile(world: TestPlatform, query: Readonly<Record<string, string>>): Promise<Answer> {
  return world.call(`/v1/user?${new URLSearchParams({ ...noLogin, ...query })}`);
}

describeOnStores("the application profile of a noLogin user", open => {
  let world: TestPlatform;
  let externalId: string;
  beforeEach(async () => {
    world = await openPlatform(open);
    ({ externalId } = await create(world));
  });
  afterEach(() => world.dispose());

  it("is replaced, and answered with exactly the fields of the specification", async () => {
    const appProfile = { teams: ["red"], events: { e1: { score: 7.5, seen: null } }, validation_key: "k" };
    await update(world, { externalId, data: { appProfile: { before: true } } });
    const { status, json, headers } = await update(world, { externalId, data: { appProfile } });
    assert.equal(status, 200);
    const loginHistory = [Math.floor(world.clock.now() / 1_000)];
    const expected = {
      ...noLogin,
      externalId,
      data: { username: "Sam", loginHistory, appProfile },
      result: 1,
      message: "OK",
    };
    assert.deepEqual(json, expected);
    assert.equal(headers.get("cache-control"), "no-store");
    assert.deepEqual((await fetchProfile(world, { externalId })).json, expected);
  });

  it("has at most the bytes of its bound, counted as UTF-8", async () => {
    const room = appProfileBytesMax - '{"t":""}'.length;
    for (const [text, status] of [
      ["x".repeat(room), 200],
      ["x".repeat(room + 1), 413],
      ["é".repeat(room / 2), 200],
      [`${"é".repeat(room / 2)}x`, 413],
    ] as const) {
      const answer = await update(world, { externalId, data: { appProfile: { t: text } } });
      assert.equal(answer.status, status, `${text.length}`);
    }
    assert.deepEqual(
      refusal(await update(world, { externalId, data: { appProfile: { t: "x".repeat(room + 1) } } })),
      [413, "payload_too_large"],
    );
  });

  it("is nested no deeper than its bound", async () => {
    const nested = (levels: number): object => (levels === 1 ? {} : { a: nested(levels - 1) });
    const listed = (levels: number): unknown => (levels === 1 ? [] : [listed(levels - 1)]);
    for (const [appProfile, status] of [
      [nested(appProfileDepthMax), 200],
      [nested(appProfileDepthMax + 1), 400],
      [{ a: listed(appProfileDepthMax - 1) }, 200],
      [{ a: listed(appProfileDepthMax) }, 400],
    ] as const) {
      assert.equal((await update(world, { externalId, data: { appProfile } })).status, status);
    }
  });

  it("is an object and keeps every name but those that change prototypes", async () => {
    for (const appProfile of [[], "text", 1, true, null, undefined]) {
      const answer = await update(world, { externalId, data: { appProfile } });
      assert.deepEqual(refusal(answer), [400, "validation_failed"]);
    }
    const raw = JSON.stringify({ ...noLogin, externalId, data: { appProfile: "SLOT" } });
    for (const profile of ['{"__proto__":{"admin":true}}', '{"a":{"__proto__":1}}']) {
      const body = raw.replace('"SLOT"', profile);
      const answer = await world.call("/v1/user", { method: "PUT", body });
      assert.deepEqual(refusal(answer), [400, "bad_json"]);
    }
    const appProfile = { constructor: "c", prototype: 1, toString: "t", "": 0, "a/b~c": {} };
    const { json } = await update(world, { externalId, data: { appProfile } });
    assert.deepEqual(json.data.appProfile, appProfile);
  });

  it("is changed by its external id, and no other user's with it", async () => {
    const other = await create(world);
    const data = { appProfile: { a: 1 } };
    assert.deepEqual(refusal(await update(world, { externalId: "a".repeat(32), data })), [404, "not_found"]);
    assert.deepEqual(refusal(await update(world, { projectId: ids.otherProject, externalId, data })), [
      404,
      "not_found",
    ]);
    const { json } = await world.call("/v1/user", {
      body: { ...anonymous, data: { deviceId: randomUUID() } },
    });
    assert.deepEqual(refusal(await update(world, { externalId: json.data.externalId, data })), [
      404,
      "not_found",
    ]);
    await update(world, { externalId, data });
    const unchanged = await fetchProfile(world, { externalId: other.externalId });
    assert.deepEqual(unchanged.json.data.appProfile, {});
  });
});

describeOnStores("a project that demands signatures", open => {
  let world: TestPlatform;
  const strict = {
    ...seed,
    projects: seed.projects.map(project => ({
      ...project,
      settings: { ...project.settings, identity: { requireSignature: true } },
    })),
  };
  beforeEach(async () => {
    world = await openPlatform(open, { seed: strict });
  });
  afterEach(() => world.dispose());

  it("serves a noLogin user who presents the record, at any later time", async () => {
    const { externalId, signature, timeStamp } = await create(world);
    world.clock.advance(365 * 86_400_000);
    const query = { externalId, signature, timeStamp: String(timeStamp) };
    assert.equal((await fetchProfile(world, query)).status, 200);
    const body = { externalId, signature, timeStamp, data: { appProfile: { a: 1 } } };
    assert.equal((await update(world, body)).status, 200);
  });

  it("names the missing members before any look-up", async () => {
    const { externalId, signature } = await create(world);
    for (const id of [externalId, "a".repeat(32)]) {
      const fetched = await fetchProfile(world, { externalId: id });
      assert.deepEqual(refusal(fetched), [400, "validation_failed"]);
      assert.deepEqual(
        fetched.json.data.fields.map((field: { pointer: string }) => field.pointer),
        ["timeStamp", "signature"],
      );
      const updated = await update(world, { externalId: id, signature, data: { appProfile: {} } });
      assert.deepEqual(
        updated.json.data.fields.map((field: { pointer: string }) => field.pointer),
        ["/timeStamp"],
      );
    }
  });

  it("answers a wrong signature exactly like an unknown external id", async () => {
    const mine = await create(world);
    const other = await create(world);
    const { externalId, timeStamp } = mine;
    const wrong = [
      { externalId, timeStamp, signature: other.signature },
      { externalId, timeStamp: timeStamp + 1, signature: mine.signature },
      { externalId: "a".repeat(32), timeStamp, signature: mine.signature },
    ];
    const headers = { "x-request-id": "the-same-for-all" };
    const texts = new Set<string>();
    for (const record of wrong) {
      const query = new URLSearchParams({ ...noLogin, ...record, timeStamp: String(record.timeStamp) });
      const answer = await world.call(`/v1/user?${query}`, { headers });
      assert.deepEqual(refusal(answer), [404, "not_found"]);
      texts.add(answer.text);
    }
    assert.equal(texts.size, 1);
  });

  it("registers a device again with its record alone", async () => {
    const data = { deviceId: randomUUID(), additionalId: "tv" };
    const register = (more: object = {}): Promise<Answer> =>
      world.call("/v1/user", { body: { ...anonymous, data: { ...data, ...more } } });
    const { userId, timeStamp, signature } = (await register()).json.data;
    const other = (await register({ deviceId: randomUUID() })).json.data;
    const wrong = [
      {},
      { timeStamp },
      { signature },
      { timeStamp: timeStamp + 1, signature },
      { timeStamp, signature: other.signature },
    ];
    for (const proof of wrong) {
      const answer = await register(proof);
      assert.deepEqual(refusal(answer), [401, "invalid_credentials"]);
      assert.ok(!answer.text.includes(userId));
    }
    const again = await register({ timeStamp, signature });
    assert.deepEqual([again.status, again.json.data.userId, again.json.data.isNew], [201, userId, false]);
  });

  it("lets an anonymous user log in with the record of that device alone", async () => {
    const register = async (): Promise<Answer["json"]> =>
      (await world.call("/v1/user", { body: { ...anonymous, data: { deviceId: randomUUID() } } })).json.data;
    const login = (data: object): Promise<Answer> =>
      world.call("/v1/user/login", { method: "PUT", body: { ...anonymous, data } });
    const { externalId, deviceId, timeStamp, signature } = await register();
    const other = await register();
    const validBody = { externalId, deviceId, timeStamp, signature };
    const first = await login(validBody);
    assert.equal(first.status, 200);
    world.clock.advance(1_000);
    const { timeStamp: later, signature: next } = first.json.data;
    assert.equal((await login({ ...validBody, timeStamp: later, signature: next })).status, 200);
    assert.deepEqual(refusal(await login({ externalId, deviceId })), [400, "validation_failed"]);
    assert.deepEqual(refusal(await login({ ...validBody, signature: other.signature })), [
      401,
      "invalid_credentials",
    ]);
    assert.deepEqual(refusal(await login({ ...validBody, timeStamp: timeStamp - 1 })), [
      401,
      "invalid_credentials",
    ]);
  });
});

describeOnStores("a project without that demand", open => {
  it("ignores a signature, and refuses one that cannot be", async () => {
    const world = await openPlatform(open);
    const { externalId } = await create(world);
    const wrong = { externalId, timeStamp: "5", signature: "A".repeat(64) };
    assert.equal((await fetchProfile(world, wrong)).status, 200);
    const garbled = await fetchProfile(world, { ...wrong, signature: "zz" });
    assert.deepEqual(refusal(garbled), [400, "validation_failed"]);
    await world.dispose();
  });
});
