/** Lists at the surface: transactions, challenges and notifications in pages that neither repeat nor skip. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type Answer,
  type Fan,
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
} from "../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../support/stores.ts";
import { assertProblem } from "../_problem.ts";
import { type BackEndCall, backEnd } from "./_back_end.ts";

const ledgerRecordsMax = 1_000;

const base = "/v1/api/audience";
const named = { "x-platform-org-id": ids.organisation };

describeOnStores("lists of the audience API", open => {
  let world: TestPlatform;
  let crm: BackEndCall;
  let fans = 0;

  before(async () => {
    world = await openPlatform(open);
    crm = await backEnd(world, ["users:read", "users:write", "rewards:write"]);
  });
  after(() => world.dispose());

  const newFan = (): Promise<Fan> => world.fan(`Fan ${fans++}`);
  const get = (fan: Fan, path: string): Promise<Answer> =>
    world.call(`${base}${path}`, { token: fan.token, headers: named });

  /** Walks a list to its end, and answers its pages. */
  async function pagesOf(fan: Fan, path: string, between = async () => {}): Promise<Answer["json"][]> {
    const pages: Answer["json"][] = [];
    for (let key: string | null = ""; key !== null; ) {
      const { status, json, text } = await get(fan, `${path}${key === "" ? "" : `&lastEvaluatedKey=${key}`}`);
      assert.equal(status, 200, text);
      pages.push(json);
      key = json.lastEvaluatedKey;
      await between();
    }
    return pages;
  }

  describe("of transactions", () => {
    it("contain every entry of the ledger once, newest first, while more arrive", async () => {
      const fan = await newFan();
      for (let n = 0; n < 30; n++) {
        await fan.act("prediction", { outcome: ["exact", "right", "wrong"][n % 3] ?? "" });
        if (n % 2 === 0) world.clock.advance(1);
      }
      await fan.act("rest");
      const [whole] = await pagesOf(fan, "/transactions?limit=100");
      const all: readonly Answer["json"][] = whole.data;
      assert.equal(new Set(all.map(({ transactionId }) => transactionId)).size, all.length);
      assert.equal(all.filter(({ currency }) => currency === "points").length, 21);
      for (const limit of [1, 2, 3, 7]) {
        const pages = await pagesOf(fan, `/transactions?limit=${limit}&currency=points`, async () => {
          await fan.act("prediction", { outcome: "right" });
        });
        const seen = pages.flatMap(({ data }) => data).map(({ transactionId }) => transactionId);
        const before = (await pagesOf(fan, "/transactions?limit=100&currency=points")).flatMap(
          ({ data }) => data,
        );
        const expected = before.map(({ transactionId }: Answer["json"]) => transactionId);
        assert.deepEqual(seen, expected.slice(expected.length - seen.length), `limit ${limit}`);
        assert.ok(pages.every(({ data }) => data.length <= limit));
      }
    });

    it("continue within a record that has more entries than a page", async () => {
      const fan = await newFan();
      const metrics = { points: { op: "incr", value: 4 }, energy: { op: "incr", value: -1 } };
      for (let n = 0; n < 3; n++) {
        await crm(`${base}/internal/profiles/update-batch`, { body: [{ userId: fan.userId, metrics }] });
      }
      const single = (await pagesOf(fan, "/transactions?limit=1")).flatMap(({ data }) => data);
      const [whole] = await pagesOf(fan, "/transactions?limit=100");
      assert.deepEqual(single, whole.data);
      assert.deepEqual(
        single.map(({ currency, type, amount, balanceAfter }) => [currency, type, amount, balanceAfter]),
        [
          ["energy", "debit", 1, 2],
          ["points", "credit", 4, 12],
          ["energy", "debit", 1, 3],
          ["points", "credit", 4, 8],
          ["energy", "debit", 1, 4],
          ["points", "credit", 4, 4],
        ],
      );
    });

    it("are filtered by type and currency together", async () => {
      const fan = await newFan();
      await fan.act("prediction", { outcome: "exact" });
      await fan.act("rest");
      const { json } = await get(fan, "/transactions?type=credit&currency=energy");
      assert.deepEqual(
        json.data.map(({ currency, type, source }: Answer["json"]) => [currency, type, source]),
        [["energy", "credit", { type: "action", id: "rest" }]],
      );
      assert.deepEqual((await get(fan, "/transactions?type=debit")).json.data, []);
    });

    it("show reversed transactions and their reversals", async () => {
      const fan = await newFan();
      await fan.act("prediction", { outcome: "exact" });
      const [first] = (await get(fan, "/transactions")).json.data;
      const member = {
        organisationId: ids.organisation,
        spaceId: ids.space,
        userId: fan.userId,
        projectId: null,
      };
      await world.platform.loyalty.reverse(member, first.transactionId);
      const { json } = await get(fan, "/transactions");
      assert.deepEqual(
        json.data.map(({ type, status, relatedTransactionId }: Answer["json"]) => [
          type,
          status,
          relatedTransactionId,
        ]),
        [
          ["debit", "completed", first.transactionId],
          ["credit", "reversed", null],
        ],
      );
    });

    it("read a bounded number of records for a page, which may be empty although more follow", async () => {
      const fan = await newFan();
      await fan.act("rest");
      const actions = Array.from({ length: ledgerRecordsMax + 50 }, () =>
        fan.act("prediction", { outcome: "wrong" }),
      );
      await Promise.all(actions);
      const pages = await pagesOf(fan, "/transactions?limit=5");
      assert.deepEqual(
        pages.map(({ data }) => data.length),
        [0, 1],
      );
    });
  });

  describe("of notifications", () => {
    it("have the number of unread ones and continue after the page before", async () => {
      const fan = await newFan();
      for (const outcome of ["exact", "right", "right"]) await fan.act("prediction", { outcome });
      const pages = await pagesOf(fan, "/notifications?limit=1");
      assert.deepEqual(
        pages.map(({ data, unreadCount }) => [data[0].type, data[0].isRead, unreadCount]),
        [
          ["challengeCompleted", false, 2],
          ["missionCompleted", false, 2],
        ],
      );
      const [{ notificationId }] = pages[0].data;
      const read = (): Promise<Answer> =>
        world.call(`${base}/notifications/${notificationId}/read`, {
          method: "POST",
          token: fan.token,
          headers: named,
        });
      const { json } = await read();
      const readAt = new Date(world.clock.now()).toISOString();
      assert.deepEqual(json, { message: "OK", data: { notificationId, isRead: true, readAt } });
      world.clock.advance(1_000);
      assert.deepEqual((await read()).json, json);
      const unread = await get(fan, "/notifications?unread=true");
      assert.deepEqual([unread.json.data.length, unread.json.unreadCount], [1, 1]);
      const other = await newFan();
      const foreign = await world.call(`${base}/notifications/${notificationId}/read`, {
        method: "POST",
        token: other.token,
        headers: named,
      });
      assertProblem(foreign, 404, "not_found");
    });
  });

  describe("of challenges", () => {
    it("are filtered by status and show progress", async () => {
      const fan = await newFan();
      const open = async (): Promise<readonly unknown[]> =>
        (await get(fan, "/challenges?status=in_progress")).json.data.map(
          ({ status, startedAt, progress }: Answer["json"]) => [status, startedAt, progress.percent],
        );
      assert.deepEqual(await open(), [["in_progress", null, 0]]);
      assertProblem(await get(fan, "/challenges?status=not_started"), 400, "validation_failed");
      await fan.act("prediction", { outcome: "right" });
      const [challenge] = (await get(fan, "/challenges?status=in_progress")).json.data;
      assert.deepEqual(
        challenge.missions.map(({ status, progress }: Answer["json"]) => [
          status,
          progress.current,
          progress.percent,
        ]),
        [
          ["in_progress", 1, 33],
          ["not_started", 0, 0],
        ],
      );
      for (const outcome of ["exact", "right"]) await fan.act("prediction", { outcome });
      const [done] = (await get(fan, "/challenges?status=completed")).json.data;
      assert.deepEqual([done.progress.percent, done.completedAt !== null], [100, true]);
      assert.deepEqual((await get(fan, "/challenges?status=failed")).json.data, []);
    });
  });

  it("refuse cursors that are forged, of another user, of other filters, or expired", async () => {
    const [fan, other] = [await newFan(), await newFan()];
    for (let n = 0; n < 3; n++) {
      await fan.act("prediction", { outcome: "right" });
      await other.act("prediction", { outcome: "right" });
    }
    const { json } = await get(fan, "/transactions?limit=1&type=credit");
    const key: string = json.lastEvaluatedKey;
    const wrong: readonly (readonly [Fan, string])[] = [
      [fan, `/transactions?limit=1&type=credit&lastEvaluatedKey=${key.slice(1)}`],
      [fan, `/transactions?limit=1&type=credit&lastEvaluatedKey=x`],
      [fan, `/transactions?limit=1&lastEvaluatedKey=${key}`],
      [fan, `/transactions?limit=1&type=debit&lastEvaluatedKey=${key}`],
      [fan, `/notifications?limit=1&lastEvaluatedKey=${key}`],
      [other, `/transactions?limit=1&type=credit&lastEvaluatedKey=${key}`],
    ];
    for (const [asking, path] of wrong) {
      const answer = await get(asking, path);
      assertProblem(answer, 400, "validation_failed");
      assert.equal(answer.json.errors[0].pointer, "lastEvaluatedKey");
    }
    // Another size of page is no other list.
    assert.equal((await get(fan, `/transactions?limit=2&type=credit&lastEvaluatedKey=${key}`)).status, 200);
    world.clock.advance(86_400_000);
    const answer = await crm(
      `/api/audience/transactions?user_id=${fan.userId}&limit=1&type=credit&lastEvaluatedKey=${key}`,
    );
    assertProblem(answer, 400, "validation_failed");
  });

  it("are those of a fan who never acted, and of nobody else", async () => {
    const { userId } = await newFan();
    for (const path of ["profile", "transactions", "challenges", "notifications"]) {
      const { status, text } = await crm(`/api/audience/${path}?user_id=${userId}`);
      assert.equal(status, 200, `${path}: ${text}`);
      assertProblem(await crm(`/api/audience/${path}?user_id=nobody`), 404, "not_found");
    }
    const { json } = await crm(`/api/audience/challenges?user_id=${userId}`);
    assert.deepEqual(
      json.data.map(({ status, startedAt }: Answer["json"]) => [status, startedAt]),
      [["in_progress", null]],
    );
  });

  it("refuse invalid limits and filters", async () => {
    const fan = await newFan();
    for (const path of [
      "/transactions?limit=0",
      "/transactions?limit=101",
      "/transactions?limit=1.5",
      "/transactions?type=both",
      "/challenges?limit=101",
      "/challenges?status=done",
      "/notifications?limit=51",
      "/notifications?unread=yes",
    ]) {
      assertProblem(await get(fan, path), 400, "validation_failed");
    }
  });

  it("are returned for many users, each with a cursor of its own", async () => {
    const [a, b] = [await newFan(), await newFan()];
    for (let n = 0; n < 3; n++) await a.act("prediction", { outcome: "right" });
    await b.act("prediction", { outcome: "wrong" });
    const { json } = await crm(`/api/audience/transactions?user_ids=${a.userId},nobody,${b.userId}&limit=2`);
    assert.deepEqual(
      json.users.map((user: Answer["json"]) => [user.user_id, user.data?.length, user.error?.code]),
      [
        [a.userId, 2, undefined],
        ["nobody", undefined, "not_found"],
        [b.userId, 0, undefined],
      ],
    );
    const key: string = json.users[0].lastEvaluatedKey;
    const next = await crm(`/api/audience/transactions?user_ids=${a.userId}&limit=2&lastEvaluatedKey=${key}`);
    assert.deepEqual([next.json.users[0].data.length, next.json.users[0].lastEvaluatedKey], [1, null]);
    const both = await crm(
      `/api/audience/transactions?user_ids=${a.userId},${b.userId}&lastEvaluatedKey=${key}`,
    );
    assertProblem(both, 400, "validation_failed");
    for (const list of ["challenges", "notifications"]) {
      const { users } = (await crm(`/api/audience/${list}?user_ids=${a.userId},nobody`)).json;
      assert.deepEqual([Array.isArray(users[0].data), users[1].error.code], [true, "not_found"], list);
    }
  });
});

