import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, it, type TestContext } from "node:test";
import { compareUtf8 } from "../../lib/base/text/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { Users } from "../../lib/fans/identity/mod.ts";
import { includeMax, limitMax } from "../../lib/fans/leaderboards/http/schema.ts";
import { roundMax } from "../../lib/fans/leaderboards/settings/board_settings.ts";
import type { Partition, Read, Results } from "../../lib/storage/mod.ts";
import { type Answer, ids, openPlatform, seed, type TestPlatform, testSecret } from "../support/platform.ts";
import { describeOnEveryStore, describeOnStores } from "../support/stores.ts";
import { WatchedStore } from "../support/watched_store.ts";
import { BoardWriter, entryPath } from "./_boards.ts";
import { assertProblem } from "./_problem.ts";

const publicProfileAgeMsMax = 1_000;
const settingsAgeMsMax = 900;

const goals = `/projects/${ids.project}/leaderboards/goals`;
const speed = `/projects/${ids.project}/leaderboards/speed`;
const event = `/projects/${ids.project}/events/${ids.event}/leaderboards`;

interface Entry {
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
}

describeOnEveryStore("reading a leaderboard", open => {
  let world: TestPlatform;
  let writer: BoardWriter;
  beforeEach(async () => {
    world = await openPlatform(open);
    writer = await BoardWriter.create(world);
  });
  afterEach(() => world.dispose());

  const list = async (path: string): Promise<[rank: number, userId: string, score: number][]> => {
    const { status, json, text } = await world.call(path);
    assert.equal(status, 200, text);
    return json.data.map(({ rank, userId, score }: Entry) => [rank, userId, score]);
  };
  const users = async (path: string): Promise<string[]> => (await list(path)).map(([, userId]) => userId);
  const fill = async (count: number): Promise<void> => {
    for (let index = 1; index <= count; index++)
      await writer.put(goals, `u${index}`, { score: 1_000 - index });
  };

  it("answers the members of the specification and the board's properties, on all four paths", async () => {
    const fan = await world.fan('Zoë "😀" \\');
    for (const board of [goals, `${event}/overall`]) {
      await writer.put(board, fan.userId, { score: 1.5 });
      const entry = { rank: 1, score: 1.5, userId: fan.userId, publicProfile: { username: 'Zoë "😀" \\' } };
      for (const [path, body] of [
        [board, { data: [entry], totalCount: 1, meta: { rankStyle: "competition" } }],
        [
          entryPath(board, fan.userId),
          { data: entry, meta: { totalCount: 1, percentile: 100, rankStyle: "competition" } },
        ],
      ] as const) {
        const { status, json, headers } = await world.call(path);
        assert.equal(status, 200);
        assert.deepEqual(json, body);
        assert.equal(headers.get("content-type"), "application/json");
        assert.equal(headers.get("cache-control"), "public, max-age=1");
      }
    }
  });

  it("answers an empty board as an empty list", async () => {
    assert.deepEqual((await world.call(goals)).json, {
      data: [],
      totalCount: 0,
      meta: { rankStyle: "competition" },
    });
  });

  it("lists 1 to 100 leaders as requested, 10 by default", async () => {
    await fill(limitMax + 1);
    const lengths = async (query: string): Promise<number> => (await list(`${goals}${query}`)).length;
    assert.equal(await lengths(""), 10);
    assert.equal(await lengths("?limit=1"), 1);
    assert.equal(await lengths(`?limit=${limitMax}`), limitMax);
    assert.equal((await world.call(goals)).json.totalCount, limitMax + 1);
    for (const limit of ["0", `${limitMax + 1}`, "-1", "abc", "1.5", "", "1e1", "%201", "١"]) {
      const answer = await world.call(`${goals}?limit=${limit}`);
      assertProblem(answer, 400, "validation_failed");
      assert.deepEqual(answer.json.errors[0].pointer, "limit");
      assert.equal(answer.headers.get("cache-control"), "no-store");
    }
    assertProblem(await world.call(`${goals}?limit=1&limit=2`), 400, "validation_failed");
  });

  it("adds included users outside the leaders, each once, in order and with their true ranks", async () => {
    await fill(20);
    const listed = await list(`${goals}?limit=2&include=u20,u1,u7,nobody,u7,u20`);
    assert.deepEqual(listed, [
      [1, "u1", 999],
      [2, "u2", 998],
      [7, "u7", 993],
      [20, "u20", 980],
    ]);
    assert.equal((await world.call(`${goals}?limit=2&include=u20`)).json.totalCount, 20);
  });

  it("takes up to 100 users to include", async () => {
    await fill(3);
    const named = Array.from({ length: includeMax - 1 }, (_, index) => `n${index}`);
    assert.deepEqual(await users(`${goals}?limit=1&include=${[...named, "u3"]}`), ["u1", "u3"]);
    assert.deepEqual(await users(`${goals}?limit=1&include=${[...named, "u3", "u3"]}`), ["u1", "u3"]);
    for (const include of [[...named, "u2", "u3"].join(), "a,,b", "x".repeat(128 + 1)]) {
      assertProblem(await world.call(`${goals}?include=${include}`), 400, "validation_failed");
    }
    assert.deepEqual(await users(`${goals}?limit=1&include=`), ["u1"]);
  });

  it("gives equal scores one rank and skips as many", async () => {
    for (const [userId, score] of [
      ["a", 5],
      ["b", 9],
      ["c", 9],
      ["d", 5],
      ["e", 5],
      ["f", 1],
    ] as const) {
      await writer.put(goals, userId, { score });
    }
    const ranks = (await list(goals)).map(([rank]) => rank);
    assert.deepEqual(ranks, [1, 1, 3, 3, 3, 6]);
    for (const [rank, userId] of await list(goals)) {
      const { json } = await world.call(entryPath(goals, userId));
      assert.equal(json.data.rank, rank, userId);
    }
    assert.deepEqual(
      (await list(`${goals}?limit=1&include=f,d`)).map(([rank]) => rank),
      [1, 3, 6],
    );
  });

  it("ranks the user who reached a score first ahead, in either order", async () => {
    for (const board of [goals, speed]) {
      for (const userId of ["late", "early", "first"]) {
        const achievedAt = {
          late: "2025-06-01T00:00:03Z",
          early: "2025-06-01T00:00:02Z",
          first: "2025-06-01T00:00:01Z",
        }[userId];
        await writer.put(board, userId, { score: 7, achievedAt });
      }
      assert.deepEqual(await users(board), ["first", "early", "late"]);
      assert.deepEqual(await users(`${board}?limit=1&include=late,early`), ["first", "early", "late"]);
    }
  });

  it("orders users who reached a score together by the bytes of their ids", async () => {
    const userIds = ["～", "😀", "z", "Z", "a", "é", "10", "9", "\u{10ffff}", "\uffff"];
    for (const board of [goals, speed]) {
      for (const userId of userIds) {
        await writer.put(board, userId, { score: 7, achievedAt: "2025-06-01T00:00:00Z" });
      }
      const expected = [...userIds].sort(compareUtf8);
      assert.ok(expected.indexOf("～") < expected.indexOf("😀"));
      assert.deepEqual(await users(board), expected);
      const include = encodeURIComponent(userIds.join());
      assert.deepEqual(await users(`${board}?limit=1&include=${include}`), expected);
    }
  });

  it("leads with the highest score on a descending board and with the lowest on an ascending one", async () => {
    for (const [userId, score] of [
      ["a", 2],
      ["b", -3.25],
      ["c", 10],
      ["d", 0],
    ] as const) {
      await writer.put(goals, userId, { score });
      await writer.put(speed, userId, { score });
    }
    assert.deepEqual(await list(goals), [
      [1, "c", 10],
      [2, "a", 2],
      [3, "d", 0],
      [4, "b", -3.25],
    ]);
    assert.deepEqual(await list(speed), [
      [1, "b", -3.25],
      [2, "d", 0],
      [3, "a", 2],
      [4, "c", 10],
    ]);
  });

  it("keeps users apart, whatever characters their ids have", async () => {
    const userIds = [
      "{}:*",
      "a/b",
      "a%2Fb",
      "%",
      "a:b",
      "a;b",
      "{a}",
      "*",
      "😀",
      "__proto__",
      "constructor",
      "toString",
      "a b",
      "a+b",
      "?",
      "#",
      "x".repeat(128),
      "～".repeat(128),
      '"',
      "\\",
      "\u0000",
      "..;",
    ];
    for (const [index, userId] of userIds.entries()) await writer.put(goals, userId, { score: index });
    for (const [index, userId] of userIds.entries()) {
      const { status, json, text } = await world.call(entryPath(goals, userId));
      assert.equal(status, 200, text);
      assert.deepEqual(
        [json.data.userId, json.data.score, json.data.rank],
        [userId, index, userIds.length - index],
      );
    }
    assert.deepEqual(await users(`${goals}?limit=100`), userIds.toReversed());
    assertProblem(await world.call(entryPath(goals, "x".repeat(128 + 1))), 400, "validation_failed");
    assertProblem(await world.call(`${goals}/users/%E0%A4%A`), 400, "validation_failed");
  });

  it("shows a new name of a user within a second", async () => {
    const fan = await world.fan("Sam");
    await writer.put(goals, fan.userId, { score: 1 });
    const name = async (): Promise<string> => (await world.call(goals)).json.data[0].publicProfile.username;
    assert.equal(await name(), "Sam");
    await new Users(world.store, testSecret).update(ids.project, fan.userId, user => ({
      ...user,
      username: "Samira",
    }));
    world.clock.advance(publicProfileAgeMsMax);
    assert.equal(await name(), "Samira");
    const { json } = await world.call(entryPath(goals, fan.userId));
    assert.equal(json.data.publicProfile.username, "Samira");
  });

  it("does not lend the name of a user of another project", async () => {
    const answer = await world.call("/v1/user", {
      body: {
        projectId: ids.otherProject,
        strategy: "simplified",
        provider: "noLogin",
        data: { username: "Kim" },
      },
    });
    await writer.put(goals, answer.json.data.userId, { score: 1 });
    assert.equal((await world.call(goals)).json.data[0].publicProfile.username, "");
  });
});

