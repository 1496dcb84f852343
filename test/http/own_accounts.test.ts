/** Users with accounts of the team's own: their ids, tokens that a back end asks for, and what must not get in. */

import assert from "node:assert/strict";
import { pbkdf2Sync } from "node:crypto";
import { afterEach, beforeEach, it } from "node:test";
import { createMemoryQueue } from "../../adapters/memory/mod.ts";
import { type Permission, permissions } from "../../lib/auth/api_keys/record.ts";
import { findStoredUser } from "../../lib/fans/identity/users.ts";
import { accountUserId } from "../../lib/mod.ts";
import { forge } from "../support/issuer.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { cliContext, runCommand } from "../support/terminal.ts";
import { until } from "../support/until.ts";
import { assertProblem } from "./_problem.ts";
import { backEnd, pointsOf } from "./audience/_back_end.ts";

interface Entry {
  readonly score: number;
  readonly publicProfile: { readonly username: string };
}

const issuer = "https://login.example";
const sub = "fan-1966";
const operators = `/internal/identity/projects/${ids.project}/users`;
const named = { "x-platform-org-id": ids.organisation };

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString());
}

/** Asserts an error of the identity family. */
function assertJoinRefused({ status, json, text }: Answer, wanted: number, code: string): void {
  assert.deepEqual([status, json.data.code], [wanted, code], text);
}

