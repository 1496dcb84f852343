import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { hiddenUsersMax } from "../../lib/fans/leaderboards/ranking/hidden_users.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnDatabases } from "../support/stores.ts";
import { BoardWriter, entryPath } from "./_boards.ts";
import { newKey } from "./_operations.ts";
import { assertProblem } from "./_problem.ts";

const [project] = seed.projects;
if (project === undefined) throw new Error("The seed has no project");
const august = { id: "august", startsAt: "2025-08-01T00:00:00Z", endsAt: "2025-09-01T00:00:00Z" };
const july = { id: "july", startsAt: "2025-07-01T00:00:00Z", endsAt: "2025-08-01T00:00:00Z" };
const settings = {
  leaderboards: [
    { id: "plain" },
    { id: "asc", order: "asc" },
    { id: "dense", rankStyle: "dense" },
    { id: "ordinal", rankStyle: "ordinal", shards: 4 },
    { id: "spread", shards: 16 },
    { id: "bounded", bounds: { min: 0, max: 10 } },
    { id: "secret", visibility: "hidden" },
    { id: "cup", seasons: { type: "explicit", list: [july, august] }, graceMs: 1_000 },
    { id: "fed", source: { type: "metric", metricId: "points" }, shards: 2 },
  ],
  eventLeaderboards: [{ id: "round_1", source: { type: "metric", metricId: "points" } }],
};
const extraSeed = {
  ...seed,
  projects: [{ ...project, settings: { ...project.settings, ...settings } }, ...seed.projects.slice(1)],
};
const board = (id: string): string => `/projects/${ids.project}/leaderboards/${id}`;
const event = `/projects/${ids.project}/events/${ids.event}/leaderboards`;
const users = ({ status, json, text }: Answer): string[] => {
  assert.equal(status, 200, text);
  return json.data.map(({ userId }: { userId: string }) => userId);
};
const ranks = ({ json }: Answer): number[] => json.data.map(({ rank }: { rank: number }) => rank);

