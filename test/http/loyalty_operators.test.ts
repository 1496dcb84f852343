/** Changes of users' loyalty by operators, over HTTP on both stores. */

import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import {
  type Answer,
  ids,
  loyalty,
  openPlatform,
  otherHost,
  seed,
  type TestPlatform,
} from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { type WatchedStore, watching } from "../support/watched_store.ts";
import { newKey } from "./_operations.ts";
import { assertProblem } from "./_problem.ts";

const document = {
  ...loyalty,
  actions: [...loyalty.actions, { name: "typed", clientReportable: true, data: { goals: "number" } }],
};

describeOnStores("operators of loyalty", open => {
  let world: TestPlatform;
  let headers: Readonly<Record<string, string>>;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: { ...seed, loyalty: { [ids.space]: document } } });
    const { key, secret } = await newKey(world);
    headers = { "x-api-key": key, "x-api-secret": secret };
  });
  afterEach(() => world.dispose());

  const of = (userId: string): string => `/internal/loyalty/users/${userId}`;
  async function history(token: string): Promise<readonly { id: string; type: string; payload: unknown }[]> {
    return (await world.call("/api/loyalty/history", { token })).json.data;
  }
  function reverse(userId: string, transactionId: string): Promise<Answer> {
    return world.call(`${of(userId)}/reversals`, { headers, body: { transactionId } });
  }

  it("take a transaction back by the id of any of its entries, as lists show them", async () => {
    const { userId } = await world.fan("Sam");
    const user = { organisationId: ids.organisation, spaceId: ids.space, projectId: null, userId };
    const rewards = ["points", "energy"].map(
      metricId => ({ type: "metric", metricId, metricQuantity: 1 }) as const,
    );
    await world.platform.loyalty.grant(user, { rewards, reason: "Gift" });
    await world.platform.loyalty.grant(user, { rewards, reason: "Gift" });
    const listed = await world.call(`/api/audience/transactions?user_id=${userId}`, {
      headers: { ...headers, "x-platform-org-id": ids.organisation },
    });
    const shown = listed.json.data.map(({ transactionId }: Answer["json"]) => transactionId);
    assert.equal(shown.length, 4, JSON.stringify(listed.json));
    assert.equal(shown[0], `${shown[1]}~1`);
    assertProblem(await reverse(userId, `${shown[1]}~2`), 404, "not_found");
    assert.equal((await reverse(userId, shown[0])).status, 200);
    assertProblem(await reverse(userId, shown[1]), 409, "conflict");
    assert.equal((await reverse(userId, shown[3])).status, 200);
    assertProblem(await reverse(userId, shown[2]), 409, "conflict");
    assert.equal((await world.platform.loyalty.profile(user)).metrics.points, 0);
  });

  it("try an action out: nothing changes, and what fails is named", async () => {
    const fan = await world.fan("Sam");
    const body = { userId: fan.userId, action: "prediction", data: { outcome: "exact" } };
    const { status, json } = await world.call("/internal/loyalty/dry-run", { headers, body });
    assert.equal(status, 200);
    assert.deepEqual(json.data.rules, [
      { ruleId: "exact", fired: true, failures: [] },
      {
        ruleId: "right",
        fired: false,
        failures: [
          { path: "/rules/1/when/eq", expected: json.data.rules[1].failures[0].expected, actual: "exact" },
        ],
      },
    ]);
    assert.deepEqual(
      json.data.missions.map((mission: { advanced: boolean }) => mission.advanced),
      [true, true],
    );
    assert.deepEqual(json.data.profile.metrics, { points: 3, energy: 5 });
    assert.deepEqual((await fan.profile()).metrics, { points: 0, energy: 5 });
    assert.deepEqual(await history(fan.token), []);
  });

  it("prove nothing of a user of whom nothing is on record", async () => {
    for (const call of [
      await world.call(`${of("nobody-at-all")}/reconciliation`, { headers }),
      await world.call(`${of("nobody-at-all")}/replay`, { headers, body: {} }),
    ]) {
      assert.equal(call.status, 404, call.text);
      assert.match(call.text, /nothing is on record of the user's loyalty/);
    }
  });

  it("prove that metrics equal the sums of the ledger, and find differences", async () => {
    const fan = await world.fan("Sam");
    for (const _ of "123") await fan.act("prediction", { outcome: "exact" });
    await fan.act("rest");
    const proven = await world.call(`${of(fan.userId)}/reconciliation`, { headers });
    assert.deepEqual(proven.json.data, {
      ok: true,
      metrics: [
        { metricId: "energy", balance: 7, folded: 7, isComplete: true },
        { metricId: "points", balance: 19, folded: 19, isComplete: true },
      ],
      faults: [],
    });
    const partition = `o:${ids.organisation}:loyalty:${fan.userId}`;
    const [stored] = await world.store.read(partition, [{ type: "record", key: "loyalty" }]);
    const state = JSON.parse(stored?.value ?? "{}");
    const value = JSON.stringify({ ...state, metrics: { ...state.metrics, points: 20 } });
    await world.store.commit(partition, { writes: [{ type: "put", key: "loyalty", value }] });
    const { json } = await world.call(`${of(fan.userId)}/reconciliation`, { headers });
    assert.equal(json.data.ok, false);
    assert.deepEqual(
      json.data.faults.map(({ metricId }: { metricId: string }) => metricId),
      ["points"],
    );
  });

  it("replay a user's history against the configuration, or another one, and see the difference", async () => {
    const fan = await world.fan("Sam");
    await Promise.all(Array.from({ length: 20 }, () => fan.act("prediction", { outcome: "right" })));
    const same = await world.call(`${of(fan.userId)}/replay`, { headers, body: {} });
    const { records, isComplete, differences } = same.json.data;
    assert.deepEqual([records, isComplete, differences], [20, true, []]);
    const [exact, right, ...others] = loyalty.rules;
    const doubled = { ...right, effects: [{ type: "metric", metricId: "points", metricQuantity: 2 }] };
    const other = { ...document, rules: [exact, doubled, ...others] };
    const { json } = await world.call(`${of(fan.userId)}/replay`, { headers, body: { document: other } });
    assert.deepEqual(json.data.differences, [{ pointer: "/metrics/points", a: 20, b: 40 }]);
    assert.equal((await fan.profile()).metrics.points, 20);
    const wrong = await world.call(`${of(fan.userId)}/replay`, {
      headers,
      body: { document: { rules: [{}] } },
    });
    assertProblem(wrong, 400, "validation_failed");
  });

  it("learn that nothing is on record of a user, where there is nothing to replay", async () => {
    const replayed = await world.call(`${of("nobody")}/replay`, { headers, body: {} });
    assertProblem(replayed, 404, "not_found");
  });

  it("take a transaction back, once, however many ask at the same time", async () => {
    const fan = await world.fan("Sam");
    for (const _ of "123") await fan.act("prediction", { outcome: "exact" });
    const completed = (await history(fan.token)).find(({ type }) => type === "challengeCompleted");
    assert.ok(completed);
    const answers = await Promise.all(Array.from({ length: 8 }, () => reverse(fan.userId, completed.id)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)]);
    const { metrics, inventory } = await fan.profile();
    assert.deepEqual([metrics.points, inventory.badges], [9, []]);
    const last = (await history(fan.token)).at(-1);
    assert.equal(last?.type, "reversed");
    assertProblem(await reverse(fan.userId, last?.id ?? ""), 409, "conflict");
    const replayed = await world.call(`${of(fan.userId)}/replay`, { headers, body: {} });
    assert.deepEqual(replayed.json.data.differences, []);
    const proven = await world.call(`${of(fan.userId)}/reconciliation`, { headers });
    assert.equal(proven.json.data.ok, true);
  });

  it("leave no trace of an unknown user whose transaction is reversed", async t => {
    const stores: WatchedStore[] = [];
    const watched = await openPlatform(watching(open, store => stores.push(store)));
    t.after(() => watched.dispose());
    const { key, secret } = await newKey(watched);
    const credentials = { "x-api-key": key, "x-api-secret": secret };
    const made = stores[0]?.changes.length;
    const body = { transactionId: "1750000000000-0" };
    const answer = await watched.call(`${of("stranger")}/reversals`, { headers: credentials, body });
    assertProblem(answer, 404, "not_found");
    await watched.platform.idle();
    assert.deepEqual(stores[0]?.changes.slice(made), []);
  });

  it("find no transaction that the user does not have, and none that changed nothing", async () => {
    const fan = await world.fan("Sam");
    await fan.act("prediction", { outcome: "exact" });
    const [, mission] = await history(fan.token);
    assertProblem(await reverse(fan.userId, mission?.id ?? ""), 409, "conflict");
    for (const id of ["x", "1-0", "9999999999999999-0", `${mission?.id}.1`]) {
      assertProblem(await reverse(fan.userId, id), 404, "not_found");
    }
    assertProblem(await reverse("nobody", mission?.id ?? ""), 404, "not_found");
  });

  it("have no business in the space of another organisation", async () => {
    const { status } = await world.call(`${of("somebody")}/reconciliation`, { headers, host: otherHost });
    assert.equal(status, 404);
  });

  it("see back ends give rewards once for each id, and only those that there are", async () => {
    const fan = await world.fan("Sam");
    const member = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      userId: fan.userId,
      projectId: null,
    };
    const rewards = [{ type: "metric", metricId: "points", metricQuantity: 4 }] as const;
    const order = { rewards, reason: "Welcome", id: "w-1" };
    const given = await Promise.all(
      Array.from({ length: 8 }, () => world.platform.loyalty.grant(member, order)),
    );
    assert.equal(given.filter(transaction => transaction !== null).length, 1);
    assert.equal((await fan.profile()).metrics.points, 4);
    const [granted] = await history(fan.token);
    assert.deepEqual(
      granted,
      given.find(transaction => transaction !== null),
    );
    const unknown = [{ type: "coupon", couponId: "none" }] as const;
    await assert.rejects(world.platform.loyalty.grant(member, { rewards: unknown, reason: "" }), {
      code: "validation_failed",
    });
  });

  it("declare the data of an action, and reports that do not fit are refused", async () => {
    const fan = await world.fan("Sam");
    assert.equal((await fan.act("typed", { goals: 2 })).status, 200);
    assert.equal((await fan.act("typed")).status, 200);
    const refused: [data: Record<string, string | number>, pointer: string][] = [
      [{ goals: "2" }, "/data/goals"],
      [{ assists: 2 }, "/data/assists"],
      [{ toString: "x" }, "/data/toString"],
    ];
    for (const [data, pointer] of refused) {
      const answer = await fan.act("typed", data);
      assertProblem(answer, 400, "validation_failed");
      assert.equal(answer.json.errors[0].pointer, pointer);
    }
  });

  it("keep a record of every action, and show a history past those without effects", async () => {
    const fan = await world.fan("Sam");
    await Promise.all(Array.from({ length: 1_005 }, () => fan.act("typed")));
    await fan.act("rest");
    assert.deepEqual(
      (await history(fan.token)).map(({ type }) => type),
      ["actionRewarded"],
    );
    const partition = `o:${ids.organisation}:loyalty:${fan.userId}`;
    const [stored] = await world.store.read(partition, [{ type: "record", key: "loyalty" }]);
    assert.equal(JSON.parse(stored?.value ?? "{}").records, 1_006);
  });
});
