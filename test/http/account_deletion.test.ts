/** Users who delete their accounts. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { Users } from "../../lib/fans/identity/mod.ts";
import { spaceUserPartition } from "../../lib/fans/loyalty/user/state.ts";
import { userIndexPartition } from "../../lib/fans/users/mod.ts";
import { createPlatform, silentLogger } from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { createDyingStore, type DyingStore } from "../support/dying_store.ts";
import { quickKernels } from "../support/kernels.ts";
import { type Answer, ids, openPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { until } from "../support/until.ts";
import { backEnd } from "./audience/_back_end.ts";
import { indexedSeed } from "./audience/_searched.ts";
import { deviceId, Pool, password, pool } from "./managed_pool/_pool.ts";

const email = "fan@example.com";

/** Everything of a user in the store that is not removed with it. */
async function remainsOf(store: Store, userId: string): Promise<string[]> {
  const loyalty = spaceUserPartition({ organisationId: ids.organisation, userId });
  const records = ["loyalty", "profile", "inbox", "reversed"].map(key => ({ type: "record", key }) as const);
  const found = await store.read(loyalty, records);
  const [history, notices] = await store.read(loyalty, [
    { type: "log", key: "history", limit: 1 },
    { type: "log", key: "notifications", limit: 1 },
  ]);
  const user = await new Users(store, testSecret).findById(ids.project, userId);
  const holder = await new Users(store, testSecret).findByKey(ids.project, { kind: "email", email });
  return [
    ...records.flatMap(({ key }, index) => (found[index] == null ? [] : [key])),
    ...(history.length > 0 ? ["history"] : []),
    ...(notices.length > 0 ? ["notifications"] : []),
    ...(user === null ? [] : ["user"]),
    ...(holder?.userId === userId ? ["email"] : []),
  ];
}

/** The members of a session record that prove something. */
function recordOf({ isNew: _, ...record }: Answer["json"]): unknown {
  return record;
}

