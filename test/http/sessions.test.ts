import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { createMemoryLimiter } from "../../adapters/memory/mod.ts";
import { unverifiedClaim } from "../../lib/auth/tokens/mod.ts";
import { Audit } from "../../lib/fans/identity/audit/audit.ts";
import { type User, Users } from "../../lib/fans/identity/mod.ts";
import type { SessionTokens } from "../../lib/fans/identity/sessions/session.ts";
import { SessionRecords } from "../../lib/fans/identity/sessions/session_records.ts";
import type { OpenedSession } from "../../lib/fans/identity/sessions/sessions.ts";
import { sessionStalenessMsMax } from "../../lib/fans/identity/sessions/sessions.ts";
import { type Logger, silentLogger } from "../../lib/http/mod.ts";
import {
  type Answer,
  externalIds,
  ids,
  openPlatform,
  otherHost,
  type TestPlatform,
  testSecret,
} from "../support/platform.ts";
import { describeOnEveryStore } from "../support/stores.ts";
import { errorCode } from "./_families.ts";
import { assertProblem } from "./_problem.ts";

const refreshGraceMsMax = 30_000;

const deviceId = "0123abcd-0000-4000-8000-00000000000d";
const managed = { projectId: ids.project, strategy: "email", provider: "managedPool" };

