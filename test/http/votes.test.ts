/** Votes: actions that name an element take part while it is open, as often as its producer allows. */

import assert from "node:assert/strict";
import { it, type TestContext } from "node:test";
import { catalogueApp } from "../../lib/authoring/table/catalogue.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { createPlatform, type Platform, silentLogger } from "../../lib/mod.ts";
import { type Answer, type Fan, ids, loyalty, openPlatform, seed, testSecret } from "../support/platform.ts";
import { describeOnEveryStore } from "../support/stores.ts";
import { assertProblem } from "./_problem.ts";
import { Show } from "./_show.ts";
import { Pool } from "./managed_pool/_pool.ts";

const unknown = "0cffffff-0000-4000-8000-000000000001";

const points = (metricQuantity: unknown) => [{ type: "metric", metricId: "points", metricQuantity }];

/** The sample with votes, and a point for each. */
const otherProject = "0c000000-0000-4000-8000-00000000000f";
const votingSeed = {
  ...seed,
  projects: [
    ...(seed.projects ?? []),
    { id: otherProject, spaceId: ids.space, organisationId: ids.organisation, name: "Other app" },
  ],
  loyalty: {
    [ids.space]: {
      ...loyalty,
      actions: [
        ...loyalty.actions,
        { name: "vote", clientReportable: true },
        { name: "told", data: { elementId: "string", option: "number" }, clientReportable: true },
      ],
      rules: [...loyalty.rules, { id: "vote", trigger: { action: "vote" }, effects: points(1) }],
    },
  },
};

