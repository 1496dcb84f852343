/** What an anonymous user has earned goes over to the account that it logs in to: once, whatever happens on the way. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import type { Store } from "../../../lib/storage/mod.ts";
import { createDyingStore, type Death } from "../../support/dying_store.ts";
import { sampleSize } from "../../support/full.ts";
import { type Answer, ids } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { until } from "../../support/until.ts";
import { assertProblem } from "../_problem.ts";
import { backEnd, pointsOf } from "../audience/_back_end.ts";
import { searchPath } from "../audience/_searched.ts";
import { Pool } from "./_pool.ts";

const email = "ann@example.com";
/** Time after which a merge is worked on again. */
const mergeAgainMs = 60_000;
/** Time within which a user who was registered is due. */
const dueMs = 3_600_000;
const badges = { badges: ["oracle"] };

type Fan = { readonly userId: string; readonly token: string; readonly record: Answer["json"] };

/** The pair with which an anonymous user proves itself at login. */
function pairOf({ record: { externalId, deviceId } }: Fan): Record<"externalId" | "deviceId", string> {
  return { externalId, deviceId };
}

async function fan(pool: Pool, answer: Answer["json"]): Promise<Fan> {
  const { isNew: _, accessToken: __, refreshToken: ___, profileToken: ____, ...record } = answer;
  const body = { type: "sessionRecord", projectId: ids.project, record };
  const issued = await pool.world.call("/api/auth/token", { body });
  return { userId: record.userId, token: issued.json.data.accessToken, record };
}

function act(pool: Pool, { token }: Fan, action: string, data: object = {}): Promise<Answer> {
  return pool.world.call("/api/loyalty/action", { token, body: { action, data } });
}

async function rewards(pool: Pool, { token }: Fan): Promise<Answer["json"]> {
  return (await pool.world.call("/api/loyalty/profile", { token })).json.data;
}

/** The scores of a board by user. */
async function board(pool: Pool, path: string): Promise<Record<string, number>> {
  const { json } = await pool.world.call(`/projects/${ids.project}/${path}`);
  return Object.fromEntries(
    json.data.map((entry: { userId: string; score: number }) => [entry.userId, entry.score]),
  );
}

/** An account with 1 point, and an anonymous user with 3 of an event and 3 others, who also completed the challenge: 16. */
async function earn(pool: Pool): Promise<{ readonly account: Fan; readonly anonymous: Fan }> {
  const account = await fan(pool, await pool.member(email));
  await act(pool, account, "prediction", { outcome: "right", eventId: ids.event });
  const anonymous = await fan(pool, await pool.anonymous());
  for (const data of [{ outcome: "exact", eventId: ids.event }, { outcome: "exact" }, { outcome: "wrong" }]) {
    await act(pool, anonymous, "prediction", data);
  }
  await pool.world.platform.idle();
  return { account, anonymous };
}

/** Works off what is due a minute later. */
async function workLater(pool: Pool): Promise<void> {
  pool.world.clock.advance(mergeAgainMs);
  await pool.world.platform.work();
  await pool.world.platform.idle();
}

async function assertMerged(
  pool: Pool,
  { account, anonymous }: Awaited<ReturnType<typeof earn>>,
): Promise<void> {
  const { metrics, inventory, challenges } = await rewards(pool, account);
  assert.deepEqual([metrics.points, inventory], [17, badges]);
  assert.deepEqual(
    Object.values(challenges).map(challenge => (challenge as { isCompleted: boolean }).isCompleted),
    [true],
  );
  const { userId } = account;
  assert.deepEqual(await board(pool, "leaderboards/overall"), { [userId]: 17 });
  assert.deepEqual(await board(pool, "leaderboards/exacts"), { [userId]: 2 });
  assert.deepEqual(await board(pool, `events/${ids.event}/leaderboards/round_1`), { [userId]: 4 });
  const member = { organisationId: ids.organisation, spaceId: ids.space, userId: anonymous.userId };
  const left = await pool.world.platform.loyalty.reader.summary({ ...member, projectId: ids.project });
  assert.equal(left.view.metrics.points, 0);
}

