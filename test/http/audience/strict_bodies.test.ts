/** Members and values that mean nothing are refused, so that a misspelt one does not lose its meaning silently. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { type Answer, type Fan, ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import { assertProblem } from "../_problem.ts";
import { type BackEndCall, backEnd, pointsOf } from "./_back_end.ts";

const internal = "/v1/api/audience/internal";
const action = { action: "prediction", data: { outcome: "exact" } };
const reward = { type: "metric", currency: "points", amount: 3 };
const named = { "x-platform-org-id": ids.organisation };

describe("strict bodies", () => {
  let world: TestPlatform;
  let crm: BackEndCall;
  let fan: Fan;

  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
    crm = await backEnd(world, ["actions:write", "rewards:write", "users:read", "users:write"]);
    fan = await world.fan("Ann");
  });
  after(() => world.dispose());

  const cases: readonly (readonly [path: string, body: unknown, pointers: readonly string[]])[] = [
    [`${internal}/actions`, { userId: "a", ...action, timeStamp: "x" }, ["/timeStamp"]],
    [
      `${internal}/actions/bulk`,
      {
        actions: [
          { userId: "a", ...action },
          { userId: "a", ...action, expireAt: 1 },
        ],
        dryRun: true,
      },
      ["/dryRun", "/actions/1/expireAt"],
    ],
    [
      "/api/audience/actions",
      [{ user_id: "a", data: { ...action, actionID: "1" }, at: 1 }],
      ["/0/at", "/0/data/actionID"],
    ],
    [
      `${internal}/rewards/bulk`,
      { rewards: [{ userId: "a", ...reward, expireAt: "2030-01-01T00:00:00Z" }] },
      ["/rewards/0/expireAt"],
    ],
    [
      `${internal}/rewards/bulk`,
      [{ user_id: "a", data: { type: "coupon", couponId: "drink", amount: 1, userId: "a" } }],
      ["/0/data/amount", "/0/data/userId"],
    ],
    [
      `${internal}/profiles/update-batch`,
      { updates: [{ userId: "a", displayname: "A", metrics: { points: { op: "incr", value: 1, by: 2 } } }] },
      ["/updates/0/displayname", "/updates/0/metrics/points/by"],
    ],
  ];
  for (const [path, body, pointers] of cases) {
    it(`of ${path} name the unknown ${pointers.join(" and ")}`, async () => {
      const answer = await crm(path, { body });
      assertProblem(answer, 400, "validation_failed");
      assert.deepEqual(
        answer.json.errors.map((error: Answer["json"]) => [error.pointer, error.detail]),
        pointers.map(pointer => [pointer, "Is not a known member"]),
      );
      assert.equal(await pointsOf(world, "a"), 0, "nothing was applied");
    });
  }

  it("of the loyalty API and of a single profile name the unknown member", async () => {
    const report = { token: fan.token, body: { ...action, timestamp: 1 } };
    const put = {
      method: "PUT",
      token: fan.token,
      headers: named,
      body: { data: { displayName: "Ann" }, version: 1 },
    };
    for (const [path, options, pointer] of [
      ["/api/loyalty/action", report, "/timestamp"],
      ["/api/audience/profile", put, "/version"],
    ] as const) {
      const answer = await world.call(path, options);
      assertProblem(answer, 400, "validation_failed");
      assert.deepEqual(answer.json.errors, [{ pointer, detail: "Is not a known member" }]);
    }
    assert.equal((await fan.profile()).metrics.points, 0);
  });
});

describe("an id of a user that no list of ids could name", () => {
  let world: TestPlatform;
  let crm: BackEndCall;

  before(async () => {
    world = await openPlatform(async clock => createMemoryStore({ clock }));
    crm = await backEnd(world, ["actions:write", "rewards:write", "users:read", "users:write"]);
  });
  after(() => world.dispose());

  const inPath = (userId: string): string => encodeURIComponent(userId);
  const board = `/projects/${ids.project}/leaderboards/speed/users`;
  const doors: readonly (readonly [string, (userId: string) => Promise<Answer>])[] = [
    ["an action", userId => crm(`${internal}/actions`, { body: { userId, ...action } })],
    ["actions", userId => crm(`${internal}/actions/bulk`, { body: { actions: [{ userId, ...action }] } })],
    [
      "actions of the batch convention",
      user_id => crm("/api/audience/actions", { body: [{ user_id, data: action }] }),
    ],
    ["rewards", userId => crm(`${internal}/rewards/bulk`, { body: { rewards: [{ userId, ...reward }] } })],
    [
      "updates",
      userId =>
        crm(`${internal}/profiles/update-batch`, { body: { updates: [{ userId, displayName: "A" }] } }),
    ],
    [
      "a profile",
      user_id =>
        crm("/api/audience/profile", { method: "PUT", body: { user_id, data: { displayName: "A" } } }),
    ],
    ["a profile that is read", userId => crm(`/api/audience/profile?user_id=${inPath(userId)}`)],
    ["a score", userId => crm(`${board}/${inPath(userId)}`, { method: "PUT", body: { score: 1 } })],
    ["a dry run", userId => crm("/internal/loyalty/dry-run", { body: { userId, ...action } })],
    ["a reconciliation", userId => crm(`/internal/loyalty/users/${inPath(userId)}/reconciliation`)],
  ];
  for (const [what, send] of doors) {
    it(`is refused in ${what}, which takes others`, async () => {
      for (const userId of ["a,b", ",", "a ", "\ta"]) {
        const answer = await send(userId);
        assertProblem(answer, 400, "validation_failed");
        assert.match(answer.json.errors[0].detail, /without commas, and without a space at either end/);
      }
      for (const userId of ["a", "a b", "ä;b~1"]) {
        assert.ok([200, 202, 404].includes((await send(userId)).status), userId);
      }
    });
  }

  it("fails its row of a file", async () => {
    const body = '{"userId":"a,b","displayName":"A"}\n{"userId":"c"}\n';
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "CRM",
      permissions: ["users:write"],
    });
    const answer = await world.platform.fetch(
      new Request("http://club.example/v1/api/audience/internal/users/import", {
        method: "POST",
        headers: {
          ...named,
          "x-api-key": key,
          "x-api-secret": secret,
          "content-type": "application/x-ndjson",
        },
        body,
      }),
    );
    const [failed, done] = (await answer.text()).split("\n").map(line => JSON.parse(line || "null"));
    assert.deepEqual([failed.status, failed.error.pointer, done.status], ["failed", "/userId", "changed"]);
  });
});

describe("filters of lists", () => {
  it("refuse a currency that neither the space nor the interface has, and a status that no challenge has", async t => {
    const world = await openPlatform(async clock => createMemoryStore({ clock }));
    t.after(() => world.dispose());
    const { token, act } = await world.fan("Ben");
    await act("prediction", { outcome: "exact" });
    const list = (path: string): Promise<Answer> =>
      world.call(`/v1/api/audience/${path}`, { token, headers: named });
    assert.equal((await list("transactions?currency=points")).json.data.length, 1);
    assert.equal((await list("transactions?currency=energy")).json.data.length, 0);
    for (const currency of ["xp", "coins"]) {
      assert.deepEqual((await list(`transactions?currency=${currency}`)).json.data, [], currency);
    }
    assert.equal((await list("challenges?status=in_progress")).status, 200);
    for (const [path, name] of [
      ["transactions?currency=point", "currency"],
      ["transactions?currency=constructor", "currency"],
      ["challenges?status=in-progress", "status"],
      ["challenges?status=", "status"],
    ] as const) {
      const answer = await list(path);
      assertProblem(answer, 400, "validation_failed");
      assert.equal(answer.json.errors[0].pointer, name, path);
    }
  });
});