describeOnDatabases("further features of boards", open => {
  let world: TestPlatform;
  let writer: BoardWriter;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: extraSeed, startAt: Date.parse("2025-07-31T12:00:00Z") });
    writer = await BoardWriter.create(world);
  });
  afterEach(() => world.dispose());

  const fill = async (id: string, scores: readonly number[]): Promise<void> => {
    for (const [index, score] of scores.entries()) {
      world.clock.advance(1);
      await writer.put(board(id), `u${index}`, { score });
    }
  };

  it("rank equal scores by the board's style, and answer the style", async () => {
    const expected = {
      plain: [1, 2, 2, 4],
      spread: [1, 2, 2, 4],
      dense: [1, 2, 2, 3],
      ordinal: [1, 2, 3, 4],
    };
    for (const [id, places] of Object.entries(expected)) {
      await fill(id, [7, 5, 5, 1]);
      const answer = await world.call(board(id));
      assert.deepEqual([users(answer), ranks(answer)], [["u0", "u1", "u2", "u3"], places], id);
      const rankStyle = id === "plain" || id === "spread" ? "competition" : id;
      assert.deepEqual(answer.json.meta, { rankStyle });
      const { json } = await world.call(entryPath(board(id), "u2"));
      assert.equal(json.data.rank, places[2], id);
      // At its rank or below are those who share it, and u3; ordinal ranks share nothing.
      const percentile = id === "ordinal" ? 50 : 75;
      assert.deepEqual(json.meta, { totalCount: 4, percentile, rankStyle }, id);
    }
  });

  it("list a full part around a user, shifted at the ends of the board, with true ranks", async () => {
    for (const id of ["plain", "spread", "asc", "ordinal", "dense"]) {
      await fill(
        id,
        Array.from({ length: 9 }, (_, index) => (id === "asc" ? index : -index)),
      );
      const around = async (user: string, limit: number): Promise<string> => {
        const answer = await world.call(`${board(id)}?around=${user}&limit=${limit}`);
        const shown = users(answer);
        assert.deepEqual(
          ranks(answer),
          shown.map(userId => Number(userId.slice(1)) + 1),
        );
        assert.equal(answer.json.totalCount, 9);
        return shown.join(" ");
      };
      assert.equal(await around("u4", 3), "u3 u4 u5");
      assert.equal(await around("u4", 4), "u3 u4 u5 u6");
      assert.equal(await around("u0", 3), "u0 u1 u2");
      assert.equal(await around("u8", 3), "u6 u7 u8");
      assert.equal(await around("u7", 5), "u4 u5 u6 u7 u8");
      assert.equal(await around("u3", 1), "u3");
      assert.equal(await around("u3", 100), "u0 u1 u2 u3 u4 u5 u6 u7 u8");
      assertProblem(await world.call(`${board(id)}?around=nobody`), 404, "not_found");
    }
  });

  it("refuse scores out of bounds, also resulting sums", async () => {
    const path = board("bounded");
    const put = (score: number, operator: string) =>
      writer.try(path, "u", { score, operator, ...(operator === "sum" ? { id: `by-${score}` } : {}) });
    assert.equal((await put(10, "set")).status, 200);
    for (const [score, operator] of [
      [11, "set"],
      [-1, "best"],
      [10.5, "latest"],
      [1, "sum"],
      [-11, "sum"],
    ] as const) {
      const answer = await put(score, operator);
      assertProblem(answer, 400, "validation_failed");
      assert.equal(answer.json.errors[0].pointer, "/score");
    }
    assert.equal((await put(-10, "sum")).json.data.score, 0);
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        writer.try(path, `v${index % 2}`, { score: 1, operator: "sum", id: `by-${index}` }),
      ),
    );
    assert.deepEqual(users(await world.call(path)).sort(), ["u", "v0", "v1"]);
    assert.equal((await world.call(entryPath(path, "v0"))).json.data.score, 10);
    const beyond = { score: 1, operator: "sum", id: "beyond" };
    assertProblem(await writer.try(path, "v0", beyond), 400, "validation_failed");
  });

  it("serve a hidden board only to keys of its organisation", async () => {
    await writer.put(board("secret"), "u", { score: 1 });
    const keyOf = async (organisationId: string): Promise<Record<string, string>> => {
      const { key, secret } = await newKey(world, organisationId);
      return { "x-api-key": key, "x-api-secret": secret };
    };
    const [own, foreign] = [await keyOf(ids.organisation), await keyOf(ids.otherOrganisation)];
    for (const path of [board("secret"), entryPath(board("secret"), "u")]) {
      assertProblem(await world.call(path), 404, "not_found");
      assertProblem(await world.call(path, { headers: foreign }), 404, "not_found");
      const wrong = await world.call(path, { headers: { ...own, "x-api-secret": "x" } });
      assertProblem(wrong, 401, "invalid_api_key");
      const { status, headers } = await world.call(path, { headers: own });
      assert.deepEqual([status, headers.get("cache-control")], [200, "no-store"]);
    }
  });

  it("count scores in the season of their time, serve past seasons, and close them after the grace time", async () => {
    const cup = board("cup");
    await writer.put(cup, "early", { score: 1, achievedAt: "2025-07-02T00:00:00Z" });
    assert.deepEqual((await world.call(cup)).json.meta.season, {
      id: "july",
      startsAt: "2025-07-01T00:00:00.000Z",
      endsAt: "2025-08-01T00:00:00.000Z",
    });
    world.clock.advance(Date.parse(august.startsAt) - world.clock.now());
    await writer.put(cup, "late", { score: 2, achievedAt: "2025-07-31T23:59:59Z" });
    await writer.put(cup, "new", { score: 3 });
    assert.deepEqual(users(await world.call(cup)), ["new"]);
    for (const season of ["july", "previous"]) {
      assert.deepEqual(users(await world.call(`${cup}?season=${season}`)), ["late", "early"]);
      const { json } = await world.call(`${entryPath(cup, "early")}?season=${season}`);
      assert.deepEqual([json.data.rank, json.meta.season.id, json.meta.percentile], [2, "july", 50]);
    }
    assertProblem(await world.call(`${cup}?season=may`), 400, "validation_failed");
    assertProblem(await world.call(`${board("plain")}?season=july`), 400, "validation_failed");
    const removal = { method: "DELETE", headers: writer.headers };
    assert.equal((await world.call(`${entryPath(cup, "late")}?season=july`, removal)).status, 204);
    world.clock.advance(1_000);
    const closed = await writer.try(cup, "late", { score: 9, achievedAt: "2025-07-31T23:59:59Z" });
    assertProblem(closed, 409, "conflict");
    assertProblem(await world.call(`${entryPath(cup, "early")}?season=july`, removal), 409, "conflict");
    assert.deepEqual(users(await world.call(`${cup}?season=july`)), ["early"]);
  });
});

