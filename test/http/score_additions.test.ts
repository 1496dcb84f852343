import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { boardPartition } from "../../lib/fans/leaderboards/scores/resolve_board.ts";
import { createPlatform, type Platform, silentLogger } from "../../lib/mod.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";
import { BoardWriter, entryPath } from "./_boards.ts";
import { assertProblem } from "./_problem.ts";

const [project] = seed.projects;
if (project === undefined) throw new Error("The seed has no project");
const leaderboards = [
  { id: "plain", operator: "sum" },
  { id: "asc", operator: "sum", order: "asc" },
  { id: "dense", operator: "sum", rankStyle: "dense" },
  { id: "spread", operator: "sum", shards: 16 },
  { id: "bounded", operator: "sum", bounds: { min: 0, max: 10 } },
  { id: "daily", operator: "sum", seasons: { type: "daily" }, keepSeasons: 1, graceMs: 0 },
  { id: "best", operator: "best" },
  { id: "set" },
  { id: "fed", source: { type: "metric", metricId: "points" } },
];
const sumBoards = ["plain", "asc", "dense", "spread", "bounded"];
const sumSeed = {
  ...seed,
  projects: [
    {
      ...project,
      settings: { ...project.settings, leaderboards, eventLeaderboards: [{ id: "laps", operator: "sum" }] },
    },
    ...seed.projects.slice(1),
  ],
};
const board = (id: string): string => `/projects/${ids.project}/leaderboards/${id}`;
const laps = `/projects/${ids.project}/events/${ids.event}/leaderboards/laps`;

describeOnStores("adding to a score", open => {
  let world: TestPlatform;
  let writer: BoardWriter;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: sumSeed, startAt: Date.parse("2025-07-31T12:00:00Z") });
    writer = await BoardWriter.create(world);
  });
  afterEach(() => world.dispose());

  const added = async (path: string, body: object, userId = "u"): Promise<number> => {
    const { status, text, json } = await writer.add(path, userId, body);
    assert.equal(status, 200, text);
    return json.data.score;
  };
  const scoreOf = async (path: string): Promise<number> =>
    (await world.call(entryPath(path, "u"))).json.data.score;

  /** Another server on the store; its decisions share nothing with those of the first one. */
  const openServer = async (t: { after(end: () => Promise<void>): void }): Promise<Platform> => {
    const { store, clock } = world;
    const server = await createPlatform({
      store: {
        traits: store.traits,
        read: store.read.bind(store),
        commit: store.commit.bind(store),
        ping: store.ping.bind(store),
        [Symbol.asyncDispose]: () => Promise.resolve(),
      },
      secret: testSecret,
      clock: clock.now,
      defaultSpaceId: ids.space,
      limiter: "off",
      logger: silentLogger,
    });
    t.after(() => server.close());
    return server;
  };

  it("counts once for an id, on every kind of board", async () => {
    for (const path of [...sumBoards.map(board), laps]) {
      assert.equal(await added(path, { id: "a", by: 5 }), 5, path);
      assert.equal(await added(path, { id: "a", by: 5 }), 5, path);
      assert.equal(await added(path, { id: "b", by: 2 }), 7, path);
      assert.equal(await added(path, { id: "a", by: 5 }), 7, path);
      assert.equal(await added(path, { id: "a", by: 1 }, "v"), 1, "ids of another user are others");
      assert.equal(await scoreOf(path), 7);
    }
  });

  it("counts once for an id that two servers get at the same time", async t => {
    const other = await openServer(t);
    const send = async (path: string, index: number, id: string): Promise<number> => {
      const url = `${entryPath(path, "u")}/scores`;
      const headers = { ...writer.headers, "content-type": "application/json" };
      const request = new Request(`http://localhost${url}`, {
        method: "POST",
        headers,
        body: JSON.stringify({ id, by: 1 }),
      });
      const { status } = await (index % 2 === 0 ? world.platform : other).fetch(request);
      return status;
    };
    for (const path of sumBoards.map(board)) {
      const same = await Promise.all(Array.from({ length: 8 }, (_, index) => send(path, index, "a")));
      assert.deepEqual(new Set(same), new Set([200]), path);
      assert.equal(await scoreOf(path), 1, path);
      const others = await Promise.all(
        Array.from({ length: 8 }, (_, index) => send(path, index, `b${index}`)),
      );
      assert.deepEqual(new Set(others), new Set([200]), path);
      assert.equal(await scoreOf(path), 9, path);
    }
  });

  it("remembers the newest 100 ids of a user", async () => {
    for (let index = 0; index <= 100; index++) await added(board("plain"), { id: `${index}`, by: 1 });
    assert.equal(await added(board("plain"), { id: "1", by: 1 }), 101);
    assert.equal(await added(board("plain"), { id: "0", by: 1 }), 102);
  });

  it("takes ids of 1 to 128 characters, amounts that scores can be, and nothing else", async () => {
    const path = board("plain");
    await added(path, { id: "～".repeat(128), by: 1 }, "～".repeat(128));
    await added(path, { id: "a", by: 1 });
    for (const body of [
      { by: 1 },
      { id: "", by: 1 },
      { id: "a".repeat(129), by: 1 },
      { id: 7, by: 1 },
      { id: "b" },
      { id: "b", by: "1" },
      { id: "b", by: 2 ** 53 },
      { id: "b", by: 1, achievedAt: "yesterday" },
    ]) {
      assertProblem(await writer.add(path, "u", body), 400, "validation_failed");
    }
    assertProblem(await writer.add(path, "u", { id: "b", by: Number.MAX_SAFE_INTEGER }), 409, "conflict");
    assert.equal(await added(path, { id: "b", by: 1 }), 2, "a refused id has not counted");
    const beyond = await writer.add(board("bounded"), "u", { id: "c", by: 11 });
    assertProblem(beyond, 400, "validation_failed");
    assert.equal(beyond.json.errors[0].pointer, "/by");
    assert.equal(await added(board("bounded"), { id: "c", by: 10 }), 10);
  });

  it("is refused with advice on boards that do not sum", async () => {
    for (const id of ["best", "set", "fed"]) {
      assertProblem(await writer.add(board(id), "u", { id: "a", by: 1 }), 409, "conflict");
      assert.equal((await world.call(board(id))).json.totalCount, 0);
    }
    assert.match((await writer.add(board("best"), "u", { id: "a", by: 1 })).json.detail, /operator sum/);
  });

  it("starts anew after the entry was removed", async () => {
    for (const path of sumBoards.map(board)) {
      await added(path, { id: "a", by: 5 });
      await writer.remove(path, "u");
      assert.equal(await added(path, { id: "a", by: 2 }), 2, path);
    }
  });

  it("leaves no id behind when a season goes", async () => {
    await added(board("daily"), { id: "a", by: 5 });
    const address = { projectId: ids.project, eventId: null, leaderboardId: "daily", season: "2025-07-31" };
    const kept = (): Promise<readonly unknown[]> =>
      world.store.read(boardPartition(address, 0), [
        { type: "record", key: "added:u" },
        { type: "record", key: "additions" },
      ]);
    assert.ok((await kept()).every(record => record !== null));
    world.clock.advance(14 * 24 * 3_600_000);
    await world.platform.leaderboards.prune();
    assert.deepEqual(await kept(), [null, null]);
  });
});

