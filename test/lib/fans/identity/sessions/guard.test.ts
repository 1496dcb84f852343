import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../../../../adapters/memory/mod.ts";
import { accessTokenTtlSecondsMax } from "../../../../../lib/fans/identity/sessions/session.ts";
import { SessionGuard, sessionStalenessMsMax } from "../../../../../lib/fans/identity/sessions/sessions.ts";
import { CountingStore, hasCode } from "../../../auth/_setup.ts";
import { describeOnPairs } from "./_stores.ts";
import { claimsOf, deviceId, openWorld, project, type World } from "./_world.ts";

const sessionGuardEntriesMax = 100_000;

const projectId = project.id;

describeOnPairs("the session guard", open => {
  let world: World;
  let guard: SessionGuard;
  before(async () => {
    world = await openWorld(open);
    guard = new SessionGuard({ store: world.second.store, clock: world.clock.now });
  });
  after(async () => await world.dispose());

  async function opened(): Promise<{ readonly userId: string; readonly sessionId: string }> {
    const user = await world.user();
    const { session } = await world.first.sessions.open(project, user, { deviceId });
    return { userId: user.userId, sessionId: session.sid };
  }

  it("learns within its staleness that a session is over, however it ended", async () => {
    const ends: ((claim: { userId: string; sessionId: string }) => Promise<unknown>)[] = [
      ({ userId, sessionId }) => world.first.sessions.revoke(projectId, userId, sessionId),
      ({ userId }) => world.first.sessions.revokeAll(projectId, userId),
    ];
    for (const end of ends) {
      const claim = { projectId, ...(await opened()) };
      await guard.check(claim);
      await end(claim);
      world.clock.advance(sessionStalenessMsMax);
      await assert.rejects(async () => await guard.check(claim), hasCode("session_revoked"));
      await assert.rejects(async () => await guard.check(claim), hasCode("session_revoked"));
    }
  });

  it("lets the session pass that continues when the others end", async () => {
    const user = await world.user();
    const [kept, ended] = await Promise.all(
      [1, 2].map(async () => {
        const { session } = await world.first.sessions.open(project, user, { deviceId });
        return { projectId, userId: user.userId, sessionId: session.sid };
      }),
    );
    assert.ok(kept !== undefined && ended !== undefined);
    await guard.check(kept);
    await world.first.sessions.revokeAll(projectId, user.userId, { except: kept.sessionId });
    world.clock.advance(sessionStalenessMsMax);
    await guard.check(kept);
    await assert.rejects(async () => await guard.check(ended), hasCode("session_revoked"));
  });

  it("holds proofs without a session to the cut-off of their user", async () => {
    const { userId } = await opened();
    const issuedAt = Math.floor(world.clock.now() / 1_000);
    await guard.check({ projectId, userId, issuedAt });
    world.clock.advance(2_000);
    await world.first.sessions.revokeAll(projectId, userId);
    world.clock.advance(sessionStalenessMsMax);
    await assert.rejects(
      async () => await guard.check({ projectId, userId, issuedAt }),
      hasCode("session_revoked"),
    );
    // One of the very second may be older than the cut-off.
    await assert.rejects(
      async () => await guard.check({ projectId, userId, issuedAt: issuedAt + 2 }),
      hasCode("session_revoked"),
    );
    await guard.check({ projectId, userId, issuedAt: issuedAt + 3 });
    await guard.check({ projectId, userId: "nobody", issuedAt });
  });

  it("knows no session of another user or project", async () => {
    const [one, other] = [await opened(), await opened()];
    const wrong = [
      { projectId, userId: other.userId, sessionId: one.sessionId },
      { projectId: "elsewhere", userId: one.userId, sessionId: one.sessionId },
    ];
    for (const claim of wrong) {
      await assert.rejects(async () => await guard.check(claim), hasCode("session_revoked"));
    }
  });
});

describe("the cache of the session guard", () => {
  it("saves reads for five seconds, and shares one read", async () => {
    const world = await openWorld(async clock => {
      const store = new CountingStore(createMemoryStore({ clock }));
      return [store, store];
    });
    const store = world.first.store as CountingStore;
    const guard = new SessionGuard({ store, clock: world.clock.now });
    const user = await world.user();
    const { tokens } = await world.first.sessions.open(project, user, { deviceId });
    const claim = { projectId, userId: user.userId, sessionId: String(claimsOf(tokens.accessToken).sid) };
    const start = store.reads;
    await Promise.all(Array.from({ length: 50 }, () => guard.check(claim)));
    assert.equal(store.reads - start, 1);
    world.clock.advance(sessionStalenessMsMax - 1);
    await guard.check(claim);
    assert.equal(store.reads - start, 1);
    world.clock.advance(1);
    await guard.check(claim);
    assert.equal(store.reads - start, 2);
    await world.first.sessions.revoke(projectId, user.userId, claim.sessionId);
    world.clock.advance(sessionStalenessMsMax);
    await assert.rejects(async () => await guard.check(claim), hasCode("session_revoked"));
    const denied = store.reads;
    world.clock.advance(accessTokenTtlSecondsMax * 1_000 - 1);
    await assert.rejects(async () => await guard.check(claim), hasCode("session_revoked"));
    assert.equal(store.reads, denied);
  });

  it("is refused while the store is down", async () => {
    const store = new CountingStore(createMemoryStore());
    store.isDown = true;
    const guard = new SessionGuard({ store, clock: () => 0 });
    const claim = { projectId, userId: "u", sessionId: "s" };
    await assert.rejects(async () => await guard.check(claim), hasCode("storage_unavailable"));
    assert.equal(guard.size, 0);
    store.isDown = false;
    await assert.rejects(async () => await guard.check(claim), hasCode("session_revoked"));
  });

  it("is bounded", async () => {
    const guard = new SessionGuard({ store: createMemoryStore(), clock: () => 0 });
    for (let number = 0; number < sessionGuardEntriesMax * 1.2; number++) {
      await guard.check({ projectId, userId: `u${number}`, issuedAt: 0 });
    }
    assert.ok(guard.size <= sessionGuardEntriesMax, `${guard.size}`);
    assert.ok(guard.size >= sessionGuardEntriesMax / 2);
  });
});