describeOnStores("the deletion of an account", open => {
  /** A user of the managed pool with points on a board. */
  async function openUser(wrap: (store: Store) => Store = store => store) {
    const desk = await Pool.open(async clock => wrap(await open(clock)));
    const member = await desk.member(email);
    const proof = { type: "accessToken", token: member.accessToken };
    const { accessToken: token } = (await desk.world.call("/api/auth/token", { body: proof })).json.data;
    const body = { action: "prediction", actionId: "one", data: { outcome: "exact", eventId: ids.event } };
    assert.equal((await desk.world.call("/api/loyalty/action", { token, body })).status, 200);
    await desk.world.platform.idle();
    const remove = (more: object = {}): Promise<Answer> =>
      desk.world.call(`/v1/user?${new URLSearchParams({ ...pool, ...more })}`, {
        method: "DELETE",
        token: member.accessToken,
      });
    const entry = (): Promise<Answer> =>
      desk.world.call(`/projects/${ids.project}/leaderboards/overall/users/${member.userId}`);
    return { desk, member, token, remove, entry };
  }

  it("ends everything about it, and leaves the address free for another", async t => {
    const { desk, member, token, remove, entry } = await openUser();
    t.after(() => desk.dispose());
    const { store } = desk.world;
    assert.equal((await entry()).status, 200);
    assert.ok((await remainsOf(store, member.userId)).includes("history"));

    const answer = await remove();
    assert.deepEqual([answer.status, answer.json], [200, { result: 1, message: "OK", data: {} }]);
    await desk.world.platform.idle();
    assert.deepEqual(await remainsOf(store, member.userId), []);
    assert.equal((await entry()).status, 404);
    assert.equal((await desk.profile(member.accessToken)).json.data.code, "session_revoked");
    assert.equal((await desk.refresh(member)).json.data.code, "session_revoked");
    desk.world.clock.advance(5_000);
    assert.equal((await desk.world.call("/api/loyalty/profile", { token })).status, 401);
    assert.equal((await desk.login(email)).json.data.code, "invalid_credentials");
    assert.equal((await remove()).json.data.code, "session_revoked");

    const next = await desk.member(email);
    assert.notEqual(next.userId, member.userId);
  });

  it("is not brought back as a nameless user by an action that was queued before", async t => {
    const { desk, member, remove, entry } = await openUser();
    t.after(() => desk.dispose());
    const { clock, platform } = desk.world;
    const late = { action: "prediction", data: { outcome: "exact" }, at: clock.now(), isClientReport: false };
    clock.advance(1_000);
    assert.equal((await remove()).status, 200);
    await platform.idle();
    const of = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      userId: member.userId,
      projectId: null,
    };
    const { applied, error } = await platform.loyalty.reportAll(of, [late]);
    assert.deepEqual([applied, (error as { code?: string }).code], [0, "forbidden"]);
    await platform.idle();
    assert.deepEqual(await remainsOf(desk.world.store, member.userId), []);
    assert.equal((await entry()).status, 404);
  });

  it("ends what a merged guest brought to it", async t => {
    const desk = await Pool.open(open);
    t.after(() => desk.dispose());
    const guest = await desk.anonymous();
    const proof = { type: "sessionRecord", projectId: ids.project, record: recordOf(guest) };
    const { accessToken: token } = (await desk.world.call("/api/auth/token", { body: proof })).json.data;
    const body = { action: "prediction", data: { outcome: "exact", eventId: ids.event } };
    assert.equal((await desk.world.call("/api/loyalty/action", { token, body })).status, 200);
    await desk.register(email);
    const login = await desk.login(email, { externalId: guest.externalId, deviceId });
    const { userId, accessToken } = login.json.data;
    await desk.world.platform.idle();
    assert.ok((await remainsOf(desk.world.store, userId)).includes("history"));
    assert.ok((await remainsOf(desk.world.store, guest.userId)).includes("history"));
    const path = `/v1/user?${new URLSearchParams(pool)}`;
    assert.equal((await desk.world.call(path, { method: "DELETE", token: accessToken })).status, 200);
    await desk.world.platform.idle();
    assert.deepEqual(await remainsOf(desk.world.store, userId), []);
    assert.deepEqual(await remainsOf(desk.world.store, guest.userId), []);
  });

  it("needs a login within 15 minutes, and a token of the provider", async t => {
    const { desk, member, remove } = await openUser();
    t.after(() => desk.dispose());
    assert.equal((await remove({ provider: "hostedIdp" })).json.data.code, "invalid_token");
    const withoutToken = await desk.world.call(`/v1/user?${new URLSearchParams(pool)}`, { method: "DELETE" });
    assert.equal(withoutToken.json.data.code, "missing_token");
    desk.world.clock.advance(900_000 - 1);
    const { accessToken } = (await desk.refresh(member)).json.data;
    desk.world.clock.advance(1);
    const late = await desk.world.call(`/v1/user?${new URLSearchParams(pool)}`, {
      method: "DELETE",
      token: accessToken,
    });
    assert.deepEqual([late.status, late.json.data.code], [403, "reauth_required"]);
    assert.equal((await desk.login(email)).status, 200);
  });

  it("is open to users without credentials by what proves them", async t => {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const remove = (query: Record<string, string>): Promise<Answer> =>
      world.call(
        `/v1/user?${new URLSearchParams({ projectId: ids.project, strategy: "simplified", ...query })}`,
        {
          method: "DELETE",
        },
      );
    const sam = await world.fan("Sam");
    await sam.act("prediction", { outcome: "exact" });
    assert.equal((await remove({ provider: "noLogin", externalId: "x".repeat(32) })).status, 404);
    const noLogin = { provider: "noLogin", externalId: sam.externalId };
    assert.equal((await remove(noLogin)).status, 200);
    assert.equal((await remove(noLogin)).status, 404);
    await world.platform.idle();
    assert.deepEqual(await remainsOf(world.store, sam.userId), []);

    const selector = { projectId: ids.project, strategy: "simplified", provider: "anonymous" };
    const data = { deviceId, additionalId: "tv" };
    const guest = (await world.call("/v1/user", { body: { ...selector, data } })).json.data;
    const pair = { provider: "anonymous", externalId: guest.externalId };
    assert.equal((await remove({ ...pair, deviceId: ids.project })).status, 401);
    assert.equal((await remove({ ...pair, deviceId })).status, 200);
    assert.equal((await remove({ ...pair, deviceId })).status, 401);
    const again = (await world.call("/v1/user", { body: { ...selector, data } })).json.data;
    assert.equal(again.isNew, true);
    assert.notEqual(again.userId, guest.userId);
  });

  it("is finished by another process, whenever its own dies", async () => {
    for (let at = 0, isFinished = false; !isFinished; at++) {
      let dying: DyingStore | undefined;
      let stored: Store | undefined;
      const { desk, member, remove } = await openUser(store => {
        stored = store;
        dying = createDyingStore(store);
        return dying;
      });
      assert.ok(dying !== undefined && stored !== undefined);
      const { userId } = member;
      dying.dieAt({ at, when: at % 2 === 0 ? "before" : "after" });
      const answer = await remove();
      isFinished = answer.status === 200 && !dying.isDead;
      await desk.world.platform.idle();
      const remained = await remainsOf(stored, userId);
      desk.world.clock.advance(60_000);
      const other = await createPlatform({
        store: stored,
        secret: testSecret,
        passwordKernels: quickKernels(),
        limiter: "off",
        logger: silentLogger,
        clock: desk.world.clock.now,
        defaultSpaceId: ids.space,
      });
      await other.work();
      await other.idle();
      const remains = await remainsOf(stored, userId);
      // Before the request was noted nothing was removed, and the user may ask again.
      const isUntouched = remained.includes("history") && remains.includes("history");
      assert.ok(isUntouched || remains.length === 0, `died at ${at}: ${remains.join()}`);
      assert.ok(at < 100);
      if (isUntouched) assert.ok(at < 6, `nothing was noted at ${at}`);
      await other.close();
      await stored[Symbol.asyncDispose]();
    }
  });

  it("takes users off boards and indexes that a score on its way reached, but not those who began anew", async t => {
    const keys = ["metric:points", "board"];
    const held = { isOn: false, partitions: [] as string[], release: [] as (() => void)[] };
    const world = await openPlatform(
      async clock => {
        const store = await open(clock);
        const commit: Store["commit"] = async (partition, batch) => {
          const isScore =
            batch.writes?.some(({ type, key }) => type === "score" && keys.includes(key)) === true;
          if (held.isOn && isScore) {
            held.partitions.push(partition);
            await new Promise<void>(resolve => held.release.push(resolve));
          }
          return await store.commit(partition, batch);
        };
        return new Proxy(store, {
          get: (target, name) => {
            const member = name === "commit" ? commit : Reflect.get(target, name, target);
            return typeof member === "function" ? member.bind(target) : member;
          },
        });
      },
      { seed: indexedSeed },
    );
    t.after(() => world.dispose());
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    const report = await backEnd(world);
    const isListed = async (userId: string): Promise<readonly boolean[]> => {
      const [indexed] = await world.store.read(userIndexPartition(ids.organisation, userId), [
        { type: "standing", key: "metric:points", member: userId },
      ]);
      const entry = await world.call(`/projects/${ids.project}/leaderboards/overall/users/${userId}`);
      return [indexed !== null, entry.status === 200];
    };
    held.isOn = true;
    for (const fan of [sam, kim]) await fan.act("prediction", { outcome: "exact" });
    await until("Sam's scores are on their way", () =>
      [userIndexPartition(ids.organisation, sam.userId), "overall"].every(part =>
        held.partitions.some(partition => partition.includes(part)),
      ),
    );
    held.isOn = false;
    for (const { externalId } of [sam, kim]) {
      const query = new URLSearchParams({
        ...{ projectId: ids.project, strategy: "simplified", provider: "noLogin" },
        externalId,
      });
      assert.equal((await world.call(`/v1/user?${query}`, { method: "DELETE" })).status, 200);
    }
    for (const release of held.release) release();
    await world.platform.idle();
    assert.deepEqual(await isListed(sam.userId), [true, true], "the scores came after the removal");
    const actions = [
      { userId: kim.userId, projectId: ids.project, action: "prediction", data: { outcome: "exact" } },
    ];
    assert.equal((await report("/v1/api/audience/internal/actions/bulk", { body: { actions } })).status, 202);
    await world.platform.idle();
    world.clock.advance(60_000);
    await world.platform.work();
    await world.platform.idle();
    assert.deepEqual(await isListed(sam.userId), [false, false]);
    assert.deepEqual(await isListed(kim.userId), [true, true], "a back end reported the id again");
  });

  it("leaves users on lists whom a back end reports again, at once or while the removal is under way", async t => {
    let betweenSteps = async (): Promise<void> => {};
    const world = await openPlatform(async clock => {
      const store = await open(clock);
      const commit: Store["commit"] = async (partition, batch) => {
        const takesOffLists = batch.writes?.some(({ type, key }) => type === "unscore" && key === "created");
        if (takesOffLists === true) await betweenSteps();
        return await store.commit(partition, batch);
      };
      return new Proxy(store, {
        get: (target, name) => {
          const member = name === "commit" ? commit : Reflect.get(target, name, target);
          return typeof member === "function" ? member.bind(target) : member;
        },
      });
    });
    t.after(() => world.dispose());
    const call = await backEnd(world, ["actions:write", "users:read"]);
    const report = async (userId: string): Promise<void> => {
      const action = { userId, projectId: ids.project, action: "prediction", data: { outcome: "exact" } };
      const { status } = await call("/v1/api/audience/internal/actions/bulk", {
        body: { actions: [action] },
      });
      assert.equal(status, 202);
      await world.platform.idle();
    };
    const remove = async (externalId: string): Promise<void> => {
      const selector = { projectId: ids.project, strategy: "simplified", provider: "noLogin", externalId };
      const { status } = await world.call(`/v1/user?${new URLSearchParams(selector)}`, { method: "DELETE" });
      assert.equal(status, 200);
    };
    const found = async (): Promise<string[]> => {
      const { json } = await call("/v1/api/audience/internal/users/search", {
        body: { filter: {}, fields: ["userId"], limit: 100 },
      });
      return json.data.map(({ userId }: { userId: string }) => userId).toSorted();
    };
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    for (const { userId } of [sam, kim]) await report(userId);
    await remove(sam.externalId);
    await report(sam.userId);
    assert.deepEqual(await found(), [sam.userId, kim.userId].toSorted());
    betweenSteps = () => {
      betweenSteps = async () => {};
      return report(kim.userId);
    };
    await remove(kim.externalId);
    assert.deepEqual(await found(), [sam.userId]);
    world.clock.advance(60_000);
    await world.platform.work();
    assert.deepEqual(await found(), [sam.userId, kim.userId].toSorted());
  });

  it("leaves no way to log in while it is interrupted", async t => {
    const { desk, member } = await openUser();
    t.after(() => desk.dispose());
    await new Users(desk.world.store, testSecret).update(ids.project, member.userId, user => ({
      ...user,
      isRetired: true,
    }));
    assert.equal((await desk.login(email, { password })).json.data.code, "invalid_credentials");
  });
});