describeOnEveryStore("votes", open => {
  async function opened(t: TestContext) {
    const world = await openPlatform(open, { seed: votingSeed });
    t.after(() => world.dispose());
    const show = new Show(world);
    await show.start();
    return { world, show, fan: await world.fan("Sam") };
  }
  const vote = (fan: Fan, elementId: string, option?: string | number, actionId?: string): Promise<Answer> =>
    fan.act("vote", { elementId, ...(option === undefined ? {} : { option }) }, actionId);
  const chosen = (elementId: string, ...options: readonly number[]) => ({
    elementId,
    votes: 1,
    options: options.map(option => ({ option, votes: 1 })),
  });

  it("count once, and say so as often as their id is sent", async t => {
    const { show, fan } = await opened(t);
    const id = await show.publish();
    const first = await vote(fan, id, 2, "v1");
    assert.deepEqual(
      [first.status, first.json],
      [200, { message: "OK", data: { counted: true, vote: chosen(id, 2) } }],
    );
    await show.act("elements", id, "stop");
    for (const option of [2, 1]) assert.deepEqual((await vote(fan, id, option, "v1")).json, first.json);
    assert.equal((await fan.profile()).metrics.points, 1);
  });

  it("are refused before the publication, after the end, after the answer and after a revocation, and change nothing", async t => {
    const { show, fan, world } = await opened(t);
    const refused = async (id: string) => {
      assertProblem(await vote(fan, id, 1), 409, "vote_closed");
      assert.equal((await fan.profile()).metrics.points ?? 0, 0);
    };
    const draft = await show.draft();
    await refused(draft);
    for (const action of ["stop", "reveal_answer", "revoke"]) {
      const id = await show.publish({ correct_option: 1 });
      await show.act("elements", id, action);
      await refused(id);
    }
    const timed = await show.publish({ duration: 30 });
    world.clock.advance(30_000);
    await refused(timed);
    const late = await show.publish();
    await show.act("events", show.eventId, "stop");
    await refused(late);
    for (const id of [unknown, show.eventId]) await refused(id);
    assert.deepEqual((await show.votesOf(fan)).json.data, []);
    const { elements } = await show.liveStats();
    assert.ok(
      elements.every(({ actions }) => actions === 0),
      "nothing refused is counted on screens",
    );
  });

  it("are taken as soon as the element is published", async t => {
    const { show, fan } = await opened(t);
    const id = await show.draft();
    assertProblem(await vote(fan, id, 1), 409, "vote_closed");
    await show.act("elements", id, "publish");
    assert.equal((await vote(fan, id, 1)).status, 200);
  });

  it("of a user keep 6,000 entries for what was published within four weeks: one for each option, and five", async t => {
    const { show, fan } = await opened(t);
    const bounds = { max_votes_per_user: 1_000, max_votes_per_option: 0 };
    const [id, other] = [await show.publish(bounds), await show.publish(bounds)];
    for (let n = 0; n < 1_000; n++) assert.equal((await vote(fan, id, 1)).status, 200, `vote ${n}`);
    assertProblem(await vote(fan, other, 1), 409, "vote_limit");
    const { data } = (await show.votesOf(fan)).json;
    assert.deepEqual(data, [{ elementId: id, votes: 1_000, options: [{ option: 1, votes: 1_000 }] }]);
  });

  it("stay within the votes of a user and of an option", async t => {
    const { show, fan } = await opened(t);
    const once = await show.publish();
    assert.equal((await vote(fan, once, 1)).status, 200);
    assertProblem(await vote(fan, once, 2), 409, "vote_limit");
    const thrice = await show.publish({ max_votes_per_user: 3, max_votes_per_option: 2 });
    for (const option of [1, 1]) assert.equal((await vote(fan, thrice, option)).status, 200);
    assertProblem(await vote(fan, thrice, 1), 409, "vote_limit");
    const last = await vote(fan, thrice, "2");
    const options = [
      { option: 1, votes: 2 },
      { option: 2, votes: 1 },
    ];
    assert.deepEqual(last.json.data.vote, { elementId: thrice, votes: 3, options });
    assertProblem(await vote(fan, thrice, 2), 409, "vote_limit");
    const { elements } = await show.liveStats();
    assert.deepEqual(
      elements.map(({ votes }) => votes),
      [
        [1, 0, 0],
        [2, 1, 0],
      ],
    );
    assert.equal((await fan.profile()).metrics.points, 4);
    const cheers = catalogueApp("").elements.find(type => type.content_type === "cheer");
    const cheer = await show.publish({ content_type: "cheer", ...cheers?.templates?.[0]?.data });
    for (const _ of "123") assert.equal((await vote(fan, cheer, 1)).status, 200, "taps of its template");
  });

  it("that are applied together stop at the first too many, after those before it", async t => {
    const { world, show, fan } = await opened(t);
    const [once, other] = [await show.publish(), await show.publish()];
    const user = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      userId: fan.userId,
      projectId: null,
    };
    const report = (elementId: string) => ({
      ...{ action: "vote", data: { elementId, option: 1 }, isClientReport: false, isGuarded: true },
    });
    const { applied, error } = await world.platform.loyalty.reportAll(
      user,
      [once, other, once, other].map(report),
    );
    assert.deepEqual([applied, error instanceof AppError && error.code], [2, "vote_limit"]);
    assert.equal((await fan.profile()).metrics.points, 2);
  });

  it("count exactly one of many at once", async t => {
    const { show, fan } = await opened(t);
    const id = await show.publish();
    const answers = await Promise.all(Array.from({ length: 16 }, (_, n) => vote(fan, id, 1, `race-${n}`)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, ...Array(15).fill(409)]);
    assert.equal((await fan.profile()).metrics.points, 1);
  });

  it("take options that exist, as many as the element asks for", async t => {
    const { show, fan } = await opened(t);
    const two = await show.publish({ min_options_per_vote: 2, max_options_per_vote: 3 });
    for (const option of [1, "1", 99, "4", "1,4", "0", "1,", "x", "1.5", "1,1", undefined]) {
      assertProblem(await vote(fan, two, option), 422, "option");
    }
    assert.deepEqual((await vote(fan, two, "3,1")).json.data.vote, chosen(two, 1, 3));
    const none = await show.publish({ content_type: "ask", question: null });
    assertProblem(await vote(fan, none, 1), 422, "option");
    assert.equal((await vote(fan, none)).status, 200);
    const rating = await show.publish({
      content_type: "rating",
      question: null,
      custom_fields: [{ key: "scale", values: { all: 7 } }],
    });
    assertProblem(await vote(fan, rating, 8), 422, "option");
    assert.deepEqual((await vote(fan, rating, 7)).json.data.vote, chosen(rating, 7));
  });

  it("of verified users alone need a proved address", async t => {
    const { show, fan } = await opened(t);
    const id = await show.publish({ require_verified_user: true });
    assertProblem(await vote(fan, id, 1), 403, "email_not_verified");
    assert.deepEqual((await show.votesOf(fan)).json.data, []);
  });

  it("of verified users alone are taken once the address is proved", async t => {
    const pool = await Pool.open(open);
    t.after(() => pool.world.dispose());
    const show = new Show(pool.world);
    await show.start();
    const id = await show.publish({ require_verified_user: true });
    const email = "sam@club.example";
    const {
      isNew: _,
      accessToken: token,
      refreshToken: __,
      profileToken: ___,
      ...record
    } = await pool.member(email);
    const issue = { type: "sessionRecord", projectId: ids.project, record };
    const issued = await pool.world.call("/api/auth/token", { body: issue });
    const voted = () =>
      pool.world.call("/api/loyalty/action", {
        token: issued.json.data.accessToken,
        body: { action: "cheer", data: { elementId: id, option: "1" } },
      });
    assertProblem(await voted(), 403, "email_not_verified");
    const confirmed = await pool.confirmEmail(email, await pool.emailCode(email), token);
    assert.equal(confirmed.status, 200, confirmed.text);
    assert.deepEqual((await voted()).json.data, { counted: true, vote: chosen(id, 1) });
  });

  it("tell the answer with the vote where the element says so", async t => {
    const { show, fan } = await opened(t);
    const quiz = { correct_option: 2, reveal_answer_on_vote: true, max_votes_per_user: 2 };
    const [right, hidden] = [await show.publish(quiz), await show.publish({ correct_option: 2 })];
    assert.equal((await vote(fan, right, 2, "q1")).json.data.isRight, true);
    assert.equal((await vote(fan, right, 2, "q1")).json.data.isRight, true);
    assert.equal((await vote(fan, right, 1)).json.data.isRight, false);
    assert.equal((await vote(fan, hidden, 2)).json.data.isRight, undefined);
    const { data } = (await show.votesOf(fan)).json;
    assert.deepEqual(
      data.map(({ elementId, isRight }: Record<string, unknown>) => [elementId, isRight]),
      [
        [right, false],
        [hidden, undefined],
      ],
    );
  });

  it("of other projects are closed, and texts that are no ids are plain data", async t => {
    const { fan, world } = await opened(t);
    const others = new Show(world, otherProject);
    await others.start();
    const foreign = await others.publish();
    assertProblem(await vote(fan, foreign, 1), 409, "vote_closed");
    const plain = await fan.act("vote", { elementId: "not-an-id", option: "9" });
    assert.deepEqual([plain.status, plain.text], [200, ""]);
  });

  it("are listed by event, for their user alone", async t => {
    const { show, fan, world } = await opened(t);
    const [first, second] = [await show.publish(), await show.publish()];
    await vote(fan, second, 3);
    await vote(fan, first, 1);
    assert.deepEqual((await show.votesOf(fan)).json.data, [chosen(first, 1), chosen(second, 3)]);
    assert.deepEqual((await show.votesOf(await world.fan("Kim"))).json.data, []);
    for (const [eventId, status] of [
      [unknown, 404],
      [first, 404],
      ["x", 400],
    ] as const) {
      assert.equal((await show.votesOf(fan, eventId)).status, status);
    }
  });

  it("of back ends count without the guard, unless they ask for it", async t => {
    const { show, fan, world } = await opened(t);
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Back end",
      permissions: ["actions:write", "users:read"],
    });
    const issued = await world.call("/api/auth/token", { body: { type: "service", key, secret } });
    const token = issued.json.data.accessToken;
    const report = (elementId: string, option: unknown, more = {}) =>
      world.call(`/api/loyalty/action?user_id=${fan.userId}`, {
        token,
        body: { action: "vote", data: { elementId, option }, ...more },
      });
    const id = await show.publish();
    for (const _ of "12") assert.equal((await report(id, 1)).status, 200);
    assertProblem(await report(id, 1, { isGuarded: true }), 409, "vote_limit");
    assertProblem(await vote(fan, id, 1), 409, "vote_limit");
    await show.act("elements", id, "stop");
    assertProblem(await report(id, 1, { isGuarded: true }), 409, "vote_closed");
    assert.equal((await report(id, 2)).json.data.vote.votes, 3);
    assert.deepEqual([(await report(id, 99)).text, (await report(unknown, 1)).text], ["", ""]);
    assert.deepEqual((await show.votesOf(fan)).json.data[0].options, [
      { option: 1, votes: 2 },
      { option: 2, votes: 1 },
    ]);
  });

  it("of a merged user go to the account, whose own votes stand", async t => {
    const { show, fan, world } = await opened(t);
    const account = await world.fan("Kim");
    const [both, one] = [await show.publish(), await show.publish()];
    for (const id of [both, one]) await vote(fan, id, 1);
    await vote(account, both, 2);
    const user = (of: Fan) => ({
      ...{ organisationId: ids.organisation, spaceId: ids.space },
      ...{ projectId: ids.project, userId: of.userId },
    });
    for (const _ of "12") await world.platform.loyalty.merge(user(fan), user(account));
    assert.deepEqual((await show.votesOf(account)).json.data, [chosen(both, 2), chosen(one, 1)]);
    for (const id of [both, one]) assertProblem(await vote(account, id, 3), 409, "vote_limit");
  });

  it("are described in the history of the event", async t => {
    const { show, world } = await opened(t);
    await show.publish({ max_votes_per_user: 2, max_options_per_vote: 3, require_verified_user: true });
    const { json } = await world.call(`/events/${show.eventId.slice(0, 2)}/${show.eventId}/history.json`);
    assert.deepEqual(
      json.timeline.map((item: { readonly vote: unknown }) => item.vote),
      [{ min: 1, max: 3, perUser: 2, verified: true, answerOnVote: false, resultsMode: "vote" }],
    );
  });

  it("leave with their user", async t => {
    const { show, fan, world } = await opened(t);
    const id = await show.publish();
    await vote(fan, id, 1);
    await world.platform.loyalty.removeUser({ organisationId: ids.organisation, userId: fan.userId });
    const user = {
      organisationId: ids.organisation,
      spaceId: ids.space,
      projectId: ids.project,
      userId: fan.userId,
    };
    assert.deepEqual(await world.platform.loyalty.votes(user, show.eventId), []);
  });

  it("are taken by a process that has not seen the publication, and refused a second after the end", async t => {
    const { show, fan, world } = await opened(t);
    const options = { store: world.store, secret: testSecret, logger: silentLogger, limiter: "off" } as const;
    const other = await createPlatform({ ...options, clock: world.clock.now, defaultSpaceId: ids.space });
    t.after(() => other.close());
    const user = {
      ...{ organisationId: ids.organisation, spaceId: ids.space },
      ...{ projectId: ids.project, userId: fan.userId },
    };
    const report = (elementId: string) =>
      other.loyalty.report(user, { action: "vote", data: { elementId, option: 1 }, isClientReport: true });
    const [first, second] = [await show.draft(), await show.draft()];
    await assert.rejects(report(first), { code: "vote_closed" });
    for (const id of [first, second]) await show.act("elements", id, "publish");
    assert.equal((await report(first)).isNew, true);
    await show.act("elements", first, "stop");
    await assert.rejects(report(first), { code: "vote_closed" }, "not the limit");
    await show.act("elements", second, "stop");
    world.clock.advance(1_000);
    await assert.rejects(report(second), { code: "vote_closed" });
  });

  it("are decided by the clock of the store, whatever that of the process says", async t => {
    const { show, fan, world } = await opened(t);
    const id = await show.publish({ duration: 60 });
    const processes: Platform[] = [];
    for (const offMs of [-30_000, 30_000]) {
      const options = {
        store: world.store,
        secret: testSecret,
        logger: silentLogger,
        limiter: "off",
      } as const;
      const clock = () => world.clock.now() + offMs;
      const process = await createPlatform({ ...options, clock, defaultSpaceId: ids.space });
      processes.push(process);
      t.after(() => process.close());
    }
    const report = (index: number, userId: string) =>
      processes[index]?.loyalty.report(
        { organisationId: ids.organisation, spaceId: ids.space, projectId: ids.project, userId },
        { action: "vote", data: { elementId: id, option: 1 }, isClientReport: true },
      );
    world.clock.advance(45_000);
    assert.equal((await report(1, fan.userId))?.isNew, true, "a process that is ahead still takes it");
    world.clock.advance(15_000);
    const kim = await world.fan("Kim");
    await assert.rejects(async () => report(0, kim.userId), { code: "vote_closed" });
  });
});