const challengeCount = 30;
const hourSeconds = 3_600;

/** Challenges of which the first one is completed at once and each later one ends an hour before the one before. */
function spaceWithChallenges(now: number): object {
  const endsAt = Math.floor(now / 1_000) + 1_000 * hourSeconds;
  const uuidOf = (kind: number, n: number): string =>
    `${kind}0000000-0000-4000-8000-${String(n).padStart(12, "0")}`;
  return {
    ...loyalty,
    challenges: Array.from({ length: challengeCount }, (_, n) => ({
      id: uuidOf(1, n),
      title: `Challenge ${n}`,
      time: { showInUI: true, from: 0, to: endsAt - n * hourSeconds },
      missions: [{ id: uuidOf(2, n), title: "Cheer", rule: { action: "cheer", count: n === 0 ? 1 : 2 } }],
    })),
  };
}

async function openFan(
  open: OpenStore,
): Promise<{ get(query: string): Promise<Answer>; act(): Promise<unknown>; dispose(): Promise<void> }> {
  const startAt = Date.parse("2026-06-01T10:00:00Z");
  const world = await openPlatform(open, {
    startAt,
    seed: { ...seed, loyalty: { [ids.space]: spaceWithChallenges(startAt) } },
  });
  const fan = await world.fan("Sam");
  const headers = { "x-platform-org-id": ids.organisation };
  return {
    get: query => world.call(`${base}/challenges${query}`, { token: fan.token, headers }),
    act: () => fan.act("cheer"),
    dispose: () => world.dispose(),
  };
}