describeOnStores("the team's own accounts", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    const [project, ...others] = seed.projects;
    assert.ok(project);
    const identity = { ...(project.settings?.identity as object), accountIssuer: issuer };
    const projects = [{ ...project, settings: { ...project.settings, identity } }, ...others];
    world = await openPlatform(open, {
      seed: { ...seed, projects },
      queue: createMemoryQueue({ clock: Date.now }),
    });
  });
  afterEach(() => world.dispose());

  async function keyOf(
    granted: readonly Permission[] = permissions,
    organisationId: string = ids.organisation,
  ) {
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId,
      name: "k",
      permissions: granted,
    });
    return { key, secret };
  }
  async function mint(body: object, key?: object): Promise<Answer> {
    return await world.call("/api/auth/token", {
      body: { type: "user", ...(key ?? (await keyOf())), ...body },
    });
  }
  async function minted(body: object): Promise<{ token: string; userId: string }> {
    const { status, text, json } = await mint(body);
    assert.equal(status, 200, text);
    const token = json.data.accessToken;
    return { token, userId: String(claimsOf(token).sub) };
  }
  async function signIn(more: object = {}): Promise<Answer> {
    const token = forge(world.login.key, world.login.claims(world.clock.now(), { sub, ...more }));
    return await world.call("/api/auth/token", { body: { type: "idToken", token } });
  }
  async function operate(path: string, method: string, body?: object): Promise<Answer> {
    const { key, secret } = await keyOf();
    const headers = { "x-api-key": key, "x-api-secret": secret };
    return await world.call(path, { method, headers, ...(body === undefined ? {} : { body }) });
  }

  it("give a back end the token of a user, which is the one that the user's own token gives", async () => {
    const { token, userId } = await minted({ externalId: sub, displayName: "Geoff" });
    assert.equal(userId, accountUserId(issuer, sub));
    const { iat, exp, kind, projectId, scope } = claimsOf(token);
    assert.deepEqual(
      { life: Number(exp) - Number(iat), kind, projectId, scope },
      { life: 3_600, kind: "user", projectId: ids.project, scope: ["audience:read", "audience:write"] },
    );
    const action = { action: "prediction", data: { outcome: "exact" } };
    assert.equal((await world.call("/api/loyalty/action", { token, body: action })).status, 200);
    const own = await signIn();
    assert.equal(claimsOf(own.json.data.accessToken).sub, userId);
    assert.equal((await minted({ userId, displayName: "Sir Geoff" })).userId, userId);
    await world.platform.idle();
    const board = await world.call(`/projects/${ids.project}/leaderboards/overall`);
    assert.deepEqual(
      board.json.data.map(({ publicProfile, score }: Entry) => [publicProfile.username, score]),
      [["Sir Geoff", 3]],
      board.text,
    );
    const { entries } = await world.platform.audit.ofUser(ids.project, userId);
    const first = entries.at(-1);
    assert.deepEqual(
      [entries.length, first?.event, first?.outcome, first?.actor?.slice(0, 4)],
      [2, "backEndSignIn", "ok", "gsk_"],
    );
  });

  it("name a user by the UUID that the subject is, in any case of its letters", async () => {
    const subject = "0F0C2E5A-7A31-4B0E-9C1D-2F3A4B5C6D7E";
    const { userId } = await minted({ externalId: subject });
    assert.equal(userId, subject.toLowerCase());
    assert.equal(claimsOf((await signIn({ sub: subject.toLowerCase() })).json.data.accessToken).sub, userId);
  });

  it("refuse a back end whose key, user or project is wrong, and change nothing", async () => {
    const right = { externalId: sub };
    const { secret } = await keyOf();
    const cases: readonly (readonly [object, object | undefined, number, string])[] = [
      [right, { ...(await keyOf()), secret }, 401, "invalid_api_key"],
      [right, await keyOf(permissions.filter(one => one !== "tokens:write")), 403, "insufficient_scope"],
      [right, await keyOf(permissions.filter(one => one !== "users:write")), 403, "insufficient_scope"],
      [
        { ...right, projectId: ids.project },
        await keyOf(permissions, ids.otherOrganisation),
        400,
        "validation_failed",
      ],
      [right, await keyOf(permissions, ids.otherOrganisation), 400, "validation_failed"],
      [{ ...right, projectId: ids.otherProject }, undefined, 400, "validation_failed"],
      [{}, undefined, 400, "validation_failed"],
      [{ ...right, userId: accountUserId(issuer, sub) }, undefined, 400, "validation_failed"],
      [{ externalId: "" }, undefined, 400, "validation_failed"],
      [{ externalId: "x".repeat(256) }, undefined, 400, "validation_failed"],
      [{ externalId: "Zoë" }, undefined, 400, "validation_failed"],
      [{ userId: "x".repeat(129) }, undefined, 400, "validation_failed"],
      [{ userId: "a,b" }, undefined, 400, "validation_failed"],
      [{ ...right, displayName: "x".repeat(101) }, undefined, 400, "validation_failed"],
      [{ ...right, displayName: "\u202e" }, undefined, 400, "validation_failed"],
      [{ userId: "nobody" }, undefined, 404, "not_found"],
      [{ userId: accountUserId(issuer, sub) }, undefined, 404, "not_found"],
    ];
    for (const [body, key, status, code] of cases) assertProblem(await mint(body, key), status, code);
    assert.equal((await minted({ externalId: "x".repeat(255) })).userId.length, 36);
  });

  it("keep banned and deleted users out", async () => {
    const { token, userId } = await minted({ externalId: sub });
    const ban = { reason: "Abuse" };
    assert.equal((await operate(`${operators}/${userId}/ban`, "PUT", ban)).status, 200);
    assertProblem(await mint({ externalId: sub }), 403, "account_banned");
    assertProblem(await mint({ userId }), 403, "account_banned");
    assertProblem(await signIn(), 403, "account_banned");
    world.clock.advance(6_000);
    const profile = await world.call("/api/loyalty/profile", { token, headers: named });
    assertProblem(profile, 401, "session_revoked");
    assert.equal((await operate(`${operators}/${userId}`, "DELETE")).status, 200);
    assertProblem(await mint({ userId }), 404, "not_found");
  });

  it("sign in users whom back ends report under ids of their own", async () => {
    const api = await backEnd(world, ["rewards:write"]);
    const reward = { userId: "user-17", type: "metric", currency: "points", amount: 5 };
    const granted = await api("/v1/api/audience/internal/rewards/bulk", { body: { rewards: [reward] } });
    assert.equal(granted.status, 200, granted.text);
    const { token, userId } = await minted({ userId: "user-17" });
    assert.equal(userId, "user-17");
    const { json } = await world.call("/api/loyalty/profile", { token });
    assert.equal(json.data.metrics.points, 5);
    assertProblem(await mint({ userId: "user-17", displayName: "Bobby" }), 400, "validation_failed");
    assert.equal((await operate(`${operators}/user-17`, "DELETE")).status, 200);
    world.clock.advance(6_000);
    assertProblem(await world.call("/api/loyalty/profile", { token }), 401, "session_revoked");
  });

  it("never lead to the user of another account", async () => {
    const fan = await world.fan("Sam");
    const alice = await minted({ externalId: "alice" });
    // Subjects that are the ids of others.
    for (const userId of [fan.userId, alice.userId]) {
      assertProblem(await mint({ externalId: userId }), 409, "conflict");
      for (const _ of ["first", "again"]) assertProblem(await signIn({ sub: userId }), 401, "invalid_token");
    }
    assert.equal((await minted({ externalId: "alice" })).userId, alice.userId);
    const other = await signIn({ iss: "https://elsewhere.example" });
    assertProblem(other, 401, "invalid_token");
  });

  it("may be named by back ends before they sign in, and then have their points, places and name", async () => {
    const api = await backEnd(world, permissions);
    const base = "/v1/api/audience/internal";
    const userId = accountUserId(issuer, sub);
    const action = { action: "prediction", data: { outcome: "exact" }, projectId: ids.project };
    const reports = [
      await api(`${base}/actions`, { body: { externalId: sub, ...action } }),
      await api(`${base}/actions/bulk`, { body: { actions: [{ externalId: sub, ...action }] } }),
      await api("/api/audience/actions", { body: [{ external_id: sub, data: action }] }),
    ];
    assert.deepEqual(
      reports.map(({ status }) => status),
      [202, 202, 202],
      reports[2]?.text,
    );
    const reward = { type: "metric", currency: "points", amount: 5 };
    const given = await api(`${base}/rewards/bulk`, { body: { rewards: [{ externalId: sub, ...reward }] } });
    assert.equal(given.status, 200, given.text);
    const updates = [{ externalId: sub, displayName: "Geoff" }];
    assert.equal((await api(`${base}/profiles/update-batch`, { body: { updates } })).status, 200);
    const put = await api("/api/audience/profile", {
      method: "PUT",
      body: { external_id: sub, data: { preferences: { hat: "trick" } } },
    });
    assert.equal(put.status, 200, put.text);
    const row = `externalId,customFields.goals\n${sub},3\n`;
    const imported = await api(`${base}/users/import`, {
      body: row,
      headers: { "content-type": "text/csv" },
    });
    assert.equal(JSON.parse(imported.text.split("\n")[0] ?? "").status, "changed", imported.text);
    const { key, secret } = await keyOf();
    const service = (await mint({ type: "service", key, secret })).json.data.accessToken;
    const rewards = (query: string): Promise<Answer> =>
      world.call(`/api/loyalty/profile?${query}`, { token: service });
    const profile = await rewards(`external_id=${sub}&project_id=${ids.project}`);
    assert.equal(profile.json.data.metrics.points, 5, "the reward, and no action yet");
    for (const query of ["external_id=", `external_id=${sub}&user_id=u`, `external_id=${"x".repeat(256)}`])
      assertProblem(await rewards(query), 400, "validation_failed");
    const worker = world.platform.startActionWorker();
    await until("the actions are applied", async () => (await pointsOf(world, userId)) === 24);
    await worker.stop();
    await world.platform.idle();

    const profiles = [
      (await api(`${base}/profiles?external_ids=${sub},fan-1967`)).json.users[0].data,
      (await api(`/api/audience/profile?external_id=${sub}`)).json.data,
    ];
    for (const profile of profiles) {
      const { userId: id, displayName, preferences, customFields, loyalty } = profile;
      assert.deepEqual(
        { id, displayName, preferences, goals: customFields.goals, points: loyalty.metrics.points },
        { id: userId, displayName: "Geoff", preferences: { hat: "trick" }, goals: 3, points: 24 },
      );
    }
    const search = { filter: { externalId: sub }, fields: ["userId"] };
    const found = await api(`${base}/users/search`, { body: search });
    assert.deepEqual(found.json.data, [{ userId }], found.text);
    const token = (await signIn()).json.data.accessToken;
    assert.equal((await world.call("/api/loyalty/profile", { token })).json.data.metrics.points, 24);
    const board = await world.call(`/projects/${ids.project}/leaderboards/overall`);
    assert.deepEqual(
      board.json.data.map(({ publicProfile, score }: Entry) => [publicProfile.username, score]),
      [["Geoff", 24]],
    );
  });

  it("are refused by name where the name is none, or there are two", async () => {
    const api = await backEnd(world, permissions);
    const rival = await backEnd(world, permissions, ids.otherOrganisation);
    const path = "/v1/api/audience/internal/profiles";
    const update = { displayName: "Nobody" };
    for (const [body, pointer] of [
      [[{ externalId: sub, userId: "u", ...update }], "/0/externalId"],
      [[{ external_id: sub, user_id: "u", data: update }], "/0/external_id"],
      [[{ externalId: "x".repeat(256), ...update }], "/0/externalId"],
      [[{ externalId: null, ...update }], "/0/externalId"],
      [[{ externalId: 7, ...update }], "/0/externalId"],
    ] as const) {
      const answer = await api(`${path}/update-batch`, { body });
      assertProblem(answer, 400, "validation_failed");
      assert.equal(answer.json.errors[0].pointer, pointer);
    }
    const foreign = await rival(`${path}/update-batch`, { body: [{ externalId: sub, ...update }] });
    assertProblem(foreign, 400, "validation_failed");
    for (const query of [
      "external_ids=",
      "external_id=",
      `external_id=${sub}&user_id=u`,
      "external_id=%C3%AB",
    ]) {
      assertProblem(await api(`${path}?${query}`), 400, "validation_failed");
    }
    const { token } = await minted({ externalId: "bob" });
    const own = await world.call(`/api/audience/profile?external_id=${sub}`, { token, headers: named });
    assertProblem(own, 400, "validation_failed");
    const rewards = await world.call("/api/loyalty/profile?external_id=bob", { token });
    assertProblem(rewards, 403, "forbidden");
    assert.equal(
      (await api(`${path}?user_ids=${accountUserId(issuer, sub)}`)).json.users[0].error.code,
      "not_found",
    );
  });

  it("are joined by a back end with users who came before them", async () => {
    const api = await backEnd(world, permissions);
    const join = (from: string, into: string): Promise<Answer> =>
      operate(`${operators}/${encodeURIComponent(from)}/merge`, "POST", { into });
    const reward = (userId: string, amount: number): Promise<Answer> =>
      api("/v1/api/audience/internal/rewards/bulk", {
        body: { rewards: [{ userId, type: "metric", currency: "points", amount, projectId: ids.project }] },
      });
    const [crm, later] = ["crm/17", "crm/18"];
    for (const userId of [crm, later]) assert.equal((await reward(userId, 5)).status, 200);
    const sam = await world.fan("Sam");
    const alice = await minted({ externalId: "alice" });
    const bob = await minted({ externalId: "bob" });
    for (const { userId } of [alice, bob]) await reward(userId, 1);

    assertJoinRefused(await join(alice.userId, alice.userId), 400, "validation_failed");
    assertJoinRefused(await join("nobody", alice.userId), 404, "not_found");
    assertJoinRefused(await join(crm, "nobody"), 404, "not_found");
    const two = { into: alice.userId, intoExternalId: "alice" };
    for (const body of [{}, two, { intoExternalId: "" }]) {
      const path = `${operators}/${encodeURIComponent(crm)}/merge`;
      assertJoinRefused(await operate(path, "POST", body), 400, "validation_failed");
    }
    assertJoinRefused(await join(alice.userId, crm), 409, "conflict");
    assertJoinRefused(await join(alice.userId, sam.userId), 409, "conflict");

    assert.equal((await join(crm, alice.userId)).status, 200);
    const { key, secret } = await keyOf();
    const terminal = cliContext({ fetch: world.platform.fetch, secret, clock: world.clock.now });
    const again = await runCommand(terminal, "users merge", {
      args: [crm],
      flags: { key, project: ids.project, "into-external-id": "alice" },
    });
    assert.deepEqual(again.data, { from: crm, into: alice.userId });
    assert.equal((await join(sam.userId, alice.userId)).status, 200);
    const shown = await runCommand(terminal, "users show", {
      args: [sam.userId],
      flags: { key, project: ids.project },
    });
    assert.equal((shown.data as { readonly mergedInto: string }).mergedInto, alice.userId);
    assertJoinRefused(await join(crm, bob.userId), 409, "conflict");
    assertJoinRefused(await join(later, crm), 409, "conflict");
    // Of two merges that would go in a circle, one is done.
    const circle = await Promise.all([join(alice.userId, bob.userId), join(bob.userId, alice.userId)]);
    assert.deepEqual(circle.map(({ status }) => status).toSorted(), [200, 409]);
    const kept = circle[0]?.status === 200 ? bob.userId : alice.userId;

    // Sign-ins, reports and searches lead to one user now.
    for (const externalId of ["alice", "bob"]) {
      assert.equal((await minted({ externalId })).userId, kept);
      assert.equal(claimsOf((await signIn({ sub: externalId })).json.data.accessToken).sub, kept);
    }
    assert.equal((await minted({ userId: crm })).userId, kept);
    const more = await reward(crm, 2);
    assert.equal(more.json.data.results[0].status, "succeeded", more.text);
    assert.equal(await pointsOf(world, kept), 9);
    world.clock.advance(61_000);
    await world.platform.work();
    assert.equal(await pointsOf(world, kept), 9);
    await world.platform.idle();
    const board = await world.call(`/projects/${ids.project}/leaderboards/overall`);
    const places = board.json.data.map(({ userId, score }: Entry & { userId: string }) => [userId, score]);
    assert.deepEqual(
      places,
      [
        [kept, 9],
        [later, 5],
      ],
      board.text,
    );
  });

  it("move in with the hashes of their passwords, which the first login replaces", async () => {
    const api = await backEnd(world, permissions);
    const salt = Buffer.from("salt of the club");
    const key = pbkdf2Sync("the old password", salt, 1_000, 32, "sha256");
    const passwordHash = `$pbkdf2-sha256$i=1000$${salt.toString("base64")}$${key.toString("base64")}`;
    const account = { externalId: sub, email: "geoff@club.example", emailVerified: true, passwordHash };
    const move = async (...rows: readonly object[]) => {
      const { text } = await api("/v1/api/audience/internal/users/import", {
        body: rows.map(row => JSON.stringify(row)).join("\n"),
        headers: { "content-type": "application/x-ndjson" },
      });
      return text
        .trim()
        .split("\n")
        .slice(0, -1)
        .map(line => JSON.parse(line));
    };
    const [moved] = await move({ ...account, displayName: "Geoff" });
    assert.deepEqual(
      [moved.status, moved.userId],
      ["changed", accountUserId(issuer, sub)],
      JSON.stringify(moved),
    );
    assert.equal((await move({ ...account, displayName: "Geoff" }))[0].status, "unchanged");

    const selector = { projectId: ids.project, strategy: "email", provider: "managedPool" };
    const logIn = (password: string): Promise<Answer> =>
      world.call("/v1/user/login", {
        method: "PUT",
        body: { ...selector, data: { email: account.email, password } },
      });
    assert.equal((await logIn("another password")).status, 401);
    const first = await logIn("the old password");
    assert.equal(first.json.data.userId, moved.userId, first.text);
    await world.platform.idle();
    const stored = await findStoredUser(world.store, ids.project, moved.userId);
    assert.match(stored?.account?.passwordHash ?? "", /^\$scrypt\$ln=15,r=8,p=3\$/);
    assert.equal(stored?.account?.isEmailVerified, true);
    assert.equal((await logIn("the old password")).status, 200);
    // One fan is one user, whom the back end names as before.
    assert.equal((await minted({ externalId: account.externalId })).userId, moved.userId);
    const beside = await signIn({ sub: account.externalId });
    assertProblem(beside, 401, "invalid_token");
    // The file again brings no old password back.
    assert.equal((await move(account))[0].status, "unchanged");
    const kept = await findStoredUser(world.store, ids.project, moved.userId);
    assert.equal(kept?.account?.passwordHash, stored?.account?.passwordHash);

    const refused = await move(
      { ...account, externalId: "bob" },
      { ...account, email: "other@club.example" },
      { externalId: "bob", email: "bob@club.example" },
      { externalId: "bob", passwordHash },
      { ...account, externalId: "bob", email: "bob at home" },
      { ...account, externalId: "bob", email: "bob@club.example", emailVerified: "yes" },
      { ...account, externalId: "bob", passwordHash: passwordHash.replace("i=1000", "i=9999999") },
      { ...account, externalId: "bob", passwordHash: `$2b$10$${"a".repeat(53)}` },
      { ...account, externalId: "bob", passwordHash: "x".repeat(513) },
      { userId: "bob", email: "bob@club.example", passwordHash },
    );
    assert.deepEqual(
      refused.map(({ status, error }) => [status, error.code, error.pointer]),
      [
        ["failed", "conflict", ""],
        ["failed", "conflict", ""],
        ["failed", "validation_failed", "/passwordHash"],
        ["failed", "validation_failed", "/email"],
        ["failed", "validation_failed", "/email"],
        ["failed", "validation_failed", "/emailVerified"],
        ["failed", "validation_failed", "/passwordHash"],
        ["failed", "validation_failed", "/passwordHash"],
        ["failed", "validation_failed", "/passwordHash"],
        ["failed", "validation_failed", "/userId"],
      ],
    );
    const bounds = refused.slice(6, 9).map(({ error }) => error.message);
    assert.match(bounds[0], /i from 1000 to 1000000$/);
    assert.match(bounds[1], /a cost from 4 to 12, and 60 characters/);
    assert.match(bounds[2], /at most 512 characters$/);
    assert.equal(await findStoredUser(world.store, ids.project, accountUserId(issuer, "bob")), null);
  });
});