describeOnEveryStore("sessions over HTTP", open => {
  let world: TestPlatform;
  let warnings: unknown[];
  beforeEach(async () => {
    warnings = [];
    const logger: Logger = {
      enabled: () => true,
      log: (level, event, fields) => void (level === "warn" && warnings.push([event, fields])),
    };
    world = await openPlatform(open, { logger });
  });
  afterEach(() => world.dispose());

  async function newUser(more: Partial<User> = {}, projectId: string = ids.project): Promise<User> {
    return await new Users(world.store, testSecret).create(projectId, {
      ...externalIds.seal("0f000000-0000-4000-8000-0000000000cc", "external-cc"),
      provider: "managedPool",
      username: "Kim",
      signUp: 1_700_000_000,
      loginHistory: [],
      devices: [],
      appProfile: {},
      ...more,
    });
  }
  async function openSession(user: User, projectId: string = ids.project): Promise<OpenedSession> {
    const project = await world.platform.directory.project(projectId);
    assert.ok(project !== null);
    return await world.platform.sessions.open(project, user, { deviceId });
  }
  async function signedIn(more?: Partial<User>): Promise<SessionTokens> {
    return (await openSession(await newUser(more))).tokens;
  }
  function refresh({ accessToken, refreshToken }: SessionTokens, more: object = {}): Promise<Answer> {
    const body = { ...managed, deviceId, refreshToken, ...more };
    return world.call("/v1/user/refresh", { token: accessToken, body });
  }
  function logOut(token: string, more: object = {}): Promise<Answer> {
    return world.call("/v1/user/logout", { token, body: { ...managed, ...more } });
  }
  function exchange(token: string, host?: string): Promise<Answer> {
    const body = { type: "accessToken", token };
    return world.call("/api/auth/token", { body, ...(host === undefined ? {} : { host }) });
  }
  function assertRefused(answer: Answer, status: number, code: string, action: string): void {
    assert.deepEqual([answer.status, errorCode(answer, "identity")], [status, code]);
    assert.equal(answer.json.data.action, action);
  }

  it("are refreshed with a signed record and three new tokens, in upper-case ids too", async () => {
    const user = await newUser();
    const { tokens } = await openSession(user);
    world.clock.advance(700_000);
    const upper = { projectId: ids.project.toUpperCase(), deviceId: deviceId.toUpperCase() };
    const { status, json, headers } = await refresh(tokens, upper);
    assert.equal(status, 200);
    assert.equal(headers.get("cache-control"), "no-store");
    const { accessToken, profileToken, refreshToken, signature, ...record } = json.data;
    assert.deepEqual(
      { ...json, data: record },
      {
        result: 1,
        message: "OK",
        data: {
          deviceId,
          timeStamp: Math.floor(world.clock.now() / 1_000),
          externalId: "external-cc",
          userId: user.userId,
          signUp: user.signUp,
        },
      },
    );
    const records = new SessionRecords(testSecret, new Users(world.store, testSecret));
    assert.ok(records.verify(ids.project, { ...record, signature }));
    for (const [name, token] of Object.entries({ accessToken, profileToken, refreshToken })) {
      assert.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/, name);
    }
    assert.equal((await refresh({ accessToken, profileToken, refreshToken })).status, 200);
  });

  it("are refreshed through the provider of their user alone", async () => {
    const tokens = await signedIn({ provider: "hostedIdp" });
    assertRefused(await refresh(tokens), 401, "invalid_token", "login");
    assert.equal((await refresh(tokens, { provider: "hostedIdp" })).status, 200);
    assertRefused(
      await refresh(tokens, { strategy: "simplified", provider: "noLogin" }),
      400,
      "unsupported_provider",
      "none",
    );
  });

  it("say what a client must do when they cannot be refreshed", async () => {
    const tokens = await signedIn();
    const another = await refresh(tokens, { deviceId: "0123abcd-0000-4000-8000-00000000000e" });
    assertRefused(another, 403, "device_mismatch", "login");
    assertRefused(await refresh({ ...tokens, refreshToken: "x" }), 401, "invalid_token", "login");
    const next: SessionTokens = (await refresh(tokens)).json.data;
    assert.equal((await refresh(next)).status, 200);
    world.clock.advance(refreshGraceMsMax + 1);
    const reused = await refresh(tokens);
    assertRefused(reused, 401, "refresh_token_reused", "login");
    assert.equal(reused.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
    assert.ok(reused.text.includes('"retryable":false'));
    const over = await refresh(next);
    assertRefused(over, 401, "session_revoked", "login");
    assert.equal(over.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
  });

  it("put refreshes on trail and log, also refused ones", async () => {
    const user = await newUser();
    const { session, tokens } = await openSession(user);
    await refresh((await refresh(tokens)).json.data);
    world.clock.advance(refreshGraceMsMax + 1);
    await refresh(tokens);
    await world.platform.idle();
    const trail = new Audit(world.store, testSecret, silentLogger);
    const { entries } = await trail.ofUser(ids.project, user.userId);
    assert.deepEqual(
      entries.map(({ event, outcome, sessionId }) => [event, outcome, sessionId]),
      [
        ["refresh", "refresh_token_reused", session.sid],
        ["refresh", "ok", session.sid],
        ["refresh", "ok", session.sid],
      ],
    );
    const expectedData = { projectId: ids.project, userId: user.userId, sessionId: session.sid };
    assert.deepEqual(warnings, [["refresh_token_reused", expectedData]]);
  });

  it("of banned users are not refreshed, but can be ended", async () => {
    const user = await newUser();
    const { tokens } = await openSession(user);
    await new Users(world.store, testSecret).update(ids.project, user.userId, old => ({
      ...old,
      ban: { reason: "spam", until: null },
    }));
    const answer = await refresh(tokens);
    assertRefused(answer, 403, "account_banned", "none");
    assert.equal(answer.json.data.until, null);
    assert.equal((await logOut(tokens.accessToken)).status, 200);
    assert.deepEqual(await world.platform.sessions.list(ids.project, user.userId), []);
  });

  it("end by logout, again and again, with the access token long expired", async () => {
    const tokens = await signedIn();
    world.clock.advance(3_600_000);
    for (let time = 0; time < 2; time++) {
      const { status, json } = await logOut(tokens.accessToken);
      assert.deepEqual([status, json], [200, { result: 1, message: "OK", data: {} }]);
    }
    assertRefused(await refresh(tokens), 401, "session_revoked", "login");
  });

  it("end by the scope of the logout", async () => {
    const user = await newUser();
    const [one, other] = [await openSession(user), await openSession(user)];
    const listed = async (): Promise<readonly string[]> =>
      (await world.platform.sessions.list(ids.project, user.userId)).map(({ sid }) => sid);
    assert.equal((await logOut(one.tokens.accessToken, { scope: "others" })).status, 200);
    assert.deepEqual(await listed(), [one.session.sid]);
    const late = await openSession(user);
    assert.equal((await logOut(other.tokens.accessToken, { scope: "global" })).status, 200);
    assert.deepEqual(new Set(await listed()), new Set([one.session.sid, late.session.sid]));
    assert.equal((await logOut(one.tokens.accessToken, { scope: "global" })).status, 200);
    assert.deepEqual(await listed(), []);
  });

  it("are exchanged for a space token, which ends with them in five seconds", async () => {
    const { accessToken } = await signedIn();
    const { status, json } = await exchange(accessToken);
    assert.equal(status, 200);
    const token: string = json.data.accessToken;
    assert.equal((await world.call("/api/loyalty/profile", { token })).status, 200);
    await logOut(accessToken);
    assertProblem(await exchange(accessToken), 401, "session_revoked");
    world.clock.advance(sessionStalenessMsMax);
    const late = await world.call("/api/loyalty/profile", { token });
    assertProblem(late, 401, "session_revoked");
    assert.equal(late.headers.get("www-authenticate"), 'Bearer error="invalid_token"');
  });

  it("are exchanged in the space of their project alone, by a live access token alone", async () => {
    const tokens = await signedIn();
    const foreign = await newUser({}, ids.otherProject);
    const elsewhere = (await openSession(foreign, ids.otherProject)).tokens;
    for (const host of [undefined, otherHost]) {
      const spaceOf = async (proof: string): Promise<unknown> =>
        unverifiedClaim((await exchange(proof, host)).json.data.accessToken, "spaceId");
      assert.equal(await spaceOf(tokens.accessToken), ids.space);
      assert.equal(await spaceOf(elsewhere.accessToken), ids.otherSpace);
    }
    const spaceToken: string = (await exchange(tokens.accessToken)).json.data.accessToken;
    assertProblem(await exchange(spaceToken), 401, "invalid_token");
    const [header, , signature] = tokens.accessToken.split(".");
    const claims = { projectId: ids.project, sub: foreign.userId, exp: 9_999_999_999 };
    const payload = Buffer.from(JSON.stringify(claims)).toString("base64url");
    assertProblem(await exchange(`${header}.${payload}.${signature}`), 401, "invalid_token");
    for (const token of [tokens.refreshToken, tokens.profileToken, "x", "a.b.c"]) {
      assertProblem(await exchange(token), 401, "invalid_credentials");
    }
    world.clock.advance(600_000);
    assertProblem(await exchange(tokens.accessToken), 401, "token_expired");
  });

  it("refuse an old session record after all sessions ended", async () => {
    const user = await newUser();
    const { tokens } = await openSession(user);
    const {
      accessToken: _,
      profileToken: __,
      refreshToken: ___,
      ...record
    } = (await refresh(tokens)).json.data;
    const byRecord = (): Promise<Answer> =>
      world.call("/api/auth/token", { body: { type: "sessionRecord", projectId: ids.project, record } });
    assert.equal((await byRecord()).status, 200);
    world.clock.advance(1_000);
    await world.platform.sessions.revokeAll(ids.project, user.userId);
    world.clock.advance(sessionStalenessMsMax);
    assertProblem(await byRecord(), 401, "session_revoked");
    await new Users(world.store, testSecret).update(ids.project, user.userId, old => ({
      ...old,
      ban: { reason: "spam", until: null },
    }));
    assertProblem(await byRecord(), 403, "account_banned");
  });
});

describeOnEveryStore("sessions behind a limiter", open => {
  it("are refreshed sixty times a minute at most", async () => {
    const world = await openPlatform(async clock => await open(clock), {
      limiter: createMemoryLimiter({ clock: () => 1_750_000_000_000 }),
    });
    try {
      const users = new Users(world.store, testSecret);
      const user = await users.create(ids.project, {
        ...externalIds.seal("0f000000-0000-4000-8000-0000000000cc", "external-cc"),
        provider: "managedPool",
        username: "Kim",
        signUp: 1_700_000_000,
        loginHistory: [],
        devices: [],
        appProfile: {},
      });
      const project = await world.platform.directory.project(ids.project);
      assert.ok(project !== null);
      const { tokens } = await world.platform.sessions.open(project, user, { deviceId });
      const statuses: number[] = [];
      for (let time = 0; time < 61; time++) {
        const body = { ...managed, deviceId, refreshToken: tokens.refreshToken };
        statuses.push((await world.call("/v1/user/refresh", { token: tokens.accessToken, body })).status);
      }
      assert.deepEqual(statuses.slice(0, 60), new Array(60).fill(200));
      assert.equal(statuses[60], 429);
    } finally {
      await world.dispose();
    }
  });
});