describeOnStores("a list that is asked for again", open => {
  /** A platform whose list of a board with one fan was answered long enough ago that all but that answer is read anew. */
  async function openListed(t: TestContext) {
    const world = await openPlatform(open);
    t.after(() => world.dispose());
    const fan = await world.fan("Sam");
    const writer = await BoardWriter.create(world);
    await writer.put(goals, fan.userId, { score: 1 });
    await world.call(goals);
    world.clock.advance(publicProfileAgeMsMax - 1);
    await world.call(goals);
    return { world, fan, writer };
  }

  it("shows every score that was written before, and the same list while there is none", async t => {
    const { world, fan, writer } = await openListed(t);
    for (const score of [2, 3, 4]) {
      await writer.put(goals, fan.userId, { score });
      const { json, text } = await world.call(goals);
      assert.deepEqual(
        json.data.map((entry: Entry) => entry.score),
        [score],
      );
      assert.equal((await world.call(goals)).text, text);
    }
    await world.call(entryPath(goals, fan.userId), { method: "DELETE", headers: writer.headers });
    assert.deepEqual((await world.call(goals)).json.data, []);
  });

  it("shows a new name of a user within a second of its last reading", async t => {
    const { world, fan } = await openListed(t);
    await new Users(world.store, testSecret).update(ids.project, fan.userId, user => ({
      ...user,
      username: "Samira",
    }));
    world.clock.advance(1);
    assert.equal((await world.call(goals)).json.data[0].publicProfile.username, "Samira");
  });

  it("follows the settings of its board within a second", async t => {
    const { world, fan } = await openListed(t);
    // The settings are read anew before anything else of the list.
    world.clock.advance(settingsAgeMsMax);
    await world.call(entryPath(goals, fan.userId));
    world.clock.advance(1);
    await world.call(goals);
    const [project, ...others] = seed.projects;
    assert.ok(project !== undefined);
    const leaderboards = [{ id: "goals", rankStyle: "ordinal" }];
    const settings = { ...project.settings, leaderboards };
    const changed = { ...seed, projects: [{ ...project, settings }, ...others] };
    await seedDirectory(world.store, changed, { clock: world.clock.now });
    world.clock.advance(settingsAgeMsMax - 1);
    assert.deepEqual((await world.call(goals)).json.meta, { rankStyle: "ordinal" });
  });
});

