import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, it } from "node:test";
import {
  actionIdCharactersMax,
  dataNameCharactersMax,
  dataPropertiesMax,
  dataTextCharactersMax,
} from "../../lib/fans/loyalty/http/requests.ts";
import { onceGenerationMs } from "../../lib/fans/loyalty/user/stored_state.ts";
import { userIdCharactersMax } from "../../lib/http/requests/validate.ts";
import { type Answer, ids, openPlatform, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { assertProblem } from "./_problem.ts";

describeOnStores("reporting an action", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  async function serviceToken(): Promise<string> {
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Back end",
      permissions: ["actions:write", "users:read"],
    });
    const issued = await world.call("/api/auth/token", { body: { type: "service", key, secret } });
    return issued.json.data.accessToken;
  }
  const report = (token: string, body: unknown, query = ""): Promise<Answer> =>
    world.call(`/api/loyalty/action${query}`, { token, body });

  it("answers 200 without content", async () => {
    const { token } = await world.fan("Sam");
    const { status, text, headers } = await report(token, { action: "rest" });
    assert.deepEqual([status, text, headers.get("content-type")], [200, "", null]);
    assert.equal(headers.get("cache-control"), "no-store");
  });

  it("takes effect once for one action id, whether repeated later or 32 times at once", async () => {
    const fan = await world.fan("Sam");
    const exact = { outcome: "exact" };
    for (const _ of "123") assert.equal((await fan.act("prediction", exact, "a-1")).status, 200);
    assert.equal((await fan.profile()).metrics.points, 3);
    const answers = await Promise.all(Array.from({ length: 32 }, () => fan.act("prediction", exact, "a-2")));
    assert.ok(answers.every(({ status, text }) => status === 200 && text === ""));
    assert.equal((await fan.profile()).metrics.points, 6);
    const { json } = await world.call("/api/loyalty/history", { token: fan.token });
    const rewarded = json.data.filter(({ type }: { type: string }) => type === "actionRewarded");
    assert.equal(rewarded.length, 2);
  });

  it("distinguishes the action ids of different users, and unusual ones of one user", async () => {
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    const strange = [
      "a",
      "A",
      "a:b",
      "{a}",
      "__proto__",
      "constructor",
      "😀",
      "～",
      " ",
      "a".repeat(actionIdCharactersMax),
    ];
    for (const id of [...strange, ...strange]) await sam.act("prediction", { outcome: "right" }, id);
    await kim.act("prediction", { outcome: "right" }, "a");
    assert.equal((await sam.profile()).metrics.points, strange.length);
    assert.equal((await kim.profile()).metrics.points, 1);
  });

  it("remembers an action id over the turn of a generation, for one generation at least and two at most", async () => {
    const toTurn = onceGenerationMs - (world.clock.now() % onceGenerationMs);
    world.clock.advance(toTurn - 1);
    const { userId } = await world.fan("Sam");
    const token = await serviceToken();
    const body = { action: "prediction", data: { outcome: "right" }, actionId: "once" };
    const points = async (bearer: string): Promise<number> => {
      const answer = await report(bearer, body, `?user_id=${userId}`);
      assert.equal(answer.status, 200);
      const { json } = await world.call(`/api/loyalty/profile?user_id=${userId}`, { token: bearer });
      return json.data.metrics.points;
    };
    assert.equal(await points(token), 1);
    world.clock.advance(1);
    assert.equal(await points(token), 1);
    world.clock.advance(onceGenerationMs - 1);
    assert.equal(await points(await serviceToken()), 1);
    world.clock.advance(1);
    assert.equal(await points(await serviceToken()), 2);
  });

  it("takes 10,000 ids of a user in a week, and says when the next one begins", async () => {
    const { userId, act } = await world.fan("Sam");
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Devices",
      permissions: ["actions:write"],
    });
    const headers = { "x-api-key": key, "x-api-secret": secret, "x-platform-org-id": ids.organisation };
    const bulk = (actionIds: readonly string[]): Promise<Answer> => {
      const actions = actionIds.map(actionId => ({ userId, action: "adjust", actionId }));
      const path = "/v1/api/audience/internal/actions/bulk";
      return world.call(path, { headers, body: { actions } });
    };
    for (let part = 0; part < 10; part++) {
      const { json } = await bulk(Array.from({ length: 1_000 }, (_, n) => `${part}-${n}`));
      assert.equal(json.data.summary.failed, 0);
    }
    const restMs = onceGenerationMs - (world.clock.now() % onceGenerationMs);
    for (const refused of [await bulk(["more"]), await act("rest", {}, "mine")]) {
      assertProblem(refused, 429, "rate_limited");
      assert.equal(refused.headers.get("retry-after"), String(Math.ceil(restMs / 1_000)));
    }
    assert.equal((await act("rest")).status, 200);
    world.clock.advance(restMs);
    assert.equal((await (await world.fan("Kim")).act("rest", {}, "theirs")).status, 200);
    assert.equal((await bulk(["more"])).json.data.summary.failed, 0);
  });

  it("keeps no marks of generations that are over, however long the user was away", async () => {
    const { userId } = await world.fan("Sam");
    const partition = `o:${ids.organisation}:loyalty:${userId}`;
    const first = Math.floor(world.clock.now() / onceGenerationMs);
    const act = async (): Promise<void> => {
      const body = { action: "rest", actionId: randomUUID() };
      assert.equal((await report(await serviceToken(), body, `?user_id=${userId}`)).status, 200);
    };
    await act();
    world.clock.advance(onceGenerationMs);
    await act();
    world.clock.advance(5 * onceGenerationMs);
    await act();
    const marks = await Promise.all(
      [0, 1, 6].map(async age => {
        const [tally] = await world.store.read(partition, [{ type: "tally", key: `seen:${first + age}` }]);
        return tally.size;
      }),
    );
    assert.deepEqual(marks, [0, 0, 1]);
  });

  it("leaves actions that no device may report to back ends", async () => {
    const fan = await world.fan("Sam");
    await fan.act("prediction", { outcome: "exact" });
    assertProblem(await fan.act("adjust"), 403, "forbidden");
    assertProblem(await fan.act("unheard-of"), 403, "forbidden");
    assertProblem(await fan.act("toString"), 403, "forbidden");
    assert.equal((await fan.profile()).metrics.points, 3);
    const token = await serviceToken();
    assert.equal((await report(token, { action: "adjust" }, `?user_id=${fan.userId}`)).status, 200);
    assertProblem(await report(token, { action: "unheard-of" }, `?user_id=${fan.userId}`), 403, "forbidden");
    assert.equal((await fan.profile()).metrics.points, 1);
  });

  it("acts only for the token's own user, and in the user's own project", async () => {
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    const calls: [path: string, body?: unknown][] = [
      ["/api/loyalty/action", { action: "rest" }],
      ["/api/loyalty/profile"],
      ["/api/loyalty/notifications"],
      ["/api/loyalty/history"],
    ];
    for (const [path, body] of calls) {
      const as = (userId: string, projectId: string = ids.project): Promise<Answer> =>
        world.call(`${path}?user_id=${userId}&project_id=${projectId}`, {
          token: sam.token,
          ...(body === undefined ? {} : { body }),
        });
      assertProblem(await as(kim.userId), 403, "forbidden");
      assertProblem(await as("nobody"), 403, "forbidden");
      assertProblem(await as(sam.userId, ids.otherProject), 403, "forbidden");
      assert.equal((await as(sam.userId)).status, 200);
      assert.equal((await as(sam.userId, ids.project.toUpperCase())).status, 200);
    }
    assert.equal((await kim.profile()).metrics.energy, 5);
  });

  it("demands that a back end names a user, with an id of at most so many characters", async () => {
    const token = await serviceToken();
    assertProblem(await report(token, { action: "rest" }), 400, "validation_failed");
    assertProblem(await report(token, { action: "rest" }, "?user_id="), 400, "validation_failed");
    const longest = encodeURIComponent("～".repeat(userIdCharactersMax));
    assert.equal((await report(token, { action: "rest" }, `?user_id=${longest}`)).status, 200);
    assertProblem(await report(token, { action: "rest" }, `?user_id=${longest}a`), 400, "validation_failed");
  });

  it("takes data up to its bounds, and no more", async () => {
    const { token } = await world.fan("Sam");
    const properties = (count: number): object =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`p${index}`, index]));
    const accepted: unknown[] = [
      undefined,
      {},
      { text: "x".repeat(dataTextCharactersMax) },
      { text: "" },
      { a: 1.5, b: -0, c: true, d: false, e: Number.MAX_SAFE_INTEGER },
      { ["n".repeat(dataNameCharactersMax)]: 1 },
      properties(dataPropertiesMax),
      { toString: "own", hasOwnProperty: 1 },
    ];
    for (const data of accepted) {
      const answer = await report(token, { action: "rest", data });
      assert.equal(answer.status, 200, `${JSON.stringify(data)?.slice(0, 80)}: ${answer.text}`);
    }
    const refused: unknown[] = [
      { text: "x".repeat(dataTextCharactersMax + 1) },
      { ["n".repeat(dataNameCharactersMax + 1)]: 1 },
      properties(dataPropertiesMax + 1),
      { a: null },
      { a: 2 ** 53 },
      { a: [] },
      { a: {} },
      { constructor: 1 },
      { prototype: "x" },
      [],
      "text",
      7,
      null,
    ];
    for (const data of refused) {
      const answer = await report(token, { action: "rest", data });
      assert.equal(answer.status, 400, `${JSON.stringify(data).slice(0, 80)}: ${answer.text}`);
      assertProblem(answer, 400, "validation_failed");
    }
  });

  it("refuses names and action ids that are missing, of another type or too long", async () => {
    const { token } = await world.fan("Sam");
    const bodies: unknown[] = [
      {},
      { action: "" },
      { action: 7 },
      { action: null },
      { action: "x".repeat(65) },
      { action: "rest", actionId: "" },
      { action: "rest", actionId: 7 },
      { action: "rest", actionId: "x".repeat(actionIdCharactersMax + 1) },
      [],
      "rest",
      null,
    ];
    for (const body of bodies) {
      const raw = typeof body === "string" ? JSON.stringify(body) : body;
      assertProblem(await report(token, raw), 400, "validation_failed");
    }
  });

  it("takes any event id in the data, and feeds no board with one that does not exist", async () => {
    const fan = await world.fan("Sam");
    const strange = [
      "",
      "x".repeat(dataTextCharactersMax),
      "～".repeat(600),
      "a/b",
      "current/../x",
      "{}",
      randomUUID(),
    ];
    for (const eventId of strange) {
      const { status, text } = await fan.act("prediction", { outcome: "right", eventId });
      assert.equal(status, 200, text);
    }
    assert.equal((await fan.profile()).metrics.points, strange.length);
    await world.platform.idle();
    const board = await world.call(`/projects/${ids.project}/events/${ids.event}/leaderboards/round_1`);
    assert.equal(board.json.totalCount, 0);
    for (const eventId of [ids.event, ids.event.toUpperCase(), "current"]) {
      await fan.act("prediction", { outcome: "right", eventId });
    }
    await world.platform.idle();
    const fed = await world.call(`/projects/${ids.project}/events/current/leaderboards/round_1`);
    assert.deepEqual(
      fed.json.data.map(({ score }: { score: number }) => score),
      [3],
    );
  });
});
