/** The operators' view of users, their changes of users, and the audit trail. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, it } from "node:test";
import { type Permission, permissions } from "../../lib/auth/mod.ts";
import { auditPageMax } from "../../lib/fans/identity/audit/audit.ts";
import { type Answer, ids } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { anonymous, deviceId, newPassword, Pool, password, pool } from "./managed_pool/_pool.ts";

const banReasonCharactersMax = 500;
const operatorIdCharactersMax = 128;

const noLogin = { projectId: ids.project, strategy: "simplified", provider: "noLogin" };
const here = "203.0.113.77";

function refusal({ status, json }: Answer): [number, string] {
  assert.equal(json.result, 0);
  return [status, json.data.code];
}

describeOnStores("operators", open => {
  let world: Pool["world"];
  let members: Pool;
  let reader: Record<string, string>;
  let writer: Record<string, string>;
  beforeEach(async () => {
    members = await Pool.open(open, { isLimited: true });
    world = members.world;
    reader = await keyWith(["users:read"]);
    writer = await keyWith(["users:write"]);
  });
  afterEach(() => world.dispose());

  async function keyWith(
    granted: readonly Permission[],
    organisationId: string = ids.organisation,
  ): Promise<Record<string, string>> {
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId,
      name: "Desk",
      permissions: granted,
    });
    return { "x-api-key": key, "x-api-secret": secret };
  }

  const under = (path: string, projectId: string = ids.project): string =>
    `/internal/identity/projects/${projectId}${path}`;
  const read = async (path: string): Promise<Answer["json"]> => {
    await world.platform.idle();
    const { status, json, text } = await world.call(under(path), { headers: reader });
    assert.equal(status, 200, text);
    return json.data;
  };
  const act = (method: string, path: string, body?: object): Promise<Answer> =>
    world.call(under(path), { method, headers: writer, ...(body === undefined ? {} : { body }) });
  const trailOf = async (path: string): Promise<[string, string][]> =>
    (await read(path)).entries.map((entry: { event: string; outcome: string }) => [
      entry.event,
      entry.outcome,
    ]);

  it("read with users:read and change with users:write only", async () => {
    const { userId } = await members.member("sam@example.org");
    const user = `/users/${userId}`;
    const reads = [
      ["GET", "/audit"],
      ["GET", `${user}/audit`],
      ["GET", `${user}/sessions`],
      ["GET", user],
    ] as const;
    const writes = [
      ["POST", `${user}/unlock`],
      ["PUT", `${user}/ban`],
      ["DELETE", `${user}/ban`],
      ["DELETE", `${user}/sessions`],
      ["DELETE", user],
    ] as const;
    const ask = async (headers: Record<string, string>, [method, path]: readonly [string, string]) => {
      const body = method === "PUT" ? { body: { reason: "r" } } : {};
      const { status } = await world.call(under(path), { method, headers, ...body });
      return status;
    };
    for (const permission of permissions) {
      const headers = await keyWith([permission]);
      for (const request of reads) {
        assert.equal(await ask(headers, request), permission === "users:read" ? 200 : 403, permission);
      }
      if (permission === "users:write") continue;
      for (const request of writes) assert.equal(await ask(headers, request), 403, permission);
    }
    const foreign = await keyWith(permissions, ids.otherOrganisation);
    for (const request of [...reads, ...writes]) {
      assert.equal(await ask({}, request), 401);
      assert.equal(await ask(foreign, request), 404);
    }
    for (const request of writes) assert.equal(await ask(writer, request), 200, request.join(" "));
  });

  it("get the same answer for a project of another organisation and for none, byte for byte", async () => {
    const { userId } = await members.member("sam@example.org");
    const foreign = await keyWith(permissions, ids.otherOrganisation);
    const headers = { ...foreign, "x-request-id": "the-same-for-all" };
    for (const path of [
      "/audit",
      `/users/${userId}/audit`,
      `/users/${userId}/sessions`,
      `/users/${userId}`,
    ]) {
      const answers = await Promise.all(
        [ids.project, randomUUID()].map(id => world.call(under(path, id), { headers })),
      );
      assert.deepEqual(
        answers.map(({ status }) => status),
        [404, 404],
      );
      assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    }
  });

  it("see the sessions of a user, and end one or all of them", async () => {
    const first = await members.member("sam@example.org");
    await members.login("sam@example.org", { deviceId: randomUUID() }, here);
    const { userId } = first;
    const { sessions } = await read(`/users/${userId}/sessions`);
    assert.equal(sessions.length, 2);
    const now = Math.floor(world.clock.now() / 1_000);
    const mine = sessions.find((session: { deviceId: string }) => session.deviceId === deviceId);
    assert.deepEqual([mine.createdAt, mine.lastSeen, mine.expiresAt > now], [now, now, true]);
    assert.deepEqual(Object.keys(mine).sort(), [
      "addressTag",
      "createdAt",
      "deviceId",
      "expiresAt",
      "lastSeen",
      "sessionId",
      "userAgent",
    ]);
    assert.equal((await members.profile(first.accessToken)).status, 200);
    assert.equal((await act("DELETE", `/users/${userId}/sessions/${mine.sessionId}`)).status, 200);
    assert.deepEqual(refusal(await members.profile(first.accessToken)), [401, "session_revoked"]);
    const again = await act("DELETE", `/users/${userId}/sessions/${mine.sessionId}`);
    assert.deepEqual(refusal(again), [404, "not_found"]);
    assert.deepEqual((await act("DELETE", `/users/${userId}/sessions`)).json.data, { revoked: 1 });
    assert.deepEqual(await read(`/users/${userId}/sessions`), { sessions: [] });
    assert.deepEqual((await act("DELETE", `/users/${userId}/sessions`)).json.data, { revoked: 0 });
  });

  it("ban a user everywhere until a time, and lift the ban", async () => {
    const { userId, accessToken } = await members.member("sam@example.org");
    const until = Math.floor(world.clock.now() / 1_000) + 60;
    const banned = await act("PUT", `/users/${userId}/ban`, { reason: "Abuse in chat", until });
    assert.deepEqual(banned.json.data, { userId, reason: "Abuse in chat", until });
    assert.deepEqual(refusal(await members.profile(accessToken)), [401, "session_revoked"]);
    const loggedIn = await members.login("sam@example.org", {}, here);
    assert.deepEqual(refusal(loggedIn), [403, "account_banned"]);
    assert.equal(loggedIn.json.data.until, until);
    const wrong = await members.login("sam@example.org", { password: newPassword }, here);
    assert.deepEqual(refusal(wrong), [401, "invalid_credentials"]);
    assert.ok(!loggedIn.text.includes("chat"));
    world.clock.advance(60_000);
    assert.equal((await members.login("sam@example.org", {}, here)).status, 200);
    assert.deepEqual(refusal(await members.profile(accessToken)), [401, "session_revoked"]);
    await act("PUT", `/users/${userId}/ban`, { reason: "Again" });
    assert.deepEqual(refusal(await members.login("sam@example.org", {}, here)), [403, "account_banned"]);
    assert.equal((await act("DELETE", `/users/${userId}/ban`)).status, 200);
    assert.equal((await members.login("sam@example.org", {}, here)).status, 200);
    assert.equal((await act("DELETE", `/users/${userId}/ban`)).status, 200);
  });

  it("ban users without credentials too", async () => {
    const created = await world.call("/v1/user", { body: { ...noLogin, data: { username: "Kim" } } });
    const device = { deviceId, additionalId: "tv" };
    const registered = await world.call("/v1/user", { body: { ...anonymous, data: device } });
    for (const { json } of [created, registered]) {
      await act("PUT", `/users/${json.data.userId}/ban`, { reason: "r" });
    }
    const { externalId } = created.json.data;
    const answers = [
      await world.call(`/v1/user?${new URLSearchParams({ ...noLogin, externalId })}`),
      await world.call("/v1/user", {
        method: "PUT",
        body: { ...noLogin, externalId, data: { appProfile: {} } },
      }),
      await world.call("/v1/user", { body: { ...anonymous, data: device } }),
      await world.call("/v1/user/login", {
        method: "PUT",
        body: { ...anonymous, data: { externalId: registered.json.data.externalId, deviceId } },
      }),
    ];
    for (const answer of answers) assert.deepEqual(refusal(answer), [403, "account_banned"]);
  });

  it("get 400 for an invalid ban", async () => {
    const { userId } = await members.member("sam@example.org");
    for (const body of [
      {},
      { reason: "" },
      { reason: "r".repeat(banReasonCharactersMax + 1) },
      { reason: "r", until: 1.5 },
      { reason: "r", until: 0 },
      { reason: "r", until: "tomorrow" },
    ]) {
      assert.deepEqual(refusal(await act("PUT", `/users/${userId}/ban`, body)), [400, "validation_failed"]);
    }
    const longest = { reason: "r".repeat(banReasonCharactersMax) };
    assert.equal((await act("PUT", `/users/${userId}/ban`, longest)).status, 200);
    assert.deepEqual(refusal(await act("PUT", "/users/nobody/ban", longest)), [404, "not_found"]);
  });

  it("name users and sessions by ids of bounded length", async () => {
    const { userId } = await members.member("sam@example.org");
    const longest = "u".repeat(operatorIdCharactersMax);
    for (const [path, status] of [
      [`/users/${longest}/sessions`, 404],
      [`/users/${longest}u/sessions`, 400],
      [`/users/${userId}/sessions/${longest}`, 404],
      [`/users/${userId}/sessions/${longest}u`, 400],
    ] as const) {
      assert.equal((await act("DELETE", path)).status, status, path);
    }
  });

  it("unlock an account, and the address that they name with it", async () => {
    const { userId } = await members.member("sam@example.org");
    const wrong = { password: newPassword };
    for (let count = 0; count < 5; count++) await members.login("sam@example.org", wrong, here);
    assert.deepEqual(refusal(await members.login("sam@example.org", {}, here)), [429, "too_many_attempts"]);
    assert.equal((await act("POST", `/users/${userId}/unlock`)).status, 200);
    assert.equal((await members.login("sam@example.org", {}, here)).status, 429);
    assert.equal((await act("POST", `/users/${userId}/unlock?address=${here}`)).status, 200);
    assert.equal((await members.login("sam@example.org", {}, here)).status, 200);
    const garbled = await act("POST", `/users/${userId}/unlock?address=x`);
    assert.deepEqual(refusal(garbled), [400, "validation_failed"]);
  });

  it("delete a user, whose e-mail, device and name are free and unknown then", async () => {
    const { userId, accessToken } = await members.member("sam@example.org");
    await world.platform.idle();
    assert.equal((await act("DELETE", `/users/${userId}`)).status, 200);
    assert.deepEqual(refusal(await members.profile(accessToken)), [401, "session_revoked"]);
    assert.deepEqual(refusal(await members.login("sam@example.org")), [401, "invalid_credentials"]);
    assert.deepEqual(refusal(await act("DELETE", `/users/${userId}`)), [404, "not_found"]);
    const next = await members.member("sam@example.org");
    assert.notEqual(next.userId, userId);

    const body = { ...anonymous, data: { deviceId, additionalId: "tv" } };
    const device = (await world.call("/v1/user", { body })).json.data;
    await act("DELETE", `/users/${device.userId}`);
    const again = (await world.call("/v1/user", { body })).json.data;
    assert.equal(again.isNew, true);
    assert.notEqual(again.userId, device.userId);
    assert.notEqual(again.externalId, device.externalId);
    const old = { externalId: device.externalId, deviceId };
    const login = await world.call("/v1/user/login", { method: "PUT", body: { ...anonymous, data: old } });
    assert.deepEqual(refusal(login), [401, "invalid_credentials"]);
  });

  it("leave no trail of a deleted user's own, but one of the deletion", async () => {
    const { userId } = await members.member("sam@example.org");
    await world.platform.idle();
    world.clock.advance(1);
    await act("DELETE", `/users/${userId}`);
    await world.platform.idle();
    assert.deepEqual((await world.platform.audit.ofUser(ids.project, userId)).entries, []);
    const [newest] = (await read("/audit")).entries;
    assert.deepEqual([newest.event, newest.outcome, newest.userId], ["operatorDelete", "ok", userId]);
    assert.equal(newest.actor, writer["x-api-key"]);
  });

  it("read attempts and their outcomes, newest first", async () => {
    const { userId } = await members.member("sam@example.org");
    await members.login("sam@example.org", { password: newPassword }, here);
    await members.login("nobody@example.org", {}, here);
    await act("PUT", `/users/${userId}/ban`, { reason: "Abuse in chat" });
    await members.login("sam@example.org", {}, here);
    assert.deepEqual(await trailOf(`/users/${userId}/audit`), [
      ["login", "account_banned"],
      ["operatorBan", "ok"],
      ["login", "invalid_credentials"],
      ["login", "ok"],
      ["register", "ok"],
    ]);
    const { entries } = await read(`/users/${userId}/audit`);
    const reasons = entries.map(({ reason }: { readonly reason?: string }) => reason ?? null);
    assert.deepEqual(reasons, [null, "Abuse in chat", null, null, null]);
    const project = await trailOf("/audit");
    assert.equal(project.length, 6);
    assert.equal(project.filter(([, outcome]) => outcome === "invalid_credentials").length, 2);
  });

  it("find client, provider and request in an entry, and no secret", async () => {
    const headers = { "user-agent": "Mozilla/5.0 (secret agent)", "x-request-id": "request-1" };
    const email = "sam@example.org";
    await members.register(email);
    const body = { ...pool, data: { email, password, deviceId } };
    const login = await world.call("/v1/user/login", { method: "PUT", address: here, headers, body });
    const { userId, accessToken, refreshToken, externalId } = login.json.data;
    const created = await world.call("/v1/user", {
      address: here,
      headers,
      body: { ...noLogin, data: { username: "Kim Secret" } },
    });
    await world.call("/v1/user", {
      method: "PUT",
      address: here,
      body: { ...noLogin, externalId: "z".repeat(32), data: { appProfile: {} } },
    });
    await world.platform.idle();
    const { text, json } = await world.call(under("/audit?limit=100"), { headers: reader });
    const entry = json.data.entries.find((one: { event: string }) => one.event === "login");
    const { sessionId, userAgentTag, ...known } = entry;
    assert.deepEqual(known, {
      at: Math.floor(world.clock.now() / 1_000),
      event: "login",
      outcome: "ok",
      provider: "managedPool",
      userId,
      deviceId,
      addressTag: "203.0.113.0/24",
      requestId: "request-1",
    });
    assert.match(sessionId, /^[0-9a-f-]{36}$/);
    assert.match(userAgentTag, /^[A-Za-z0-9_-]{12}$/);
    const secrets = [email, password, accessToken, refreshToken, externalId, here, "agent)", "Kim Secret"];
    for (const secret of [...secrets, created.json.data.externalId, "z".repeat(32)]) {
      assert.ok(!text.includes(secret), secret);
    }
  });

  it("get no device id that would let them in as its anonymous user", async () => {
    const data = { deviceId: randomUUID(), additionalId: "tv" };
    const registered = await world.call("/v1/user", { body: { ...anonymous, data } });
    const { externalId } = registered.json.data;
    const login = { ...anonymous, data: { externalId, deviceId: data.deviceId } };
    assert.equal((await world.call("/v1/user/login", { method: "PUT", body: login })).status, 200);
    await world.platform.idle();
    const { text, json } = await world.call(under("/audit?limit=100"), { headers: reader });
    const events = json.data.entries.map(({ event }: { event: string }) => event);
    assert.deepEqual(events.sort(), ["login", "register"]);
    assert.ok(!text.includes(data.deviceId));
  });

  it("read on with the cursor, through the whole trail", async () => {
    for (let count = 0; count < 25; count++) {
      await world.call("/v1/user", { address: here, body: { ...noLogin, data: { username: `${count}` } } });
    }
    await world.platform.idle();
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const more: string = cursor === null ? "" : `&cursor=${cursor}`;
      const page = await read(`/audit?limit=10${more}`);
      seen.push(...page.entries.map((one: { requestId: string }) => one.requestId));
      cursor = page.cursor;
    } while (cursor !== null);
    assert.equal(seen.length, 25);
    assert.equal(new Set(seen).size, 25);
    for (const query of ["limit=0", `limit=${auditPageMax + 1}`, "limit=x", "cursor=x", "cursor=1-1"]) {
      const answer = await world.call(under(`/audit?${query}`), { headers: reader });
      assert.deepEqual(refusal(answer), [400, "validation_failed"], query);
    }
  });

  it("find refused attempts and failed look-ups on the trail", async () => {
    const { externalId, userId } = (
      await world.call("/v1/user", { body: { ...noLogin, data: { username: "Kim" } } })
    ).json.data;
    const requestTrail = (id: string): Promise<Answer> =>
      world.call(`/v1/user?${new URLSearchParams({ ...noLogin, externalId: id })}`, { address: here });
    await requestTrail(externalId);
    for (let count = 0; count < 31; count++) await requestTrail("a".repeat(32));
    const project = await trailOf("/audit?limit=100");
    assert.deepEqual(project.filter(([, outcome]) => outcome === "rate_limited").length, 1);
    assert.deepEqual(project.filter(([, outcome]) => outcome === "not_found").length, 30);
    assert.equal(project.filter(([event, outcome]) => event === "register" && outcome === "ok").length, 1);
    // Sign-up and logins of users without credentials are in their records.
    assert.deepEqual(await trailOf(`/users/${userId}/audit`), []);
  });

  it("find a user by e-mail address", async () => {
    const { userId } = await members.member("Fan@Example.com", { nickname: "Fan" });
    const find = (email: string): Promise<Answer["json"]> =>
      read(`/users?${new URLSearchParams({ email })}`).then(({ users }) => users);
    const [found] = await find("fan@EXAMPLE.com");
    const { signUp, lastLogin, ...rest } = found;
    assert.ok(signUp > 0 && lastLogin >= signUp);
    assert.deepEqual(rest, {
      userId,
      provider: "managedPool",
      username: "Fan",
      email: "Fan@Example.com",
      isEmailVerified: false,
      ban: null,
      mergedInto: null,
    });
    assert.deepEqual(await find("nobody@example.com"), []);
    assert.deepEqual(await read(`/users/${userId}`), found);
    await act("PUT", `/users/${userId}/ban`, { reason: "Abuse" });
    assert.deepEqual((await read(`/users/${userId}`)).ban, { reason: "Abuse", until: null });
    const path = under("/users?email=fan@example.com", ids.otherProject);
    assert.equal((await world.call(path, { headers: reader })).status, 404);
  });
});