const titles = ({ json }: Answer): string[] => json.data.map(({ title }: { title: string }) => title);

describeOnStores("challenges in pages", open => {
  it("continue after the page before, those that end soonest first and finished ones last", async t => {
    const fan = await openFan(open);
    t.after(() => fan.dispose());
    await fan.act();
    const first = await fan.get("");
    assert.equal(first.json.data.length, 20);
    const rest = await fan.get(`?lastEvaluatedKey=${first.json.lastEvaluatedKey}`);
    assert.equal(rest.json.lastEvaluatedKey, null);
    const expected = Array.from({ length: challengeCount }, (_, n) => `Challenge ${challengeCount - 1 - n}`);
    assert.deepEqual([...titles(first), ...titles(rest)], expected);
    assert.equal(rest.json.data.at(-1).status, "completed");
    const whole = await fan.get(`?limit=${100}`);
    assert.deepEqual(titles(whole), expected);
    assert.equal(whole.json.lastEvaluatedKey, null);
  });

  it("neither repeat nor skip unmoved challenges if others are completed between two pages", async t => {
    const fan = await openFan(open);
    t.after(() => fan.dispose());
    await fan.act();
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const page: Answer = await fan.get(`?limit=7${cursor === null ? "" : `&lastEvaluatedKey=${cursor}`}`);
      seen.push(...titles(page));
      cursor = page.json.lastEvaluatedKey;
      if (seen.length === 7) await fan.act();
    } while (cursor !== null);
    // All that went on were completed after the first page: they are over by then, and come after it.
    assert.equal(new Set(seen).size, challengeCount);
    assert.equal(seen.length, challengeCount + 7);
  });

  it("are filtered by status, and a cursor belongs to one list", async t => {
    const fan = await openFan(open);
    t.after(() => fan.dispose());
    await fan.act();
    assert.deepEqual(titles(await fan.get("?status=completed")), ["Challenge 0"]);
    const going = await fan.get("?status=in_progress&limit=10");
    assert.equal(going.json.data.length, 10);
    const cursor = going.json.lastEvaluatedKey;
    assert.equal((await fan.get(`?status=in_progress&limit=10&lastEvaluatedKey=${cursor}`)).status, 200);
    for (const other of ["", "status=completed&"]) {
      assert.equal((await fan.get(`?${other}lastEvaluatedKey=${cursor}`)).status, 400);
    }
  });
});
