import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { type User, Users } from "../../../../../lib/fans/identity/mod.ts";
import { sessionsPerUserMax } from "../../../../../lib/fans/identity/sessions/session.ts";
import { testSecret } from "../../../../support/platform.ts";
import { describeOnPairs } from "./_stores.ts";
import {
  asking,
  type Client,
  claimsOf,
  deviceId,
  login,
  openWorld,
  project,
  type World,
  withCode,
} from "./_world.ts";

const userAgentCharactersMax = 256;

describeOnPairs("sessions", open => {
  let world: World;
  before(async () => {
    world = await openWorld(open);
  });
  after(async () => await world.dispose());

  const sidOf = ({ tokens }: Client): string => String(claimsOf(tokens.accessToken).sid);
  async function listed(user: User): Promise<readonly string[]> {
    return (await world.second.sessions.list(project.id, user.userId)).map(({ sid }) => sid);
  }
  async function isAlive(client: Client): Promise<boolean> {
    return await client.use().then(
      () => true,
      error => !withCode("session_revoked")(error),
    );
  }

  it("know their user, device and network", async () => {
    const user = await world.user({ username: "Kim" });
    const opened = await world.first.sessions.open(project, user, {
      deviceId,
      userAgent: `${"x".repeat(userAgentCharactersMax - 1)}\u{1F600}`,
      address: "192.0.2.77",
    });
    const { accessToken } = opened.tokens;
    const now = world.clock.now();
    const found = await world.second.sessions.authenticate(asking(accessToken), project);
    assert.deepEqual(found.user, user);
    assert.deepEqual(found.project, project);
    assert.deepEqual(found.session, { ...opened.session, isConfirmed: true });
    const { sid: _, userAgent, ...session } = opened.session;
    assert.deepEqual(session, {
      userId: user.userId,
      deviceId,
      counter: 0,
      rotatedAt: now,
      isConfirmed: false,
      createdAt: now,
      lastSeen: now,
      authenticatedAt: now,
      expiresAt: now + 90 * 86_400_000,
      addressTag: "192.0.2.0/24",
    });
    assert.equal(userAgent.length, userAgentCharactersMax);
    assert.ok(userAgent.isWellFormed());
    assert.deepEqual(await world.second.sessions.list(project.id, user.userId), [found.session]);
  });

  it("keep the time of login when they are refreshed", async () => {
    const user = await world.user();
    const client = await login(world.first, user);
    const at = world.clock.now();
    world.clock.advance(3_600_000);
    await client.refresh();
    const [session] = await world.first.sessions.list(project.id, user.userId);
    assert.deepEqual(
      [session?.authenticatedAt, session?.createdAt, session?.lastSeen],
      [at, at, at + 3_600_000],
    );
  });

  it(`are at most ${sessionsPerUserMax} per user, and the ones unused for longest end`, async () => {
    const user = await world.user();
    const clients: Client[] = [];
    for (let number = 0; number < sessionsPerUserMax; number++) {
      clients.push(await login(number % 2 === 0 ? world.first : world.second, user));
      world.clock.advance(1_000);
    }
    assert.equal((await listed(user)).length, sessionsPerUserMax);
    const [first, second, third] = clients;
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await first.refresh();
    clients.push(await login(world.first, user), await login(world.second, user));
    const alive = await Promise.all(clients.map(isAlive));
    assert.deepEqual(alive.slice(0, 4), [true, false, false, true]);
    assert.equal(alive.filter(Boolean).length, sessionsPerUserMax);
    assert.deepEqual(new Set(await listed(user)), new Set(clients.filter((_, at) => alive[at]).map(sidOf)));
  });

  it("stay within their bound, all listed, when many open at once", async () => {
    const user = await world.user();
    const clients = await Promise.all(
      Array.from({ length: 3 * sessionsPerUserMax }, (_, number) =>
        login(number % 2 === 0 ? world.first : world.second, user),
      ),
    );
    const alive = await Promise.all(clients.map(isAlive));
    assert.equal(alive.filter(Boolean).length, sessionsPerUserMax);
    assert.deepEqual(new Set(await listed(user)), new Set(clients.filter((_, at) => alive[at]).map(sidOf)));
  });

  it("that are over by age leave the list and make room", async () => {
    const user = await world.user();
    for (let number = 0; number < sessionsPerUserMax; number++) await login(world.first, user);
    world.clock.advance(30 * 86_400_000);
    assert.deepEqual(await listed(user), []);
    const client = await login(world.first, user);
    assert.deepEqual(await listed(user), [sidOf(client)]);
    const [board] = await world.first.store.read(`p:${project.id}:user:${user.userId}`, [
      { type: "board", key: "sessions", limit: 100 },
    ]);
    assert.equal(board.size, 1);
  });

  it("end one by one, and report if they were alive", async () => {
    const user = await world.user();
    const [one, other] = [await login(world.first, user), await login(world.first, user)];
    const { sessions } = world.second;
    assert.equal(await sessions.revoke(project.id, user.userId, sidOf(one)), true);
    assert.equal(await sessions.revoke(project.id, user.userId, sidOf(one)), false);
    assert.equal(await sessions.revoke(project.id, user.userId, "nobody's"), false);
    assert.deepEqual([await isAlive(one), await isAlive(other)], [false, true]);
    assert.deepEqual(await listed(user), [sidOf(other)]);
  });

  it("end all at once, or all but one that continues", async () => {
    const user = await world.user();
    const clients = await Promise.all([1, 2, 3, 4].map(() => login(world.first, user)));
    const [kept] = clients;
    assert.ok(kept !== undefined);
    assert.equal(await world.second.sessions.revokeAll(project.id, user.userId, { except: sidOf(kept) }), 3);
    assert.deepEqual(await Promise.all(clients.map(isAlive)), [true, false, false, false]);
    await kept.refresh();
    const later = await login(world.first, user);
    assert.equal(await world.second.sessions.revokeAll(project.id, user.userId), 2);
    assert.equal(await world.second.sessions.revokeAll(project.id, user.userId), 0);
    assert.deepEqual([await isAlive(kept), await isAlive(later)], [false, false]);
    assert.equal(await isAlive(await login(world.first, user)), true);
  });

  it("all end even if one is not listed", async () => {
    const user = await world.user();
    const client = await login(world.first, user);
    await world.first.store.commit(`p:${project.id}:user:${user.userId}`, {
      writes: [{ type: "unscore", key: "sessions", member: sidOf(client) }],
    });
    assert.equal(await world.second.sessions.revokeAll(project.id, user.userId), 0);
    assert.equal(await isAlive(client), false);
    await assert.rejects(client.refresh(), withCode("session_revoked"));
  });

  it("that open while all end are over or listed, never alive and unlisted", async () => {
    for (let round = 0; round < 10; round++) {
      const user = await world.user();
      const before = await login(world.first, user);
      const logins = Array.from({ length: 6 }, () => login(world.first, user));
      const end = world.second.sessions.revokeAll(project.id, user.userId);
      const more = Array.from({ length: 6 }, () => login(world.second, user));
      const clients = [before, ...(await Promise.all([...logins, ...more]))];
      await end;
      const alive = await Promise.all(clients.map(isAlive));
      assert.equal(alive[0], false);
      const expected = clients.filter((_, at) => alive[at]).map(sidOf);
      assert.deepEqual(new Set(await listed(user)), new Set(expected));
      assert.equal(await world.first.sessions.revokeAll(project.id, user.userId), expected.length);
      assert.deepEqual(
        await Promise.all(clients.map(isAlive)),
        clients.map(() => false),
      );
    }
  });

  it("log out by their access token, expired or not, as often as one likes", async () => {
    const user = await world.user();
    const [one, other] = [await login(world.first, user), await login(world.first, user)];
    world.clock.advance(3_600_000);
    const request = asking(one.tokens.accessToken);
    for (let time = 0; time < 2; time++) await world.second.sessions.logOut(request, project);
    assert.deepEqual(await listed(user), [sidOf(other)]);
    await assert.rejects(world.first.sessions.logOut(asking(), project), withCode("missing_token"));
  });

  it("log the others out, or all, but not once they are over themselves", async () => {
    const user = await world.user();
    const [one, ...others] = await Promise.all([1, 2, 3].map(() => login(world.first, user)));
    assert.ok(one !== undefined);
    const { sessions } = world.second;
    const request = asking(one.tokens.accessToken);
    await sessions.logOut(request, project, { scope: "others" });
    assert.deepEqual(await Promise.all([one, ...others].map(isAlive)), [true, false, false]);
    const next = await login(world.first, user);
    await sessions.logOut(request, project, { scope: "global" });
    assert.deepEqual([await isAlive(one), await isAlive(next)], [false, false]);
    const last = await login(world.first, user);
    for (const scope of ["others", "global"] as const) await sessions.logOut(request, project, { scope });
    assert.equal(await isAlive(last), true);
  });

  it("of a user who is gone are over", async () => {
    const user = await world.user();
    const client = await login(world.first, user);
    await world.first.store.commit(`p:${project.id}:user:${user.userId}`, {
      writes: [{ type: "delete", shape: "record", key: "user" }],
    });
    await assert.rejects(client.use(), withCode("session_revoked"));
    await assert.rejects(client.refresh(), withCode("session_revoked"));
  });

  it("refuse a banned user with the end of the ban", async () => {
    const until = Math.floor(world.clock.now() / 1_000) + 60;
    const client = await login(world.first, await world.user({ ban: { reason: "spam", until } }));
    await assert.rejects(client.use(), error => {
      assert.deepEqual((error as { details?: unknown }).details, { until });
      return withCode("account_banned")(error);
    });
    world.clock.advance(61_000);
    await client.use();
  });

  it("see at once that their user is banned, for good, or renamed", async () => {
    const user = await world.user();
    const client = await login(world.first, user);
    await client.use();
    const users = new Users(world.second.store, testSecret);
    await users.update(project.id, user.userId, old => ({ ...old, username: "Robin" }));
    assert.equal((await client.use()).user.username, "Robin");
    const ban = { reason: "spam", until: null };
    await users.update(project.id, user.userId, old => ({ ...old, ban }));
    await assert.rejects(client.use(), withCode("account_banned"));
  });
});