describeOnDatabases("hidden users", open => {
  let world: TestPlatform;
  let writer: BoardWriter;
  let headers: Readonly<Record<string, string>>;
  const path = `/projects/${ids.project}/hidden-users`;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: extraSeed, startAt: Date.parse("2025-07-31T12:00:00Z") });
    writer = await BoardWriter.create(world);
    const { key, secret } = await newKey(world);
    headers = { "x-api-key": key, "x-api-secret": secret };
  });
  afterEach(() => world.dispose());

  const hide = (userId: string, method = "PUT"): Promise<Answer> =>
    world.call(`${path}/${encodeURIComponent(userId)}`, { method, headers });

  it("are left out of lists, which stay full, and of include and around, while ranks and count stay", async () => {
    for (const id of ["plain", "spread"]) {
      for (let user = 0; user < 30; user++) await writer.put(board(id), `u${user}`, { score: -user });
    }
    for (let user = 0; user < 24; user += 2) assert.equal((await hide(`u${user}`)).status, 200);
    world.clock.advance(1_000);
    for (const id of ["plain", "spread"]) {
      const list = await world.call(`${board(id)}?limit=5&include=u2,u25,u3`);
      assert.deepEqual(users(list), ["u1", "u3", "u5", "u7", "u9", "u25"]);
      assert.deepEqual(ranks(list), [2, 4, 6, 8, 10, 26]);
      assert.equal(list.json.totalCount, 30);
      const part = await world.call(`${board(id)}?limit=5&around=u9`);
      assert.deepEqual(users(part), ["u5", "u7", "u9", "u11", "u13"]);
      assert.deepEqual(ranks(part), [6, 8, 10, 12, 14]);
      const own = await world.call(`${board(id)}?limit=3&around=u10`);
      assert.deepEqual(users(own), ["u9", "u10", "u11"]);
      const { json } = await world.call(entryPath(board(id), "u10"));
      assert.deepEqual([json.data.rank, json.data.userId], [11, "u10"]);
    }
  });

  it("are listed in the order in which they were hidden, once, and shown again within a second", async () => {
    for (const userId of ["b", "～/😀", "b"]) {
      const { status, json } = await hide(userId);
      assert.equal(status, 200);
      assert.equal(json.data.userId, userId);
    }
    const since = Math.floor(world.clock.now() / 1_000);
    const { json } = await world.call(path, { headers });
    assert.deepEqual(json.data, [
      { userId: "b", since },
      { userId: "～/😀", since },
    ]);
    await writer.put(board("plain"), "b", { score: 1 });
    assert.deepEqual(users(await world.call(board("plain"))), []);
    for (const _ of "12") assert.equal((await hide("b", "DELETE")).status, 204);
    world.clock.advance(1_000);
    assert.deepEqual(users(await world.call(board("plain"))), ["b"]);
  });

  it(`are at most ${hiddenUsersMax} of a project, and the longest page is always full`, async () => {
    const value = JSON.stringify(
      Array.from({ length: hiddenUsersMax - 1 }, (_, user) => ({ userId: `h${user}`, since: 0 })),
    );
    await world.store.commit(`p:${ids.project}:leaderboards`, {
      writes: [{ type: "put", key: "hidden", value }],
    });
    assert.equal((await hide("last")).status, 200);
    assertProblem(await hide("one more"), 409, "conflict");
    assert.equal((await hide("last")).status, 200);
    const writes = [...Array(hiddenUsersMax + 120).keys()].map(user => {
      const member = user < hiddenUsersMax ? `h${user}` : `v${user}`;
      return { type: "score", op: "set", key: "board", member, score: user } as const;
    });
    for (let from = 0; from < writes.length; from += 500) {
      await world.store.commit(`p:${ids.project}:board::plain`, { writes: writes.slice(from, from + 500) });
    }
    world.clock.advance(1_000);
    const list = await world.call(`${board("plain")}?limit=100`);
    assert.equal(users(list).length, 100);
    assert.ok(users(list).every(userId => !userId.startsWith("h") || userId === `h${hiddenUsersMax - 1}`));
    assert.equal(users(await world.call(`${board("plain")}?limit=100&around=h0`)).length, 100);
  });

  it("require a key of the project's organisation that may change users", async () => {
    const foreign = await newKey(world, ids.otherOrganisation);
    const theirs = { "x-api-key": foreign.key, "x-api-secret": foreign.secret };
    for (const [method, target] of [
      ["GET", path],
      ["PUT", `${path}/u`],
      ["DELETE", `${path}/u`],
    ] as const) {
      assertProblem(await world.call(target, { method }), 401, "missing_api_key");
      assertProblem(await world.call(target, { method, headers: writer.headers }), 403, "insufficient_scope");
      assertProblem(await world.call(target, { method, headers: theirs }), 404, "not_found");
    }
    assert.deepEqual((await world.call(path, { headers })).json.data, []);
  });
});

