import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, it } from "node:test";
import { scoreMax } from "../../lib/fans/leaderboards/settings/board_settings.ts";
import { ids, openPlatform, otherHost, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { BoardWriter, entryPath } from "./_boards.ts";
import { assertProblem } from "./_problem.ts";

const goals = `/projects/${ids.project}/leaderboards/goals`;
const speed = `/projects/${ids.project}/leaderboards/speed`;
const overall = `/projects/${ids.project}/leaderboards/overall`;
const round = (number: number): string =>
  `/projects/${ids.project}/events/${ids.event}/leaderboards/round_${number}`;

describeOnStores("writing a score", open => {
  let world: TestPlatform;
  let writer: BoardWriter;
  beforeEach(async () => {
    world = await openPlatform(open);
    writer = await BoardWriter.create(world);
  });
  afterEach(() => world.dispose());

  const at = (ms: number): string => new Date(world.clock.now() + ms).toISOString();
  const scores = async (board: string, writes: readonly object[]): Promise<number[]> => {
    const seen: number[] = [];
    for (const body of writes) seen.push((await writer.put(board, "u", body)).score);
    return seen;
  };

  it("answers the entry after the write, uncached", async () => {
    const { status, json, headers } = await writer.try(goals, "u", { score: 3 });
    assert.equal(status, 200);
    assert.deepEqual(json, {
      data: { rank: 1, score: 3, userId: "u", publicProfile: { username: "" } },
      meta: { totalCount: 1, percentile: 100, rankStyle: "competition" },
    });
    assert.equal(headers.get("cache-control"), "no-store");
    assert.equal(headers.get("content-type"), "application/json");
  });

  it("applies each operator, in either order of the board", async () => {
    const writes = (operator: string): object[] =>
      [5, 7, 3].map(score => ({ score, operator, ...(operator === "sum" ? { id: `by-${score}` } : {}) }));
    assert.deepEqual(await scores(goals, writes("set")), [5, 7, 3]);
    assert.deepEqual(await scores(round(2), writes("best")), [5, 7, 7]);
    assert.deepEqual(await scores(speed, writes("best")), [5, 5, 3]);
    assert.deepEqual(await scores(round(3), writes("sum")), [5, 12, 15]);
    const asc = [
      ...(await scores(speed, [{ score: 1, operator: "set" }])),
      ...(await scores(speed, writes("sum"))),
    ];
    assert.deepEqual(asc, [1, 6, 13, 16]);
    const latest = [
      { score: 5, achievedAt: at(-2_000) },
      { score: 7, achievedAt: at(-3_000) },
      { score: 3, achievedAt: at(-1_000) },
      { score: 9, achievedAt: at(-1_000) },
    ].map(body => ({ ...body, operator: "latest" }));
    assert.deepEqual(await scores(round(4), latest), [5, 5, 3, 3]);
  });

  it("applies the board's operator by default", async () => {
    assert.deepEqual(await scores(goals, [{ score: 5 }, { score: 3 }]), [5, 3]);
    assert.deepEqual(await scores(speed, [{ score: 5 }, { score: 7 }, { score: 3 }]), [5, 5, 3]);
  });

  it("loses no part of a sum under 64 concurrent writes", async () => {
    const sums = await Promise.all(
      Array.from({ length: 64 }, (_, index) =>
        writer.put(goals, "u", { score: 2, operator: "sum", id: `goal-${index}` }),
      ),
    );
    assert.equal(Math.max(...sums.map(({ score }) => score)), 128);
    assert.equal((await world.call(entryPath(goals, "u"))).json.data.score, 128);
  });

  it("keeps the rank of a repeated score", async () => {
    await writer.put(goals, "a", { score: 5, achievedAt: at(-3_000) });
    await writer.put(goals, "b", { score: 5, achievedAt: at(-2_000) });
    await writer.put(goals, "a", { score: 5, achievedAt: at(-1_000) });
    const { json } = await world.call(goals);
    assert.deepEqual(
      json.data.map(({ userId }: { userId: string }) => userId),
      ["a", "b"],
    );
  });

  it("accepts scores up to the largest exact integer, and no others", async () => {
    assert.deepEqual(
      await scores(
        goals,
        [scoreMax, -scoreMax, 0, -0, 0.1].map(score => ({ score })),
      ),
      [scoreMax, -scoreMax, 0, 0, 0.1],
    );
    for (const body of [
      { score: scoreMax + 1 },
      { score: -scoreMax - 1 },
      { score: "5" },
      { score: null },
      { score: [5] },
      {},
      { score: 5, operator: "incr" },
      { score: 5, operator: "__proto__" },
      { score: 5, operator: null },
    ]) {
      assertProblem(await writer.try(goals, "u", body), 400, "validation_failed");
    }
    assertProblem(await writer.try(goals, "u", '{"score":1e400}'), 400, "bad_json");
    assert.equal((await world.call(entryPath(goals, "u"))).json.data.score, 0.1);
  });

  it("accepts times from 1970 to a minute ahead, and uses the clock by default", async () => {
    await writer.put(goals, "undated", { score: 1 });
    await writer.put(goals, "ahead", { score: 1, achievedAt: at(60_000) });
    await writer.put(goals, "oldest", { score: 1, achievedAt: "1970-01-01T00:00:00Z" });
    await writer.put(goals, "offset", { score: 1, achievedAt: at(-1_000).replace("Z", "+00:00") });
    const { json } = await world.call(goals);
    assert.deepEqual(
      json.data.map(({ userId }: { userId: string }) => userId),
      ["oldest", "offset", "undated", "ahead"],
    );
    for (const achievedAt of [
      at(60_000 + 1),
      "1969-12-31T23:59:59Z",
      "9999-12-31T23:59:59Z",
      "2025-02-30T00:00:00Z",
      "2025-06-01T00:00:00+05",
      "2025-06-01T00:00:00",
      "2025-06-01",
      "yesterday",
      "",
      1_750_000_000,
      null,
    ]) {
      const answer = await writer.try(goals, "u", { score: 1, achievedAt });
      assertProblem(answer, 400, "validation_failed");
      assert.deepEqual(
        answer.json.errors.map((error: { pointer: string }) => error.pointer),
        ["/achievedAt"],
      );
    }
  });

  it("removes an entry, also one that is not there, and forgets when it was dated", async () => {
    await writer.put(goals, "u", { score: 5, operator: "latest", achievedAt: at(0) });
    for (const _ of "12") {
      const { status, text } = await writer.remove(goals, "u");
      assert.deepEqual([status, text], [204, ""]);
    }
    assertProblem(await world.call(entryPath(goals, "u")), 404, "not_found");
    assert.equal((await world.call(goals)).json.totalCount, 0);
    await writer.put(goals, "u", { score: 1, operator: "latest", achievedAt: at(-1_000) });
  });

  it("requires a key of the project's organisation with the permission", async () => {
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Reader",
      permissions: ["users:read", "actions:write"],
    });
    const reader = { "x-api-key": key, "x-api-secret": secret };
    const foreign = await BoardWriter.create(world, ids.otherOrganisation);
    for (const [method, body] of [
      ["PUT", { score: 1 }],
      ["DELETE", undefined],
    ] as const) {
      const send = (headers: Record<string, string>, path: string = entryPath(goals, "u")) =>
        world.call(path, { method, headers, ...(body === undefined ? {} : { body }) });
      const refused = await send(reader);
      assertProblem(refused, 403, "insufficient_scope");
      assertProblem(await send({}), 401, "missing_api_key");
      assertProblem(await send({ ...writer.headers, "x-api-secret": secret }), 401, "invalid_api_key");
      const theirs = await send(foreign.headers);
      const unknown = await send(writer.headers, `/projects/${randomUUID()}/leaderboards/goals/users/u`);
      assertProblem(theirs, 404, "not_found");
      assert.deepEqual(
        { ...theirs.json, requestId: "", instance: "" },
        { ...unknown.json, requestId: "", instance: "" },
      );
    }
    const other = `/projects/${ids.otherProject}/leaderboards/overall`;
    assert.equal((await foreign.put(other, "u", { score: 1 })).score, 1);
    assertProblem(await writer.try(other, "u", { score: 2 }), 404, "not_found");
    assertProblem(await world.call(entryPath(goals, "u")), 404, "not_found");
    assert.equal((await world.call(entryPath(other, "u"), { host: otherHost })).json.data.score, 1);
  });

  it("refuses boards that users' actions feed", async () => {
    for (const board of [overall, `/projects/${ids.project}/leaderboards/exacts`, round(1)]) {
      assertProblem(await writer.try(board, "u", { score: 1 }), 409, "conflict");
      assertProblem(await writer.remove(board, "u"), 409, "conflict");
      assert.equal((await world.call(board)).json.totalCount, 0);
    }
    assertProblem(
      await writer.try(`/projects/${ids.project}/leaderboards/other`, "u", { score: 1 }),
      400,
      "validation_failed",
    );
  });

  it("finds one board under every name of its event", async () => {
    await writer.put(`/projects/${ids.project}/events/current/leaderboards/round_7`, "u", { score: 4 });
    assert.equal((await world.call(entryPath(round(7), "u"))).json.data.score, 4);
  });
});