/** Holds back the answers to reads of leaders. */
class HoldingStore extends WatchedStore {
  leaderReads = 0;
  release: () => void = () => {};
  #held: Promise<void> = Promise.resolve();

  /** Holds the next answers back until they are released; resolves when there is one. */
  hold(): Promise<void> {
    return new Promise(resolve => {
      this.onRead = resolve;
      this.#held = new Promise(release => {
        this.release = release;
      });
    });
  }

  override async read<const Q extends readonly Read[]>(from: Partition, queries: Q): Promise<Results<Q>> {
    const results = await super.read(from, queries);
    if (!queries.some(query => query.type === "board" && query.limit === 10)) return results;
    this.leaderReads += 1;
    this.onRead();
    await this.#held;
    return results;
  }

  private onRead: () => void = () => {};
}

describeOnEveryStore("requests for the same leaders", open => {
  it("share a read that begins after they came, so that each shows what was written before it", async t => {
    let store: HoldingStore | undefined;
    const world = await openPlatform(async clock => {
      store = new HoldingStore(await open(clock));
      return store;
    });
    t.after(() => world.dispose());
    assert.ok(store !== undefined);
    const writer = await BoardWriter.create(world);
    await writer.put(goals, "before", { score: 1 });
    const isRead = store.hold();
    const first = world.call(goals);
    await isRead;
    await writer.put(goals, "after", { score: 2 });
    const others = Array.from({ length: 20 }, () => world.call(goals));
    // Everything that can go on does, and the others wait for a read of their own.
    await world.call(entryPath(goals, "after"));
    store.release();
    assert.equal((await first).json.totalCount, 1);
    for (const { json } of await Promise.all(others)) {
      assert.deepEqual(
        json.data.map(({ userId }: Entry) => userId),
        ["after", "before"],
      );
    }
    // The first of the others begins the next read at once.
    assert.ok(store.leaderReads <= 3, `${store.leaderReads} reads`);
  });
});