describeOnStores("repeating a PUT of a score", open => {
  let world: TestPlatform;
  let writer: BoardWriter;
  beforeEach(async () => {
    world = await openPlatform(open, { seed: sumSeed });
    writer = await BoardWriter.create(world);
  });
  afterEach(() => world.dispose());

  const assertNeedsId = (answer: Answer): void => {
    assertProblem(answer, 400, "validation_failed");
    const [{ pointer, detail }] = answer.json.errors;
    assert.equal(pointer, "/id");
    assert.match(detail, /POST .*\/scores/);
  };

  it("changes nothing on boards that set or keep the best, nor with an id on boards that sum", async () => {
    const bodies = [
      ["set", { score: 3 }],
      ["best", { score: 3 }],
      ["set", { score: 3, operator: "sum", id: "a" }],
      ["plain", { score: 3, id: "a" }],
      ["dense", { score: 3, id: "a" }],
    ] as const;
    for (const [id, body] of bodies) {
      await writer.remove(board(id), "u");
      const first = await writer.try(board(id), "u", body);
      assert.equal(first.json.data.score, 3);
      world.clock.advance(1);
      const again = await writer.try(board(id), "u", body);
      assert.deepEqual([again.status, again.text], [200, first.text], id);
    }
  });

  it("is refused where it would add twice, and names the POST that does not", async () => {
    assertNeedsId(await writer.try(board("plain"), "u", { score: 3 }));
    assertNeedsId(await writer.try(board("set"), "u", { score: 3, operator: "sum" }));
    assert.equal((await world.call(board("plain"))).json.totalCount, 0);
    const needless = await writer.try(board("set"), "u", { score: 3, id: "a" });
    assertProblem(needless, 400, "validation_failed");
    assert.equal((await writer.put(board("plain"), "u", { score: 3, operator: "set" })).score, 3);
  });
});
