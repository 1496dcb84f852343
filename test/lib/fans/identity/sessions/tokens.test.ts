import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import type { TokenContent } from "../../../../../lib/auth/tokens/mod.ts";
import { Users } from "../../../../../lib/fans/identity/mod.ts";
import {
  accessTokenTtlSecondsMax,
  projectAudience,
} from "../../../../../lib/fans/identity/sessions/session.ts";
import { Sessions } from "../../../../../lib/fans/identity/sessions/sessions.ts";
import { createSpaceTokens } from "../../../../../lib/fans/space_tokens/mod.ts";
import { testSecret } from "../../../../support/platform.ts";
import { CountingStore, createTestRandom } from "../../../auth/_setup.ts";
import {
  asking,
  type Client,
  claimsOf,
  deviceId,
  issuer,
  login,
  openWorld,
  otherProject,
  project,
  type World,
  withCode,
} from "./_world.ts";

const accessTokenTtlSecondsMin = 570;

const account = {
  email: "kim@example.com",
  isEmailVerified: true,
  isContested: false,
  nickname: "Kimmy",
  passwordHash: "$scrypt$",
  terms: ["", ""] as const,
  updatedAt: 1,
};

describe("the tokens of a session", () => {
  let world: World;
  let store: CountingStore;
  let client: Client;
  before(async () => {
    world = await openWorld(async clock => {
      store = new CountingStore(createMemoryStore({ clock }));
      return [store, store];
    }, createTestRandom());
    client = await login(world.first, await world.user({ username: "Kim", account }));
  });
  after(async () => await world.dispose());

  it("say what a verifier elsewhere needs, and no more", () => {
    const now = Math.floor(world.clock.now() / 1_000);
    const { exp, jti, sid, ...access } = claimsOf(client.tokens.accessToken);
    assert.deepEqual(access, {
      iss: issuer,
      aud: projectAudience(project.id),
      sub: "0f000000-0000-4000-8000-000000000001",
      orgId: project.organisationId,
      scope: ["audience:read", "audience:write"],
      projectId: project.id,
      did: deviceId,
      rc: 0,
      iat: now,
    });
    assert.match(String(jti), /^[0-9a-f-]{36}$/);
    assert.match(String(sid), /^[0-9a-f-]{36}$/);
    assert.ok(Number(exp) - now >= accessTokenTtlSecondsMin && Number(exp) - now <= accessTokenTtlSecondsMax);
    const profile = claimsOf(client.tokens.profileToken);
    assert.deepEqual(
      [profile.username, profile.email, profile.nickname],
      ["Kim", "kim@example.com", "Kimmy"],
    );
    assert.ok(!JSON.stringify(profile).includes("scrypt"));
    const refresh = claimsOf(client.tokens.refreshToken);
    assert.deepEqual([refresh.sub, refresh.sid, refresh.ctr], [access.sub, sid, 0]);
    assert.equal(refresh.exp, now + 30 * 86_400);
  });

  it("live 570 to 600 seconds, spread by the generator", async () => {
    for (const [byte, ttl] of [
      [0, accessTokenTtlSecondsMax],
      [255, accessTokenTtlSecondsMin],
    ] as const) {
      const random = (length: number): Uint8Array => new Uint8Array(length).fill(byte);
      const { tokens } = world.first;
      const users = new Users(store, testSecret);
      const sessions = new Sessions({ store, users, tokens, clock: world.clock.now, random, issuer });
      const opened = await sessions.open(project, await world.user(), { deviceId });
      const { iat, exp } = claimsOf(opened.tokens.accessToken);
      assert.equal(Number(exp) - Number(iat), ttl);
    }
  });

  it("pass for nothing but their own kind, nor for another project, nor do space tokens", async () => {
    const space = { id: project.spaceId, organisationId: project.organisationId, name: "", settings: {} };
    const spaceTokens = createSpaceTokens({
      tokens: world.first.tokens,
      directory: { space: id => (id === space.id ? space : null) },
      issuer,
    });
    const { sub, sid } = claimsOf(client.tokens.accessToken);
    const caller = {
      kind: "user",
      userId: String(sub),
      organisationId: space.organisationId,
      spaceId: space.id,
      projectId: project.id,
      sessionId: String(sid),
    } as const;
    const spaceToken = (await spaceTokens.issue(space, caller)).accessToken;
    const elsewhere = await world.user({}, otherProject.id);
    const foreign = (await world.first.sessions.open(otherProject, elsewhere, { deviceId })).tokens;
    const { accessToken, profileToken, refreshToken } = client.tokens;
    const { sessions } = world.first;
    const wrongBearers = [refreshToken, profileToken, spaceToken, foreign.accessToken, foreign.refreshToken];
    for (const bearer of wrongBearers) {
      for (const acceptExpired of [false, true]) {
        await assert.rejects(
          sessions.authenticate(asking(bearer), project, { acceptExpired }),
          withCode("invalid_token"),
        );
      }
      await assert.rejects(sessions.logOut(asking(bearer), project), withCode("invalid_token"));
      await assert.rejects(
        sessions.refresh(project, { deviceId, refreshToken, request: asking(bearer) }),
        withCode("invalid_token"),
      );
    }
    for (const wrong of [accessToken, profileToken, spaceToken, foreign.refreshToken, "a.b.c", "x"]) {
      await assert.rejects(
        sessions.refresh(project, { deviceId, refreshToken: wrong, request: asking(accessToken) }),
        withCode("invalid_token"),
      );
    }
    await assert.rejects(sessions.authenticate(asking(accessToken), otherProject), withCode("invalid_token"));
    for (const token of [accessToken, profileToken, refreshToken]) {
      await assert.rejects(async () => await spaceTokens.verify(token), withCode("invalid_token"));
    }
    await client.use();
    assert.equal(await client.copy().refresh(), 1);
  });

  it("must name a session and a counter", async () => {
    const content: TokenContent = {
      typ: "at+jwt",
      issuer,
      audience: projectAudience(project.id),
      subject: "somebody",
      ttlSeconds: 60,
    };
    for (const claims of [{}, { sid: "s" }, { rc: 0 }, { sid: 1, rc: 0 }, { sid: "s", rc: "0" }]) {
      const token = await world.first.tokens.sign({ ...content, claims });
      await assert.rejects(
        world.first.sessions.authenticate(asking(token), project),
        withCode("invalid_token"),
        JSON.stringify(claims),
      );
    }
    const token = await world.first.tokens.sign({ ...content, claims: { sid: "s", rc: 0 } });
    await assert.rejects(
      world.first.sessions.authenticate(asking(token), project),
      withCode("session_revoked"),
    );
  });

  it("from a counter that the session has not reached are of no session", async () => {
    const fresh = await login(world.first, await world.user());
    const { sid, sub } = claimsOf(fresh.tokens.refreshToken);
    const forged = await world.first.tokens.sign({
      typ: "rt+jwt",
      issuer,
      audience: projectAudience(project.id),
      subject: String(sub),
      ttlSeconds: 60,
      claims: { sid, ctr: 1 },
    });
    const request = asking(fresh.tokens.accessToken);
    await assert.rejects(
      world.first.sessions.refresh(project, { deviceId, refreshToken: forged, request }),
      withCode("session_revoked"),
    );
    assert.equal(await fresh.refresh(), 1);
  });

  it("cost one read of the store to check, and one commit the first time after a refresh", async () => {
    const fresh = await login(world.first, await world.user());
    for (const [reads, commits] of [
      [2, 1],
      [1, 0],
      [1, 0],
    ]) {
      const before = { reads: store.reads, commits: store.commits };
      await fresh.use();
      assert.deepEqual([store.reads - before.reads, store.commits - before.commits], [reads, commits]);
    }
    const before = { reads: store.reads, commits: store.commits };
    await fresh.refresh();
    assert.deepEqual([store.reads - before.reads, store.commits - before.commits], [1, 1]);
  });

  it("do not pass while the store is down", async () => {
    const fresh = await login(world.first, await world.user());
    await fresh.use();
    store.isDown = true;
    try {
      await assert.rejects(fresh.use(), withCode("storage_unavailable"));
      await assert.rejects(fresh.refresh(), withCode("storage_unavailable"));
    } finally {
      store.isDown = false;
    }
    await fresh.use();
    assert.equal(await fresh.refresh(), 1);
  });
});
