/** Searching users at the surface: filters, orders and cursors. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { ids, openPlatform, otherHost, type TestPlatform } from "../../support/platform.ts";
import { describeOnStores } from "../../support/stores.ts";
import { assertProblem } from "../_problem.ts";
import { type BackEndCall, backEnd } from "./_back_end.ts";
import {
  buildPoints,
  Drawing,
  fitsNaively,
  foundIds,
  indexedSeed,
  type Known,
  makeUsers,
  pagesOf,
  plain,
  searchPath,
} from "./_searched.ts";

const hourMs = 3_600_000;

describeOnStores("a search of users", open => {
  let world: TestPlatform;
  let crm: BackEndCall;
  let start = 0;
  const users: Known[] = [];
  const draw = new Drawing(7);

  before(async () => {
    world = await openPlatform(open, { seed: indexedSeed });
    crm = await backEnd(world, ["users:read", "users:write", "rewards:write"]);
    await buildPoints(world);
    start = world.clock.now();
    for (let round = 0; round < 4; round++) {
      const batch = Array.from({ length: 60 }, (_, n) => draw.user(`u${60 * round + n}`, world.clock.now()));
      users.push(...batch);
      await makeUsers(world, crm, batch);
      world.clock.advance(hourMs);
    }
    // Some come again, and are then active later than they came.
    for (const index of [3, 50, 61, 130]) {
      const user = users[index];
      if (user === undefined) continue;
      users[index] = { ...user, displayName: "Zoë", lastActiveAt: world.clock.now() };
      await makeUsers(world, crm, [users[index] as Known]);
    }
    world.clock.advance(hourMs);
  });
  after(() => world.dispose());

  const naive = (condition: Readonly<Record<string, unknown>>): string[] =>
    users.filter(user => fitsNaively(user, condition)).map(({ userId }) => userId);
  const sorted = (found: readonly string[]): string[] => found.toSorted();

  it("returns every user once without a filter, for any page size", async () => {
    for (const limit of [1, 7, 100]) {
      assert.deepEqual(sorted(await foundIds(crm, { limit })), sorted(users.map(({ userId }) => userId)));
    }
  });

  it("returns the same users as a naive scan, for random filters, orders and pages", async () => {
    for (let round = 0; round < 60; round++) {
      const filter = draw.condition(start);
      const field = draw.of([undefined, "createdAt", "lastActiveAt", "metrics.points"]);
      const order = draw.of(["asc", "desc"]);
      const sort = field === undefined ? {} : { sort: [{ field, order }] };
      const body = { filter, limit: draw.of([1, 5, 50, 100].slice(round < 20 ? 0 : 1)), ...sort };
      const found = await foundIds(crm, body);
      assert.deepEqual(sorted(found), sorted(naive(filter)), JSON.stringify(body));
      const values = found.map(userId => {
        const user = users.find(known => known.userId === userId);
        if (field === "createdAt") return user?.createdAt ?? 0;
        return field === "lastActiveAt" ? (user?.lastActiveAt ?? 0) : (user?.points ?? 0);
      });
      if (field === undefined) continue;
      const ascending = values.toSorted((a, b) => a - b);
      assert.deepEqual(values, order === "asc" ? ascending : ascending.toReversed(), JSON.stringify(body));
    }
  });

  it("accepts the short form, alone and with a condition", async () => {
    const at = (hours: number): string => new Date(start + hours * hourMs).toISOString();
    const expected = (fits: (user: Known) => boolean): string[] =>
      sorted(users.filter(fits).map(({ userId }) => userId));
    const found = async (filter: unknown): Promise<string[]> =>
      sorted(await foundIds(crm, { filter, limit: 100 }));
    assert.deepEqual(
      await found({}),
      expected(() => true),
    );
    assert.deepEqual(await found({ userIds: ["u5", "nobody", "u7", "u5"] }), ["u5", "u7"]);
    assert.deepEqual(
      await found({ displayName: "á" }),
      expected(({ displayName }) => displayName?.includes("á") ?? false),
    );
    assert.deepEqual(
      await found({ createdAfter: at(1), createdBefore: at(3) }),
      expected(({ createdAt }) => createdAt >= start + hourMs && createdAt < start + 3 * hourMs),
    );
    assert.deepEqual(
      await found({ activeAfter: at(4) }),
      expected(({ lastActiveAt }) => lastActiveAt >= start + 4 * hourMs),
    );
    assert.deepEqual(
      await found({ activeBefore: at(1) }),
      expected(({ lastActiveAt }) => lastActiveAt < start + hourMs),
    );
    assert.deepEqual(
      await found({ metrics: { points: { min: 10, max: 100 }, energy: { min: 3 } } }),
      expected(({ points, energy }) => points >= 10 && points <= 100 && energy >= 3),
    );
    assert.deepEqual(
      await found({ metrics: { points: { min: 1 } }, not: { eq: [{ var: "user.metrics.energy" }, 5] } }),
      expected(({ points, energy }) => points >= 1 && energy !== 5),
    );
  });

  it("shows the requested fields, null without a value", async () => {
    const empty = plain("empty", world.clock.now());
    await makeUsers(world, crm, [empty]);
    users.push(empty);
    const filter = { userIds: ["empty"] };
    const time = new Date(empty.createdAt).toISOString();
    const [whole] = (await pagesOf(crm, { filter }))[0].data;
    assert.deepEqual(whole, {
      userId: "empty",
      displayName: null,
      customFields: {},
      metrics: { points: 0, energy: 5 },
      createdAt: time,
      updatedAt: time,
      lastActiveAt: time,
    });
    const fields = ["customFields.shirt", "metrics.points", "inventory", "challenges", "provider", "version"];
    const [page] = await pagesOf(crm, { filter, fields });
    assert.deepEqual(page, {
      message: "OK",
      data: [
        {
          customFields: { shirt: null },
          metrics: { points: 0 },
          inventory: { badges: [] },
          challenges: { "0e000000-0000-4000-8000-000000000001": "not_started" },
          provider: null,
          version: 1,
        },
      ],
      lastEvaluatedKey: null,
      truncated: false,
    });
  });

  it("finds users who only signed up, by their provider", async () => {
    const fan = await world.fan("Robin");
    const filter = { eq: [{ var: "provider" }, "noLogin"] };
    const [page] = await pagesOf(crm, { filter, fields: ["userId", "provider", "projectId"] });
    assert.deepEqual(page.data, [{ userId: fan.userId, provider: "noLogin", projectId: ids.project }]);
    await fan.act("prediction", { outcome: "exact" });
    assert.deepEqual(
      await foundIds(crm, { filter: { all: [filter, { gte: [{ var: "metrics.points" }, 3] }] } }),
      [fan.userId],
    );
    const operator = await backEnd(world, ["users:write"]);
    const removed = await operator(`/internal/identity/projects/${ids.project}/users/${fan.userId}`, {
      method: "DELETE",
    });
    assert.ok(removed.status < 300, removed.text);
    assert.deepEqual(await foundIds(crm, { filter }), []);
    assert.ok(!(await foundIds(crm, { limit: 100 })).includes(fan.userId));
    // Whom a back end reports again begins anew, without the account.
    world.clock.advance(hourMs);
    await makeUsers(world, crm, [plain(fan.userId, 0)]);
    const named = { filter: { eq: [{ var: "userId" }, fan.userId] } };
    const [again] = await pagesOf(crm, { ...named, fields: ["userId", "provider", "projectId"] });
    assert.deepEqual(again.data, [{ userId: fan.userId, provider: null, projectId: null }]);
    assert.deepEqual(await foundIds(crm, { filter }), []);
  });

  it("uses the default of a metric that a user never had, in filters and orders", async () => {
    const updates = ["bare-1", "bare-2"].map(userId => ({ userId, displayName: "Bare" }));
    await crm("/v1/api/audience/internal/profiles/update-batch", { body: { updates } });
    const named = { displayName: "Bare" };
    assert.deepEqual(sorted(await foundIds(crm, { filter: named })), ["bare-1", "bare-2"]);
    for (const bounds of [{ max: 0 }, { min: 0, max: 0 }, { min: -5 }]) {
      const filter = { ...named, metrics: { points: bounds } };
      assert.deepEqual(sorted(await foundIds(crm, { filter })), ["bare-1", "bare-2"]);
      for (const order of ["asc", "desc"]) {
        const body = {
          filter: { metrics: { points: bounds } },
          sort: [{ field: "metrics.points", order }],
          limit: 100,
        };
        const found = await foundIds(crm, body);
        assert.ok(found.includes("bare-1") && found.includes("bare-2"));
        assert.equal(new Set(found).size, found.length);
      }
    }
    assert.deepEqual(await foundIds(crm, { filter: { ...named, metrics: { points: { min: 1 } } } }), []);
  });

  it("finds users by the state of a challenge", async () => {
    const fan = await world.fan("Uma");
    for (const outcome of ["exact", "right", "right"]) await fan.act("prediction", { outcome });
    const challenge = { var: "challenges.0e000000-0000-4000-8000-000000000001" };
    assert.deepEqual(await foundIds(crm, { filter: { eq: [challenge, "completed"] } }), [fan.userId]);
  });

  describe("with a cursor", () => {
    const body = { filter: { metrics: { energy: { min: 2 } } }, limit: 5 };
    const next = async (): Promise<string> => (await crm(searchPath, { body })).json.lastEvaluatedKey;

    it("refuses one that is forged, changed, or of another search", async () => {
      const key = await next();
      for (const lastEvaluatedKey of ["", "a", `${key}a`, `A${key.slice(1)}`, key.split(".")[0]]) {
        assertProblem(
          await crm(searchPath, { body: { ...body, lastEvaluatedKey } }),
          400,
          "validation_failed",
        );
      }
      const others = [
        { filter: {} },
        { filter: { metrics: { energy: { min: 3 } } } },
        { sort: [{ field: "createdAt" }] },
      ];
      for (const other of others) {
        const asked = { ...body, ...other, lastEvaluatedKey: key };
        assertProblem(await crm(searchPath, { body: asked }), 400, "validation_failed");
      }
      const fewer = await crm(searchPath, {
        body: { ...body, limit: 2, fields: ["version"], lastEvaluatedKey: key },
      });
      assert.equal(fewer.status, 200);
      assert.equal(fewer.json.data.length, 2);
    });

    it("refuses one of another organisation and an expired one", async () => {
      const rival = await backEnd(world, ["users:read"], ids.otherOrganisation);
      const elsewhere = { body: { limit: 5, lastEvaluatedKey: await nextOf({ limit: 5 }) }, host: otherHost };
      assertProblem(await rival(searchPath, elsewhere), 400, "validation_failed");
      const key = await next();
      world.clock.advance(86_400_000);
      assertProblem(
        await crm(searchPath, { body: { ...body, lastEvaluatedKey: key } }),
        400,
        "validation_failed",
      );
    });

    async function nextOf(asked: Readonly<Record<string, unknown>>): Promise<string> {
      return (await crm(searchPath, { body: asked })).json.lastEvaluatedKey;
    }
  });

  it("returns no users of another organisation", async () => {
    const rival = await backEnd(world, ["users:read"], ids.otherOrganisation);
    for (const body of [{}, { filter: { userIds: ["u1", "u2"] } }, { sort: [{ field: "createdAt" }] }]) {
      const { status, json, text } = await rival(searchPath, { body, host: otherHost });
      assert.deepEqual([status, json.data, json.lastEvaluatedKey], [200, [], null], text);
    }
  });
});