describeOnStores("boards that users' actions feed", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  const ranking = async (path: string): Promise<[string, number][]> => {
    await world.platform.idle();
    const { json } = await world.call(path);
    return json.data.map(
      ({ publicProfile, score }: { publicProfile: { username: string }; score: number }) => [
        publicProfile.username,
        score,
      ],
    );
  };

  it("show the value of a metric, what it gained in an event, and the number of actions that meet a condition", async () => {
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    await sam.act("prediction", { outcome: "exact", eventId: ids.event });
    await kim.act("prediction", { outcome: "right", eventId: ids.event });
    await kim.act("prediction", { outcome: "exact" });
    await kim.act("prediction", { outcome: "exact" });
    assert.deepEqual(await ranking(overall), [
      ["Kim", 17],
      ["Sam", 3],
    ]);
    assert.deepEqual(await ranking(round(1)), [
      ["Sam", 3],
      ["Kim", 1],
    ]);
    assert.deepEqual(await ranking(`/projects/${ids.project}/leaderboards/exacts`), [
      ["Kim", 2],
      ["Sam", 1],
    ]);
  });

  it("rank the user who reached a score first ahead", async () => {
    const [late, early] = [await world.fan("Late"), await world.fan("Early")];
    await early.act("prediction", { outcome: "exact" });
    world.clock.advance(1);
    await late.act("prediction", { outcome: "exact" });
    assert.deepEqual(await ranking(overall), [
      ["Early", 3],
      ["Late", 3],
    ]);
  });

  it("end with the true value under many actions at once", async () => {
    const fans = await Promise.all(["A", "B", "C", "D"].map(name => world.fan(name)));
    await Promise.all(
      fans.flatMap((fan, index) =>
        Array.from({ length: 10 + index }, () =>
          fan.act("prediction", { outcome: "right", eventId: "current" }),
        ),
      ),
    );
    assert.deepEqual(await ranking(round(1)), [
      ["D", 13],
      ["C", 12],
      ["B", 11],
      ["A", 10],
    ]);
    assert.deepEqual(await ranking(overall), [
      ["D", 13],
      ["C", 12],
      ["B", 11],
      ["A", 10],
    ]);
  });

  it("are fed by actions that a back end reports, from the first one on", async () => {
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId: ids.organisation,
      name: "Back end",
      permissions: ["actions:write"],
    });
    const issued = await world.call("/api/auth/token", { body: { type: "service", key, secret } });
    const report = async (userId: string, body: object): Promise<void> => {
      const token: string = issued.json.data.accessToken;
      const { status } = await world.call(`/api/loyalty/action?user_id=${userId}`, { token, body });
      assert.equal(status, 200);
    };
    const right = { action: "prediction", data: { outcome: "right" } };
    await sam.act("prediction", { outcome: "exact" });
    await report(sam.userId, { action: "adjust" });
    await report(kim.userId, right);
    // Equal scores of one instant are in the order of the ids.
    assert.deepEqual((await ranking(overall)).toSorted(), [
      ["Kim", 1],
      ["Sam", 1],
    ]);
    assert.equal((await kim.profile()).metrics.points, 1);
    await report(kim.userId, right);
    assert.deepEqual(await ranking(overall), [
      ["Kim", 2],
      ["Sam", 1],
    ]);
  });
});