describeOnStores("the boards that exist", open => {
  let world: TestPlatform;
  beforeEach(async () => {
    world = await openPlatform(open);
  });
  afterEach(() => world.dispose());

  const statuses = async (paths: readonly string[]): Promise<[number, string | undefined][]> =>
    (await Promise.all(paths.map(path => world.call(path)))).map(({ status, json }: Answer) => [
      status,
      json.code,
    ]);

  it("are those that a project declares, and overall where it declares none", async () => {
    const other = `/projects/${ids.otherProject}/leaderboards`;
    assert.deepEqual(await statuses([goals, speed, `${other}/overall`]), Array(3).fill([200, undefined]));
    const undeclared = [
      "other",
      "round_1",
      "GOALS",
      "__proto__",
      "constructor",
      "a.b",
      "%20",
      "x".repeat(65),
    ];
    const paths = [...undeclared.map(id => `/projects/${ids.project}/leaderboards/${id}`), `${other}/goals`];
    assert.deepEqual(
      await statuses(paths),
      paths.map(() => [400, "validation_failed"]),
    );
  });

  it("are overall and every round of an event, and what its project declares for events", async () => {
    const rounds = ["overall", "round_1", "round_2", `round_${roundMax}`].map(id => `${event}/${id}`);
    assert.deepEqual(
      await statuses(rounds),
      rounds.map(() => [200, undefined]),
    );
    const none = [
      "round_0",
      "round_01",
      `round_${roundMax + 1}`,
      "round_-1",
      "round_",
      "round_1.0",
      "ROUND_1",
      "goals",
      "__proto__",
    ];
    assert.deepEqual(
      await statuses(none.map(id => `${event}/${id}`)),
      none.map(() => [400, "validation_failed"]),
    );
  });

  it("are found by the id of an event in any case, and by current and latest", async t => {
    const [first] = seed.events;
    assert.ok(first !== undefined);
    const at = (number: number, state: "past" | "on_demand" | "current" | "future") => ({
      ...first,
      id: `0d000000-0000-4000-8000-00000000001${number}`,
      state,
      startAt: first.startAt + number,
      settings: { leaderboards: [{ id: `board${number}` }] },
    });
    const events = [at(1, "past"), at(2, "on_demand"), at(3, "current"), at(4, "current"), at(5, "future")];
    const other = await openPlatform(open, { seed: { ...seed, events } });
    t.after(() => other.dispose());
    const has = async (name: string, board: number): Promise<boolean> =>
      (await other.call(`/projects/${ids.project}/events/${name}/leaderboards/board${board}`)).status === 200;
    assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(board => has("current", board))), [
      false,
      false,
      false,
      true,
      false,
    ]);
    assert.deepEqual(await Promise.all([1, 2, 3, 4, 5].map(board => has("latest", board))), [
      false,
      true,
      false,
      false,
      false,
    ]);
    assert.equal(await has((events[4]?.id ?? "").toUpperCase(), 5), true);
  });

  it("are unknown with their project or event, and a project knows no other's event", async () => {
    const paths = [
      `/projects/${randomUUID()}/leaderboards/overall`,
      `/projects/${ids.project}/events/${randomUUID()}/leaderboards/overall`,
      `/projects/${ids.project}/events/latest/leaderboards/overall`,
      `/projects/${ids.otherProject}/events/${ids.event}/leaderboards/overall`,
      `/projects/${ids.otherProject}/events/current/leaderboards/overall`,
    ];
    assert.deepEqual(
      await statuses(paths),
      paths.map(() => [404, "not_found"]),
    );
    assert.deepEqual(
      await statuses(paths.map(path => `${path}/users/u`)),
      paths.map(() => [404, "not_found"]),
    );
    const malformed = [
      "/projects/x/leaderboards/overall",
      `/projects/${ids.project}0/leaderboards/overall`,
      `/projects/${ids.project}/events/next/leaderboards/overall`,
      `/projects/${ids.project}/events/CURRENT/leaderboards/overall`,
      `/projects/${ids.project}/events/__proto__/leaderboards/overall`,
    ];
    assert.deepEqual(
      await statuses(malformed),
      malformed.map(() => [400, "validation_failed"]),
    );
  });

  it("answer 404 for a well-formed user without an entry", async () => {
    const paths = [`${goals}/users/nobody`, `${event}/round_1/users/nobody`];
    assert.deepEqual(
      await statuses(paths),
      paths.map(() => [404, "not_found"]),
    );
  });
});
