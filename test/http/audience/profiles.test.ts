/** Profiles at the surface: shown, tagged, patched, and read and changed for many users at once. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type Answer, type Fan, ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { type WatchedStore, watching } from "../../support/watched_store.ts";
import { assertProblem } from "../_problem.ts";
import { type BackEndCall, backEnd } from "./_back_end.ts";

const path = "/v1/api/audience/profile";
const internal = "/v1/api/audience/internal/profiles";
const named = { "x-platform-org-id": ids.organisation };

describeOnStores("profiles", open => {
  let world: TestPlatform;
  let store: WatchedStore;
  let crm: BackEndCall;

  before(async () => {
    world = await openPlatform(
      watching(open, opened => {
        store = opened;
      }),
    );
    crm = await backEnd(world, ["users:read", "users:write"]);
  });
  after(() => world.dispose());

  const newFan = (): Promise<Fan> => world.fan("Sam");
  const get = (fan: Fan, headers: Record<string, string> = {}): Promise<Answer> =>
    world.call(path, { token: fan.token, headers: { ...named, ...headers } });
  const patch = (fan: Fan, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
    world.call(path, { method: "PATCH", token: fan.token, body, headers: { ...named, ...headers } });
  const update = (body: unknown): Promise<Answer> => crm(`${internal}/update-batch`, { body });

  it("show the user's loyalty and are created by the first read", async () => {
    const fan = await newFan();
    for (const outcome of ["exact", "right"]) await fan.act("prediction", { outcome });
    const { status, json, headers } = await get(fan);
    const now = new Date(world.clock.now()).toISOString();
    assert.equal(status, 200);
    assert.equal(headers.get("cache-control"), "no-store");
    const nothing = { pending: 0, expiringSoon: [], lifetimeEarned: 0, lifetimeSpent: 0 };
    const [challenge] = json.data.activeChallenges;
    assert.deepEqual(json, {
      message: "OK",
      data: {
        userId: fan.userId,
        displayName: "Sam",
        preferences: {},
        customFields: {},
        loyalty: {
          metrics: { points: 4, energy: 5 },
          balances: {
            points: { available: 4, ...nothing, lifetimeEarned: 4 },
            energy: { available: 5, ...nothing },
          },
          inventory: { badges: [] },
          tier: null,
        },
        activeChallenges: [challenge],
        unreadNotifications: 1,
        createdAt: now,
        updatedAt: now,
        version: 1,
      },
    });
    assert.deepEqual(
      [challenge.title, challenge.status, challenge.progress, challenge.endsAt],
      ["Oracle", "in_progress", { current: 1, target: 2, percent: 83 }, null],
    );
    world.clock.advance(5_000);
    assert.equal((await get(fan)).json.data.createdAt, now);
  });

  it("are not sent again while they are unchanged", async () => {
    const fan = await newFan();
    const tag = (await get(fan)).headers.get("etag") ?? "";
    const same = await get(fan, { "if-none-match": tag });
    assert.deepEqual([same.status, same.text, same.headers.get("etag")], [304, "", tag]);
    await fan.act("rest");
    const after = await get(fan, { "if-none-match": tag });
    assert.deepEqual([after.status, after.json.data.version], [200, 1]);
    assert.equal((await get(fan, { "if-none-match": after.headers.get("etag") ?? "" })).status, 304);
  });

  it("are patched: objects are merged, null removes, absent members stay", async () => {
    const fan = await newFan();
    const first = await patch(fan, {
      displayName: "Ann",
      preferences: { sounds: { goal: true, whistle: true }, teams: ["a"] },
      customFields: { shirt: "M", goals: 2 },
    });
    assert.deepEqual([first.status, first.json.data.version], [200, 1]);
    world.clock.advance(1_000);
    const { json } = await patch(
      fan,
      { preferences: { sounds: { whistle: null }, teams: ["b", "c"] }, customFields: { goals: null } },
      { "content-type": "application/merge-patch+json" },
    );
    const { displayName, preferences, customFields, version, createdAt, updatedAt } = json.data;
    assert.deepEqual(
      { displayName, preferences, customFields, version },
      {
        displayName: "Ann",
        preferences: { sounds: { goal: true }, teams: ["b", "c"] },
        customFields: { shirt: "M" },
        version: 2,
      },
    );
    assert.equal(Date.parse(updatedAt) - Date.parse(createdAt), 1_000);
    const unchanged = await patch(fan, { displayName: "Ann" });
    assert.deepEqual([unchanged.json.data.version, unchanged.json.data.updatedAt], [2, updatedAt]);
    const bare = await patch(fan, { displayName: null, preferences: null, customFields: null });
    // A member of the custom fields is set by back ends alone, so they are removed one by one.
    assertProblem(bare, 400, "validation_failed");
    const cleared = await patch(fan, { displayName: null, preferences: null, customFields: { shirt: null } });
    assert.deepEqual(
      [cleared.json.data.displayName, cleared.json.data.preferences, cleared.json.data.customFields],
      ["Sam", {}, {}],
    );
  });

  it("refuse what users may not change, with its pointer", async () => {
    const fan = await newFan();
    const cases: readonly (readonly [body: unknown, pointers: readonly string[]])[] = [
      [{ loyalty: { metrics: { points: 9 } } }, ["/loyalty"]],
      [{ userId: "x", version: 2 }, ["/userId", "/version"]],
      [{ displayName: "" }, ["/displayName"]],
      [{ displayName: "a\u0007" }, ["/displayName"]],
      [{ displayName: "\u200b \u3164\ufe0f" }, ["/displayName"]],
      [{ displayName: "\u202exe.toor" }, ["/displayName"]],
      [{ displayName: "a\u2067b" }, ["/displayName"]],
      [{ displayName: "x".repeat(101) }, ["/displayName"]],
      [{ preferences: { a: { constructor: 1 } } }, ["/preferences/a"]],
      [{ preferences: [], customFields: 1 }, ["/preferences", "/customFields"]],
      [
        { customFields: { member: true, shirt: "XL", none: 1 } },
        ["/customFields/member", "/customFields/shirt", "/customFields/none"],
      ],
    ];
    for (const [body, pointers] of cases) {
      const answer = await patch(fan, body);
      assertProblem(answer, 400, "validation_failed");
      assert.deepEqual(
        answer.json.errors.map(({ pointer }: { pointer: string }) => pointer),
        pointers,
      );
    }
    assert.equal((await get(fan)).json.data.version, 1);
    for (const displayName of ["👨‍👩‍👧 x", "עדי", "می‌خواهم", "O’Neil", "😀"]) {
      assert.equal((await patch(fan, { displayName })).json.data.displayName, displayName);
    }
  });

  it("stay within their bounds after any number of patches", async () => {
    const fan = await newFan();
    assert.equal((await patch(fan, { preferences: { a: "x".repeat(9_000) } })).status, 200);
    assertProblem(await patch(fan, { preferences: { b: "x".repeat(9_000) } }), 400, "validation_failed");
    assert.equal((await get(fan)).json.data.preferences.b, undefined);
  });

  it("are changed only if they have the version of If-Match, whatever was earned meanwhile", async () => {
    const fan = await newFan();
    const tag = (await get(fan)).headers.get("etag") ?? "";
    await fan.act("prediction", { outcome: "exact" });
    assert.equal((await patch(fan, { displayName: "One" }, { "if-match": tag })).status, 200);
    for (const stale of [tag, `W/${tag}`, '"v9"', "garbage", ""]) {
      const answer = await patch(fan, { displayName: "Two" }, { "if-match": stale });
      assertProblem(answer, 412, "precondition_failed");
    }
    assert.equal((await patch(fan, { displayName: "Three" }, { "if-match": "*" })).status, 200);
  });

  it("accept one of many changes of the same version", async () => {
    const fan = await newFan();
    const tag = (await get(fan)).headers.get("etag") ?? "";
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => patch(fan, { displayName: `N${n}` }, { "if-match": tag })),
    );
    assert.equal(answers.filter(({ status }) => status === 200).length, 1);
    assert.equal((await get(fan)).json.data.version, 2);
  });

  it("are read for many users in the order given, each once, with an error for unknown ones", async () => {
    const [a, b] = [await newFan(), await newFan()];
    await patch(a, { displayName: "A" });
    await b.act("rest");
    await world.platform.idle();
    const reads = store.reads.length;
    const { status, json } = await crm(`${internal}?user_ids=${b.userId},nobody,${a.userId},${b.userId}`);
    assert.equal(status, 200);
    assert.deepEqual(
      json.users.map((user: Answer["json"]) => [
        user.user_id,
        user.data?.displayName,
        user.data?.loyalty.metrics.energy,
        user.error?.code,
      ]),
      [
        [b.userId, "Sam", 7, undefined],
        ["nobody", undefined, undefined, "not_found"],
        [a.userId, "A", 5, undefined],
      ],
    );
    assert.equal(json.users[1].data, null);
    const ofMembers = store.reads.slice(reads).filter(partition => partition.includes(":loyalty:"));
    // One round trip for each: the records and the notifications, side by side.
    assert.equal(ofMembers.length, 6);
  });

  it("are read for 1 to 100 users", async () => {
    const many = Array.from({ length: 100 + 1 }, (_, n) => `u${n}`);
    assert.equal((await crm(`${internal}?user_ids=${many.slice(1).join()}`)).json.users.length, 100);
    for (const list of [many.join(), "", "a,,b", `a,${"x".repeat(129)}`]) {
      assertProblem(await crm(`${internal}?user_ids=${list}`), 400, "validation_failed");
    }
    assertProblem(await crm(internal), 400, "validation_failed");
  });

  it("are changed for many users, those of one user in order, with metrics in the same commit", async () => {
    const [a, b] = [await newFan(), await newFan()];
    const { status, json } = await update({
      updates: [
        { userId: a.userId, displayName: "A1", metrics: { points: { op: "set", value: 10 } } },
        {
          userId: b.userId,
          metrics: { energy: { op: "incr", value: 99 }, points: { op: "incr", value: -1 } },
        },
        {
          userId: a.userId,
          displayName: "A2",
          expectedVersion: 1,
          metrics: { points: { op: "incr", value: 5 } },
        },
        {
          userId: a.userId,
          displayName: "A3",
          expectedVersion: 1,
          metrics: { points: { op: "incr", value: 5 } },
        },
        { userId: a.userId, customFields: { member: true } },
      ],
    });
    assert.equal(status, 200, JSON.stringify(json));
    const { batchId, summary, errors, results } = json.data;
    assert.deepEqual(summary, { total: 5, succeeded: 4, duplicate: 0, failed: 1 });
    assert.deepEqual([typeof batchId, errors], ["string", true]);
    assert.deepEqual(
      results.map((one: Answer["json"]) => [one.index, one.userId, one.status, one.version, one.error?.code]),
      [
        [0, a.userId, "succeeded", 1, undefined],
        [1, b.userId, "succeeded", 1, undefined],
        [2, a.userId, "succeeded", 2, undefined],
        [3, a.userId, "failed", undefined, "precondition_failed"],
        [4, a.userId, "succeeded", 3, undefined],
      ],
    );
    const [ofA, ofB] = [(await get(a)).json.data, (await get(b)).json.data];
    assert.deepEqual(
      [ofA.displayName, ofA.loyalty.metrics.points, ofA.customFields],
      ["A2", 15, { member: true }],
    );
    assert.deepEqual(ofB.loyalty.metrics, { points: 0, energy: 7 });
    const member = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      userId: a.userId,
      projectId: null,
    };
    assert.equal((await world.platform.loyalty.reconcile(member)).ok, true);
    assert.deepEqual((await world.platform.loyalty.replay(member)).differences, []);
    assert.equal((await world.platform.loyalty.history(member, {})).at(-1)?.type, "adjusted");
  });

  it("count points taken by a correction as never earned and not as spent", async () => {
    const fan = await newFan();
    const lifetime = async (metricId: string): Promise<unknown[]> => {
      const { available, lifetimeEarned, lifetimeSpent } = (await get(fan)).json.data.loyalty.balances[
        metricId
      ];
      return [available, lifetimeEarned, lifetimeSpent];
    };
    const adjust = async (metricId: string, change: unknown): Promise<string> => {
      const { json } = await update({ updates: [{ userId: fan.userId, metrics: { [metricId]: change } }] });
      return json.data.results[0].transactionId;
    };
    await adjust("points", { op: "set", value: 40 });
    const correction = await adjust("points", { op: "set", value: 15 });
    assert.deepEqual(await lifetime("points"), [15, 15, 0]);
    await adjust("points", { op: "incr", value: -5 });
    assert.deepEqual(await lifetime("points"), [10, 10, 0]);
    const member = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      userId: fan.userId,
      projectId: null,
    };
    await world.platform.loyalty.reverse(member, correction);
    assert.deepEqual(await lifetime("points"), [35, 35, 0]);
    // Nobody has earned what a metric begins with.
    const before = await lifetime("energy");
    await adjust("energy", { op: "incr", value: -1 });
    assert.deepEqual(await lifetime("energy"), [Number(before[0]) - 1, 0, 0]);
    assert.equal((await world.platform.loyalty.reconcile(member)).ok, true);
    assert.deepEqual((await world.platform.loyalty.replay(member)).differences, []);
  });

  it("are not changed by a request with an invalid update", async () => {
    const fan = await newFan();
    const answer = await update([
      { userId: fan.userId, displayName: "Zed" },
      {
        userId: fan.userId,
        metrics: {
          none: { op: "set", value: 1 },
          energy: { op: "set", value: 8 },
          points: { op: "mul", value: 1 },
        },
      },
      { user_id: fan.userId, data: { expectedVersion: -1, colour: 1 } },
      { displayName: "Nobody" },
      7,
      // Values that no conversion turns into a number.
      { userId: fan.userId, metrics: { points: { op: "set", value: { toString: null, valueOf: [] } } } },
    ]);
    assertProblem(answer, 400, "validation_failed");
    assert.deepEqual(answer.json.errors.map(({ pointer }: { pointer: string }) => pointer).sort(), [
      "/1/metrics/energy/value",
      "/1/metrics/none",
      "/1/metrics/points/op",
      "/2/data/colour",
      "/2/data/expectedVersion",
      "/3/userId",
      "/4",
      "/5/metrics/points/value",
    ]);
    assert.equal((await get(fan)).json.data.displayName, "Sam");
    const many = Array.from({ length: 1_001 }, (_, n) => ({ userId: `m${n}`, displayName: "x" }));
    assertProblem(await update(many), 400, "validation_failed");
    assert.equal((await update(many.slice(1))).json.data.summary.succeeded, 1_000);
  });

  describe("at the address of the space", () => {
    const space = "/api/audience/profile";

    it("are those of the user, or of the users that a back end names", async () => {
      const fan = await newFan();
      const own = await world.call(space, { token: fan.token, headers: named });
      assert.equal(own.json.data.userId, fan.userId);
      const listed = await world.call(`${space}?user_ids=${fan.userId}`, {
        token: fan.token,
        headers: named,
      });
      assert.deepEqual(
        listed.json.users.map((user: Answer["json"]) => user.user_id),
        [fan.userId],
      );
      assert.equal((await crm(`${space}?user_id=${fan.userId}`)).json.data.userId, fan.userId);
      assertProblem(await crm(`${space}?user_id=nobody`), 404, "not_found");
      assertProblem(await crm(space), 400, "validation_failed");
      assertProblem(await crm(`${space}?user_id=a&user_ids=b`), 400, "validation_failed");
      const other = await world.call(`${space}?user_ids=nobody`, { token: fan.token, headers: named });
      assertProblem(other, 403, "forbidden");
    });

    it("are put for one user, or with a list for many", async () => {
      const fan = await newFan();
      const put = (body: unknown): Promise<Answer> =>
        world.call(space, { method: "PUT", token: fan.token, headers: named, body });
      assert.equal((await put({ data: { displayName: "Own" } })).json.data.displayName, "Own");
      const list = await put([{ user_id: fan.userId, data: { displayName: "Listed" } }]);
      assert.equal(list.json.data.results[0].status, "succeeded");
      assertProblem(
        await put({ data: { metrics: { points: { op: "set", value: 9 } } } }),
        400,
        "validation_failed",
      );
      assertProblem(await put({ user_id: "other", data: { displayName: "x" } }), 403, "forbidden");
      assertProblem(await put([{ user_id: "other", data: { displayName: "x" } }]), 403, "forbidden");
      const byKey = await crm(space, {
        method: "PUT",
        body: {
          user_id: fan.userId,
          data: { displayName: "Key", metrics: { points: { op: "set", value: 9 } } },
        },
      });
      assert.deepEqual(
        [byKey.status, byKey.json.data.displayName, byKey.json.data.loyalty.metrics.points],
        [200, "Key", 9],
      );
    });

    it("belong to exactly the given id, whatever characters it has", async () => {
      for (const userId of ["a;b", "a b", "{a}:*/é😀"]) {
        const put = { method: "PUT", body: { user_id: userId, data: { displayName: `Name of ${userId}` } } };
        assert.equal((await crm(space, put)).json.data.userId, userId);
        const { json } = await crm(`${space}?user_id=${encodeURIComponent(userId)}`);
        assert.deepEqual([json.data.userId, json.data.displayName], [userId, `Name of ${userId}`]);
      }
      assertProblem(await crm(`${space}?user_id=a`), 404, "not_found");
      for (const userId of ["", "a".repeat(128 + 1), null, 5, ["a"]]) {
        const answer = await crm(space, { method: "PUT", body: { user_id: userId, data: {} } });
        assertProblem(answer, 400, "validation_failed");
        assert.equal(answer.json.errors[0].pointer, "/user_id");
      }
    });
  });
});
