import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, it } from "node:test";
import { recordKey, verifyRecord } from "../../lib/auth/mod.ts";
import { Users } from "../../lib/fans/identity/mod.ts";
import { usernameCharactersMax } from "../../lib/fans/identity/providers/fields.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const additionalIdCharactersMax = 128;
const externalIdCharactersMax = 128;
const loginHistoryMax = 50;

const signatureDigits = 64;

const noLogin = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
const anonymous = { projectId: ids.project, strategy: "simplified", provider: "anonymous" };
const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const capabilityShape = /^[a-z2-7]{32}$/;

function assertSigned(record: Omit<Parameters<typeof verifyRecord>[1], "projectId">): void {
  const key = recordKey(testSecret, ids.project);
  assert.match(record.signature, new RegExp(`^[0-9A-F]{${signatureDigits}}$`));
  assert.equal(verifyRecord(key, { ...record, projectId: ids.project }), true);
  assert.equal(verifyRecord(key, { ...record, projectId: ids.otherProject }), false);
}

function assertRefused(answer: Answer, status: number, code: string): void {
  assert.deepEqual(
    [answer.status, answer.json.result, answer.json.data.code],
    [status, 0, code],
    answer.text,
  );
  assert.equal(answer.headers.get("content-type"), "application/json");
}

