import assert from "node:assert/strict";
import { after, before, it } from "node:test";
import { createRandom } from "../../../../../adapters/conformance/random.ts";
import { sessionAgeMsMax, sessionIdleMsMax } from "../../../../../lib/fans/identity/sessions/session.ts";
import { confirmRule } from "../../../../../lib/fans/identity/sessions/sessions.ts";
import { decide } from "../../../../../lib/storage/mod.ts";
import { describeOnPairs } from "./_stores.ts";
import {
  asking,
  Client,
  claimsOf,
  deviceId,
  login,
  openWorld,
  project,
  type World,
  withCode,
} from "./_world.ts";

const refreshGraceMsMax = 30_000;
const refreshRetryMsMax = 24 * 3_600_000;

const racers = 64;
const dayMs = 24 * 3_600_000;

describeOnPairs("a refresh", open => {
  let world: World;
  before(async () => {
    world = await openWorld(open);
  });
  after(async () => await world.dispose());

  it(`of ${racers} racers with one token leads to one successor, and all survive the next ones`, async () => {
    const client = await login(world.first, await world.user());
    const clients = Array.from({ length: racers }, (_, index) =>
      client.copy(index % 2 === 0 ? world.first : world.second),
    );
    for (const counter of [1, 2, 3]) {
      const counters = await Promise.all(clients.map(racer => racer.refresh()));
      assert.deepEqual(new Set(counters), new Set([counter]));
      assert.equal(new Set(clients.map(({ tokens }) => tokens.refreshToken)).size, racers);
    }
    await Promise.all(clients.map(racer => racer.use()));
    assert.equal(world.reused.length, 0);
  });

  it("never brings a session back that is ended at the same time", async () => {
    for (let round = 0; round < 12; round++) {
      const user = await world.user();
      const client = await login(world.first, user);
      const { accessToken } = client.tokens;
      const { sessions } = world.second;
      const ends = [
        () => sessions.logOut(asking(accessToken), project),
        () => sessions.logOut(asking(accessToken), project, { scope: "global" }),
        () => sessions.revokeAll(project.id, user.userId),
      ];
      const clients = Array.from({ length: 8 }, () => client.copy());
      const refreshes = clients.map(racer => racer.refresh());
      const end = ends[round % ends.length]?.();
      const outcomes = await Promise.allSettled(refreshes);
      await end;
      for (const outcome of outcomes) {
        if (outcome.status === "rejected") withCode("session_revoked")(outcome.reason);
      }
      assert.deepEqual(await sessions.list(project.id, user.userId), []);
      for (const racer of clients) {
        await assert.rejects(racer.refresh(), withCode("session_revoked"));
        await assert.rejects(racer.use(), withCode("session_revoked"));
      }
    }
  });

  it("with a stolen token that the user has replaced ends the session and calls the hook", async () => {
    const user = await world.user();
    const [client, elsewhere] = [await login(world.first, user), await login(world.first, user)];
    const thief = client.copy(world.second);
    await client.refresh();
    await client.use();
    world.clock.advance(refreshGraceMsMax + 1);
    await assert.rejects(thief.refresh(), withCode("refresh_token_reused"));
    const ended = world.reused.splice(0);
    assert.deepEqual(
      ended.map(([projectId, { sid, userId }]) => [projectId, sid, userId]),
      [[project.id, claimsOf(client.tokens.refreshToken).sid, user.userId]],
    );
    await assert.rejects(client.use(), withCode("session_revoked"));
    await assert.rejects(client.refresh(), withCode("session_revoked"));
    await assert.rejects(thief.refresh(), withCode("session_revoked"));
    await elsewhere.use();
    assert.deepEqual(world.reused, []);
  });

  it("of the user ends the session if a thief was first and used the new tokens", async () => {
    const client = await login(world.first, await world.user());
    const thief = client.copy(world.second);
    await thief.refresh();
    await thief.use();
    world.clock.advance(refreshGraceMsMax + 1);
    await assert.rejects(client.refresh(), withCode("refresh_token_reused"));
    assert.equal(world.reused.splice(0).length, 1);
    await assert.rejects(thief.use(), withCode("session_revoked"));
    await assert.rejects(thief.refresh(), withCode("session_revoked"));
  });

  it("with a token of two rotations ago ends the session, however soon", async () => {
    const client = await login(world.first, await world.user());
    const thief = client.copy();
    await client.refresh();
    await client.refresh();
    await assert.rejects(thief.refresh(), withCode("refresh_token_reused"));
    assert.equal(world.reused.splice(0).length, 1);
    await assert.rejects(client.refresh(), withCode("session_revoked"));
  });

  it("whose answer was lost can be requested again within a day", async () => {
    const client = await login(world.first, await world.user());
    await client.copy().refresh();
    world.clock.advance(refreshRetryMsMax);
    assert.equal(await client.refresh(), 1);
    await client.use();
    assert.equal(await client.refresh(), 2);
  });

  it("can be requested again although the answer of the one before was used", async () => {
    const client = await login(world.first, await world.user());
    await client.refresh();
    await client.use();
    await client.copy().refresh();
    world.clock.advance(refreshGraceMsMax + 1);
    assert.equal(await client.refresh(), 2);
  });

  it("whose answer was lost for longer than a day needs a new login", async () => {
    const client = await login(world.first, await world.user());
    await client.copy().refresh();
    world.clock.advance(refreshRetryMsMax + 1);
    await assert.rejects(client.refresh(), withCode("refresh_token_reused"));
    world.reused.length = 0;
  });

  it("whose answer was used is repeated for as long as racers may be late, and no longer", async () => {
    const client = await login(world.first, await world.user());
    const racer = client.copy(world.second);
    await client.refresh();
    await client.use();
    world.clock.advance(refreshGraceMsMax);
    assert.equal(await racer.copy().refresh(), 1);
    world.clock.advance(1);
    await assert.rejects(racer.refresh(), withCode("refresh_token_reused"));
    world.reused.length = 0;
  });

  it("with the access token that the lost answer carried is no retry", async () => {
    const client = await login(world.first, await world.user());
    const mixed = client.copy();
    await client.refresh();
    mixed.tokens = { ...mixed.tokens, accessToken: client.tokens.accessToken };
    world.clock.advance(refreshGraceMsMax + 1);
    await assert.rejects(mixed.refresh(), withCode("refresh_token_reused"));
    world.reused.length = 0;
  });

  it("is not confirmed by an older access token", async () => {
    const user = await world.user();
    const client = await login(world.first, user);
    const { sid } = (await client.use()).session;
    await client.copy().refresh();
    // As if the request had found the session right before the refresh.
    await decide(world.second.store, `p:${project.id}:user:${user.userId}`, confirmRule(sid, 0));
    world.clock.advance(refreshGraceMsMax + 1);
    assert.equal(await client.refresh(), 1);
  });

  it("serves clients that lose answers, are late or race with many tabs", async () => {
    const random = createRandom(20_250_615);
    const client = await login(world.first, await world.user());
    const steps: (() => unknown)[] = [
      () => client.refresh(),
      () => client.copy(world.second).refresh(),
      () => Promise.all([client.copy(world.second).refresh(), client.copy().refresh(), client.refresh()]),
      () => world.clock.advance(random.integer(60_000)),
      () => world.clock.advance(random.integer(23 * 3_600_000)),
      // An access token that is still good may be used; an expired one is not.
      () => client.use().catch(withCode("token_expired")),
    ];
    for (let number = 0; number < 300; number++) {
      const before = world.clock.now();
      await random.pick(steps)();
      // A client repeats lost requests within a day.
      if (world.clock.now() > before || random.chance(0.3)) await client.refresh();
    }
    assert.deepEqual(world.reused, []);
  });

  it("works with an access token that expired long ago", async () => {
    const client = await login(world.first, await world.user());
    world.clock.advance(20 * dayMs);
    await assert.rejects(client.use(), withCode("token_expired"));
    assert.equal(await client.refresh(), 1);
    await client.use();
  });

  it("keeps a session alive that would be idle, until its last day", async () => {
    const user = await world.user();
    const client = await login(world.first, user);
    for (const day of [29, 58, 87]) {
      world.clock.advance(29 * dayMs);
      await client.refresh();
      assert.equal((await world.first.sessions.list(project.id, user.userId)).length, 1, `day ${day}`);
    }
    world.clock.advance(sessionAgeMsMax - 87 * dayMs - 1);
    await client.refresh();
    await client.use();
    world.clock.advance(1);
    await assert.rejects(client.use(), withCode("session_revoked"));
    await assert.rejects(client.refresh(), withCode("session_revoked"));
    assert.deepEqual(await world.first.sessions.list(project.id, user.userId), []);
  });

  it("is refused for a session that was idle for 30 days", async () => {
    const client = await login(world.first, await world.user());
    world.clock.advance(sessionIdleMsMax - 1);
    await client.copy().refresh();
    const idle = await login(world.first, await world.user());
    world.clock.advance(sessionIdleMsMax);
    await assert.rejects(idle.refresh(), withCode("session_revoked"));
    assert.deepEqual(world.reused, []);
  });

  it("from another device, or with another provider, is refused and changes nothing", async () => {
    const client = await login(world.first, await world.user());
    const { accessToken, refreshToken } = client.tokens;
    const input = { deviceId, refreshToken, request: asking(accessToken) };
    const another = "0123abcd-0000-4000-8000-00000000000e";
    const { sessions } = world.first;
    await assert.rejects(
      sessions.refresh(project, { ...input, deviceId: another }),
      withCode("device_mismatch"),
    );
    await assert.rejects(
      sessions.refresh(project, { ...input, provider: "hostedIdp" }),
      withCode("invalid_token"),
    );
    assert.equal(await client.refresh(), 1);
  });

  it("needs the two tokens of one session", async () => {
    const user = await world.user();
    const [one, other] = [await login(world.first, user), await login(world.first, user)];
    const mixed = new Client(world.first, { ...one.tokens, accessToken: other.tokens.accessToken });
    await assert.rejects(mixed.refresh(), withCode("invalid_token"));
    const request = asking();
    const { refreshToken } = one.tokens;
    await assert.rejects(
      world.first.sessions.refresh(project, { deviceId, refreshToken, request }),
      withCode("missing_token"),
    );
    assert.deepEqual([await one.refresh(), await other.refresh()], [1, 1]);
  });

  it("of a banned user waits for the end of the ban", async () => {
    const until = world.clock.now() / 1_000 + 60;
    const client = await login(world.first, await world.user({ ban: { reason: "spam", until } }));
    await assert.rejects(client.refresh(), withCode("account_banned"));
    await assert.rejects(client.use(), withCode("account_banned"));
    world.clock.advance(60_000);
    assert.equal(await client.refresh(), 1);
  });

  it("authorizes the holder before anything is read or changed", async () => {
    const client = await login(world.first, await world.user());
    const { accessToken, refreshToken } = client.tokens;
    const refused = new Error("not today");
    const authorize = (): never => {
      throw refused;
    };
    const input = { deviceId, refreshToken, request: asking(accessToken), authorize };
    await assert.rejects(world.first.sessions.refresh(project, input), refused);
    assert.equal(await client.refresh(), 1);
  });
});