describeOnDatabases("a removed user", open => {
  it("is removed from all boards of the project and its events, in every kept season", async t => {
    const world = await openPlatform(open, {
      seed: extraSeed,
      startAt: Date.parse("2025-07-31T12:00:00Z"),
    });
    t.after(() => world.dispose());
    const writer = await BoardWriter.create(world);
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    const direct = [
      ...["plain", "dense", "spread", "cup"].map(board),
      `${event}/overall`,
      `${event}/round_77`,
    ];
    for (const { userId, act } of [sam, kim]) {
      for (const path of direct) await writer.put(path, userId, { score: 5 });
      await act("prediction", { outcome: "exact", eventId: ids.event });
    }
    world.clock.advance(Date.parse(august.startsAt) - world.clock.now());
    for (const { userId } of [sam, kim]) await writer.put(board("cup"), userId, { score: 5 });
    await world.platform.idle();
    const { key, secret } = await newKey(world);
    const { status } = await world.call(`/internal/identity/projects/${ids.project}/users/${sam.userId}`, {
      method: "DELETE",
      headers: { "x-api-key": key, "x-api-secret": secret },
    });
    assert.equal(status, 200);
    for (const path of [...direct, `${board("cup")}?season=july`, board("fed"), `${event}/round_1`]) {
      assert.deepEqual(users(await world.call(path)), [kim.userId], path);
    }
    assert.equal((await world.call(entryPath(board("dense"), kim.userId))).json.data.rank, 1);
  });

  it("is also removed from boards that are undeclared, have gained seasons, or have other shards now", async t => {
    const world = await openPlatform(open, { seed: extraSeed, startAt: Date.parse("2025-07-31T12:00:00Z") });
    t.after(() => world.dispose());
    const writer = await BoardWriter.create(world);
    const [sam, kim] = [await world.fan("Sam"), await world.fan("Kim")];
    const direct = ["plain", "asc", "dense", "spread"].map(board);
    for (const { userId, act } of [sam, kim]) {
      for (const path of direct) await writer.put(path, userId, { score: 5 });
      await act("prediction", { outcome: "exact", eventId: ids.event });
    }
    await world.platform.idle();
    const leaderboards = [
      { id: "asc", seasons: { type: "monthly" } },
      { id: "spread", shards: 2 },
    ];
    await seedDirectory(
      world.store,
      {
        ...extraSeed,
        projects: extraSeed.projects.map(one =>
          one.id === ids.project ? { ...one, settings: { leaderboards } } : one,
        ),
      },
      { clock: world.clock.now },
    );
    world.clock.advance(1_000);
    assert.equal((await world.call(board("plain"))).status, 400);
    await world.platform.leaderboards.removeUser(ids.project, sam.userId);
    await seedDirectory(world.store, extraSeed, { clock: world.clock.now });
    world.clock.advance(1_000);
    for (const path of [...direct, board("fed"), `${event}/round_1`]) {
      assert.deepEqual(users(await world.call(path)), [kim.userId], path);
    }
    assert.equal((await world.call(entryPath(board("dense"), kim.userId))).json.data.rank, 1);
  });
});