describeOnStores("an anonymous user who logs in to an account", open => {
  let pool: Pool;
  beforeEach(async () => {
    pool = await Pool.open(open);
  });
  afterEach(() => pool.dispose());

  it("has brought points and items when the login is answered, and scores soon after", async () => {
    const users = await earn(pool);
    await pool.login(email, pairOf(users.anonymous));
    const { metrics, inventory } = await rewards(pool, users.account);
    assert.deepEqual([metrics.points, inventory], [17, badges]);
    await pool.world.platform.idle();
    await assertMerged(pool, users);
  });

  it("brings everything once, however many logins race and repeat, and however often work is done", async () => {
    const users = await earn(pool);
    await Promise.all(Array.from({ length: 8 }, () => pool.login(email, pairOf(users.anonymous))));
    for (let round = 0; round < 3; round++) {
      await pool.login(email, pairOf(users.anonymous));
      await workLater(pool);
    }
    await assertMerged(pool, users);
    assert.equal(pool.merges.length, 1);
    const { json } = await pool.world.call("/api/loyalty/history?from=0", { token: users.account.token });
    const merged = json.data.filter(
      ({ payload }: { payload: { metadata?: object } }) => payload.metadata !== undefined,
    );
    assert.deepEqual(
      merged.map(({ payload }: { payload: { metadata: object } }) => payload.metadata),
      [{ mergedFrom: users.anonymous.userId }],
    );
  });

  it("cannot earn or spend with an old token any more, and learns which user to use", async () => {
    const users = await earn(pool);
    await pool.login(email, pairOf(users.anonymous));
    const refused = await act(pool, users.anonymous, "prediction", { outcome: "exact" });
    assertProblem(refused, 403, "forbidden");
    assert.ok(refused.json.detail.includes(users.account.userId));
    await pool.world.platform.idle();
    await assertMerged(pool, users);
  });

  it("stays merged on a board that is rebuilt, and its history adds up", async () => {
    const users = await earn(pool);
    await pool.login(email, pairOf(users.anonymous));
    await workLater(pool);
    const { platform } = pool.world;
    for (const leaderboardId of ["overall", "exacts"]) {
      await platform.rebuildBoard({ projectId: ids.project, eventId: null, leaderboardId });
    }
    await platform.rebuildBoard({ projectId: ids.project, eventId: ids.event, leaderboardId: "round_1" });
    await assertMerged(pool, users);
    const common = { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project };
    for (const { userId } of Object.values(users)) {
      const { faults } = await platform.loyalty.reconcile({ ...common, userId });
      assert.deepEqual(faults, []);
      assert.deepEqual((await platform.loyalty.replay({ ...common, userId })).differences, []);
    }
  });

  it("is found by no search any more", async () => {
    const users = await earn(pool);
    const call = await backEnd(pool.world, ["users:read"]);
    const found = async (): Promise<string[]> => {
      const { json } = await call(searchPath, { body: {} });
      return json.data.map((user: { userId: string }) => user.userId).sort();
    };
    assert.deepEqual(await found(), [users.account.userId, users.anonymous.userId].sort());
    await pool.login(email, pairOf(users.anonymous));
    assert.deepEqual(await found(), [users.account.userId]);
    await workLater(pool);
    assert.deepEqual(await found(), [users.account.userId]);
  });

  it("stays off searches and counts when a back end reports it again", async () => {
    const users = await earn(pool);
    const call = await backEnd(pool.world, ["users:read", "rewards:write"]);
    const search = async (): Promise<readonly [found: number, counted: number]> => {
      const { json } = await call(searchPath, { body: { includeTotal: true } });
      return [json.data.length, json.totalCount];
    };
    await pool.login(email, pairOf(users.anonymous));
    await workLater(pool);
    // Who is due within the hour is not registered anew.
    pool.world.clock.advance(dueMs);
    const reward = { userId: users.anonymous.userId, type: "metric", currency: "points", amount: 5 };
    assert.equal((await call("/api/audience/rewards", { body: { rewards: [reward] } })).status, 200);
    assert.equal(await pointsOf(pool.world, users.account.userId), 22);
    assert.equal((await search())[0], 1);
    pool.world.clock.advance(dueMs);
    await pool.world.platform.work();
    assert.deepEqual(await search(), [1, 1]);
  });

  it("goes on adding to the account's scores", async () => {
    const users = await earn(pool);
    await pool.login(email, pairOf(users.anonymous));
    await act(pool, users.account, "prediction", { outcome: "exact", eventId: ids.event });
    await pool.world.platform.idle();
    const { userId } = users.account;
    assert.deepEqual(await board(pool, "leaderboards/overall"), { [userId]: 20 });
    assert.deepEqual(await board(pool, "leaderboards/exacts"), { [userId]: 3 });
    assert.deepEqual(await board(pool, `events/${ids.event}/leaderboards/round_1`), { [userId]: 7 });
  });
});