describeOnStores("the identity API", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  const create = (username: unknown): Promise<Answer> =>
    world.call("/v1/user", { body: { ...noLogin, data: { username } } });
  const register = (data: object, more: object = {}): Promise<Answer> =>
    world.call("/v1/user", { body: { ...anonymous, ...more, data } });
  const login = (data: object): Promise<Answer> =>
    world.call("/v1/user/login", { method: "PUT", body: { ...anonymous, data } });
  const fetchProfile = (query: Record<string, string>): Promise<Answer> =>
    world.call(`/v1/user?${new URLSearchParams(query)}`);

  it("creates a noLogin user with exactly the fields and types of the specification", async () => {
    const { status, json, headers } = await create("Zoë 😀");
    assert.equal(status, 200);
    assert.deepEqual(Object.keys(json).sort(), ["data", "message", "result"]);
    assert.equal(json.result, 1);
    assert.equal(json.message, "User is Correctly Created");
    const { deviceId, timeStamp, signature, externalId, userId, isNew, username, signup, ...others } =
      json.data;
    assert.deepEqual(others, {});
    assert.match(deviceId, uuidShape);
    assert.match(userId, uuidShape);
    assert.match(externalId, capabilityShape);
    const now = Math.floor(world.clock.now() / 1_000);
    assert.deepEqual([timeStamp, signup, isNew, username], [now, now, true, "Zoë 😀"]);
    assertSigned(json.data);
    assert.equal(headers.get("cache-control"), "no-store");
  });

  it("fetches the profile of a noLogin user by the external id, with exactly the fields of the specification", async () => {
    const { externalId } = (await create("Sam")).json.data;
    const { status, json } = await fetchProfile({ ...noLogin, externalId });
    assert.equal(status, 200);
    assert.deepEqual(json, {
      ...noLogin,
      externalId,
      data: { username: "Sam", loginHistory: [Math.floor(world.clock.now() / 1_000)], appProfile: {} },
      result: 1,
      message: "OK",
    });
  });

  it("makes a new user each time, also under one name", async () => {
    const answers = await Promise.all(Array.from({ length: 16 }, () => create("Sam")));
    assert.equal(new Set(answers.map(({ json }) => json.data.userId)).size, 16);
    assert.equal(new Set(answers.map(({ json }) => json.data.externalId)).size, 16);
  });

  it("answers 404 to an external id that no noLogin user has", async () => {
    assertRefused(await fetchProfile({ ...noLogin, externalId: "a".repeat(32) }), 404, "not_found");
    const { externalId } = (await register({ deviceId: randomUUID() })).json.data;
    assertRefused(await fetchProfile({ ...noLogin, externalId }), 404, "not_found");
  });

  it("does not know a user of one project in another", async () => {
    const { externalId } = (await create("Sam")).json.data;
    const other = { ...noLogin, projectId: ids.otherProject, externalId };
    assertRefused(await fetchProfile(other), 404, "not_found");
  });

  it("takes a username of 1 to the most characters, and no other", async () => {
    const longest = "n".repeat(usernameCharactersMax);
    assert.equal((await create("n")).status, 200);
    assert.equal((await create(longest)).json.data.username, longest);
    for (const username of ["", `${longest}n`, 7, null, ["a"], { a: 1 }, undefined]) {
      const refused = await create(username);
      assertRefused(refused, 400, "validation_failed");
      assert.deepEqual(
        refused.json.data.fields.map((field: { pointer: string }) => field.pointer),
        ["/data/username"],
      );
    }
  });

  it("registers an anonymous user with exactly the fields and types of the specification", async () => {
    const deviceId = randomUUID();
    const { status, json, headers } = await register({ deviceId, additionalId: "tv-7" });
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(json).sort(), ["data", "message", "result"]);
    assert.equal(json.result, 1);
    const { timeStamp, signature, externalId, userId, signUp, isNew, ...others } = json.data;
    assert.deepEqual(others, { deviceId });
    const now = Math.floor(world.clock.now() / 1_000);
    assert.deepEqual([timeStamp, signUp, isNew], [now, now, true]);
    assert.match(userId, uuidShape);
    assert.match(externalId, capabilityShape);
    assertSigned({ deviceId, timeStamp, externalId, userId, signature, signUp });
    assert.equal(headers.get("cache-control"), "no-store");
  });

  it("registers a device again as the same user with isNew false", async () => {
    const deviceId = randomUUID();
    const first = (await register({ deviceId, additionalId: "tv" })).json.data;
    world.clock.advance(5_000);
    const again = await register({ deviceId: deviceId.toUpperCase(), additionalId: "tv" });
    assert.equal(again.status, 201);
    const { isNew, userId, externalId, signUp, timeStamp } = again.json.data;
    assert.deepEqual(
      { isNew, userId, externalId, signUp, timeStamp },
      {
        isNew: false,
        userId: first.userId,
        externalId: first.externalId,
        signUp: first.signUp,
        timeStamp: first.timeStamp + 5,
      },
    );
    assertSigned(again.json.data);
  });

  it("refuses the nil and the max UUID as a device, which clients without an id of their own share", async () => {
    const { externalId } = (await register({ deviceId: randomUUID() })).json.data;
    for (const digit of ["0", "f", "F"]) {
      const deviceId = "8-4-4-4-12".replace(/\d+/g, length => digit.repeat(Number(length)));
      for (const answer of [await register({ deviceId }), await login({ externalId, deviceId })]) {
        assertRefused(answer, 400, "validation_failed");
        assert.equal(answer.json.data.fields[0].pointer, "/data/deviceId");
      }
      const pool = { projectId: ids.project, strategy: "email", provider: "managedPool" };
      const data = { email: "ann@example.com", password: "any password", deviceId };
      const body = { ...pool, data };
      assertRefused(await world.call("/v1/user/login", { method: "PUT", body }), 400, "validation_failed");
    }
  });

  it("distinguishes registrations by device, additional id and project", async () => {
    const deviceId = randomUUID();
    const answers = await Promise.all([
      register({ deviceId }),
      register({ deviceId, additionalId: "a" }),
      register({ deviceId, additionalId: "b" }),
      register({ deviceId: randomUUID() }),
      register({ deviceId }, { projectId: ids.otherProject }),
    ]);
    assert.deepEqual(
      answers.map(({ status, json }) => [status, json.data.isNew]),
      Array(5).fill([201, true]),
    );
    assert.equal(new Set(answers.map(({ json }) => json.data.userId)).size, 5);
  });

  it("makes one user of 64 registrations of a device at once, and exactly one of them is new", async () => {
    const body = { deviceId: randomUUID(), additionalId: "tv" };
    const answers = await Promise.all(Array.from({ length: 64 }, () => register(body)));
    assert.ok(answers.every(({ status }) => status === 201));
    assert.equal(new Set(answers.map(({ json }) => `${json.data.userId} ${json.data.externalId}`)).size, 1);
    assert.equal(answers.filter(({ json }) => json.data.isNew === true).length, 1);
    assert.equal(answers.filter(({ json }) => json.data.isNew === false).length, 63);
    for (const { json } of answers) assertSigned(json.data);
  });

  it("takes an additional id up to the most characters, and no longer one", async () => {
    const deviceId = randomUUID();
    const longest = "～".repeat(additionalIdCharactersMax);
    assert.equal((await register({ deviceId, additionalId: longest })).status, 201);
    assertRefused(await register({ deviceId, additionalId: `${longest}a` }), 400, "validation_failed");
  });

  it("logs an anonymous user in with a record without tokens and without isNew", async () => {
    const deviceId = randomUUID();
    const { externalId, userId, signUp } = (await register({ deviceId })).json.data;
    world.clock.advance(60_000);
    const { status, json } = await login({ externalId, deviceId });
    assert.equal(status, 200);
    const { signature, ...record } = json.data;
    assert.deepEqual(record, { deviceId, externalId, userId, signUp, timeStamp: signUp + 60 });
    assertSigned({ ...record, signature });
  });

  it("answers a pair that does not belong together exactly like an unknown one", async () => {
    const [mine, other] = [randomUUID(), randomUUID()];
    const { externalId } = (await register({ deviceId: mine })).json.data;
    await register({ deviceId: other });
    const named = (await create("Sam")).json.data;
    const refused = await Promise.all([
      login({ externalId, deviceId: other }),
      login({ externalId, deviceId: randomUUID() }),
      login({ externalId: "a".repeat(32), deviceId: mine }),
      login({ externalId: "x", deviceId: randomUUID() }),
      login({ externalId: named.externalId, deviceId: named.deviceId }),
    ]);
    for (const answer of refused) {
      assertRefused(answer, 401, "invalid_credentials");
      assert.equal(answer.text, refused[0]?.text);
      assert.deepEqual(headersOf(answer), headersOf(refused[0]));
    }
  });

  it("keeps the newest logins of a user, and no more than the most", async () => {
    const deviceId = randomUUID();
    const { externalId, userId, signUp } = (await register({ deviceId })).json.data;
    for (let count = 1; count <= loginHistoryMax; count++) {
      world.clock.advance(1_000);
      assert.equal((await login({ externalId, deviceId })).status, 200);
    }
    const user = await new Users(world.store, testSecret).findById(ids.project, userId);
    assert.deepEqual(
      user?.loginHistory,
      Array.from({ length: loginHistoryMax }, (_, index) => signUp + 1 + index),
    );
    assert.deepEqual(user?.devices, [{ deviceId, signUp, lastLogin: signUp + loginHistoryMax }]);
  });

  it("loses no login of many at once", async () => {
    const deviceId = randomUUID();
    const { externalId, userId } = (await register({ deviceId })).json.data;
    const answers = await Promise.all(Array.from({ length: 32 }, () => login({ externalId, deviceId })));
    assert.ok(answers.every(({ status }) => status === 200));
    const user = await new Users(world.store, testSecret).findById(ids.project, userId);
    assert.equal(user?.loginHistory.length, 33);
  });

  it("refuses an external id that is empty or too long", async () => {
    const deviceId = randomUUID();
    const longest = "x".repeat(externalIdCharactersMax);
    assertRefused(await login({ externalId: longest, deviceId }), 401, "invalid_credentials");
    assertRefused(await fetchProfile({ ...noLogin, externalId: longest }), 404, "not_found");
    for (const externalId of ["", `${longest}x`]) {
      assertRefused(await login({ externalId, deviceId }), 400, "validation_failed");
      assertRefused(await fetchProfile({ ...noLogin, externalId }), 400, "validation_failed");
    }
    assertRefused(await fetchProfile(noLogin), 400, "validation_failed");
  });

  it("refuses strategies and providers that do not exist for the operation", async () => {
    const data = { username: "Sam", deviceId: randomUUID() };
    for (const selector of [
      { strategy: "simplified", provider: "managedPool" },
      { strategy: "email", provider: "noLogin" },
      { strategy: "email", provider: "anonymous" },
      { strategy: "", provider: "" },
      { strategy: "simplified", provider: "toString" },
      { strategy: "__proto__", provider: "x" },
    ]) {
      const body = { projectId: ids.project, ...selector, data };
      assertRefused(await world.call("/v1/user", { body }), 400, "unsupported_provider");
    }
    const body = { ...noLogin, strategy: "email", data: { externalId: "x", deviceId: randomUUID() } };
    assertRefused(await world.call("/v1/user/login", { method: "PUT", body }), 400, "unsupported_provider");
    assertRefused(await fetchProfile({ ...anonymous, externalId: "x" }), 400, "unsupported_provider");
  });

  it("answers an unknown project like any other bad project id", async () => {
    const unknown = await world.call("/v1/user", {
      body: { ...noLogin, projectId: randomUUID(), data: { username: "Sam" } },
    });
    assertRefused(unknown, 400, "validation_failed");
    assert.deepEqual(unknown.json.data.fields[0].pointer, "/projectId");
    const query = await fetchProfile({ ...noLogin, projectId: randomUUID(), externalId: "x" });
    assertRefused(query, 400, "validation_failed");
    assert.deepEqual(query.json.data.fields[0].pointer, "projectId");
    for (const projectId of ["", "1", `${ids.project}0`, ids.project.replace("-", "")]) {
      assertRefused(await fetchProfile({ ...noLogin, projectId, externalId: "x" }), 400, "validation_failed");
    }
  });

  it("takes a project id in upper case for the same project", async () => {
    const body = { ...noLogin, projectId: ids.project.toUpperCase(), data: { username: "Sam" } };
    const { status, json } = await world.call("/v1/user", { body });
    assert.equal(status, 200);
    assert.equal((await fetchProfile({ ...noLogin, externalId: json.data.externalId })).status, 200);
  });

  it("ignores members that it does not know", async () => {
    const body = { ...noLogin, extra: { deep: [1] }, data: { username: "Sam", more: true } };
    const { status, json } = await world.call("/v1/user", { body });
    assert.equal(status, 200);
    assert.equal(json.data.username, "Sam");
    assert.ok(!("more" in json.data) && !("extra" in json.data));
  });
});

describeOnStores("the providers of a project", open => {
  it("are those that its settings enable", async t => {
    const [project, ...others] = seed.projects;
    assert.ok(project !== undefined);
    const settings = { ...project.settings, identity: { providers: ["anonymous"] } };
    const world = await openPlatform(open, {
      seed: { ...seed, projects: [{ ...project, settings }, ...others] },
    });
    t.after(() => world.dispose());
    const body = { ...noLogin, data: { username: "Sam" } };
    assertRefused(await world.call("/v1/user", { body }), 400, "unsupported_provider");
    const enabled = { ...anonymous, data: { deviceId: randomUUID() } };
    assert.equal((await world.call("/v1/user", { body: enabled })).status, 201);
  });
});

function headersOf(answer: Answer | undefined): [string, string][] {
  return [...(answer?.headers ?? [])].filter(([name]) => name !== "x-request-id");
}