describe("a score that is on its way while its user is merged", () => {
  it("is on no board in the end, however late it arrives", async t => {
    let release = (): void => {};
    const gate = new Promise<void>(resolve => {
      release = resolve;
    });
    let userId: string | undefined;
    let isHeld = false;
    const pool = await Pool.open(async clock => {
      const store = createMemoryStore({ clock });
      return {
        traits: store.traits,
        now: store.now,
        read: (partition, queries) => store.read(partition, queries),
        async commit(partition, batch) {
          const isOfUser = batch.writes.some(write => write.type === "score" && write.member === userId);
          if (isOfUser && !isHeld && partition.includes("overall")) {
            isHeld = true;
            await gate;
          }
          return await store.commit(partition, batch);
        },
        ping: () => store.ping(),
        [Symbol.asyncDispose]: async () => {},
      };
    });
    t.after(() => pool.dispose());
    const users = await earn(pool);
    ({ userId } = users.anonymous);
    await act(pool, users.anonymous, "prediction", { outcome: "exact" });
    await until("the score is on its way", () => isHeld);
    await pool.login(email, pairOf(users.anonymous));
    pool.world.clock.advance(mergeAgainMs);
    await pool.world.platform.work();
    release();
    await pool.world.platform.idle();
    const scores = await board(pool, "leaderboards/overall");
    assert.ok(userId !== undefined && userId in scores, "it arrived");
    pool.world.clock.advance(dueMs);
    await pool.world.platform.work();
    assert.deepEqual(Object.keys(await board(pool, "leaderboards/overall")), [users.account.userId]);
  });
});

describe("a process that dies while an anonymous user logs in to an account", () => {
  it("loses and doubles nothing, at whichever step it dies", async () => {
    for (let at = 0; ; at += sampleSize(1, 2)) {
      const deaths = await Promise.all([dieAt({ at, when: "before" }), dieAt({ at, when: "after" })]);
      if (!deaths.includes(true)) {
        assert.ok(at > 15, `only ${at} steps`);
        return;
      }
    }
  });

  /** Lets a process die during a login, and another one go on; false if the process came through. */
  async function dieAt(death: Death): Promise<boolean> {
    let lasting: Store | undefined;
    const pool = await Pool.open(async clock => {
      lasting = createMemoryStore({ clock });
      return lasting;
    });
    assert.ok(lasting !== undefined);
    const dying = createDyingStore(lasting);
    const mortal = await Pool.open(async () => dying);
    const users = await earn(pool);
    dying.dieAt(death);
    const { status } = await mortal.login(email, pairOf(users.anonymous));
    await mortal.world.platform.idle();
    // A client whose login failed tries again.
    if (status !== 200) assert.equal((await pool.login(email, pairOf(users.anonymous))).status, 200);
    await workLater(pool);
    await workLater(pool);
    await assertMerged(pool, users);
    return dying.isDead;
  }
});
