import assert from "node:assert/strict";
import { afterEach, beforeEach, it } from "node:test";
import { AppError } from "../../lib/base/errors/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import { boardPartition } from "../../lib/fans/leaderboards/scores/resolve_board.ts";
import { parseState } from "../../lib/fans/loyalty/user/stored_state.ts";
import type { Batch, Commit, Partition } from "../../lib/storage/mod.ts";
import {
  type Answer,
  type Fan,
  ids,
  loyalty,
  openPlatform,
  seed,
  type TestPlatform,
} from "../support/platform.ts";
import { describeOnDatabases, type OpenStore } from "../support/stores.ts";
import { WatchedStore } from "../support/watched_store.ts";
import { BoardWriter, entryPath } from "./_boards.ts";
import { assertProblem } from "./_problem.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const points = { type: "metric", metricId: "points" };
const exacts = { type: "action", action: "prediction", when: { eq: [{ var: "data.outcome" }, "exact"] } };
const [project] = seed.projects;
if (project === undefined) throw new Error("The seed has no project");
const cup = { id: "autumn", startsAt: "2026-10-01T00:00:00Z", endsAt: "2026-12-01T00:00:00Z" };
const settings = {
  leaderboards: [
    { id: "cup", seasons: { type: "explicit", list: [cup] } },
    { id: "overall", source: points },
    {
      id: "daily",
      source: points,
      seasons: { type: "daily", timeZone: "America/St_Johns" },
      keepSeasons: 1,
      graceMs: hourMs,
    },
    { id: "monthly", source: exacts, seasons: { type: "monthly", timeZone: "Asia/Kathmandu" }, shards: 4 },
    { id: "direct", seasons: { type: "daily" }, keepSeasons: 1, graceMs: 0, rankStyle: "dense" },
  ],
  eventLeaderboards: [{ id: "round_1", source: points, seasons: { type: "weekly" }, order: "asc" }],
};
const seasonSeed = {
  ...seed,
  projects: [{ ...project, settings: { ...project.settings, ...settings } }, ...seed.projects.slice(1)],
  loyalty: { [ids.space]: { ...loyalty, challenges: [] } },
};
const board = (id: string): string => `/projects/${ids.project}/leaderboards/${id}`;

/** Refuses what is written to boards while it is told to. */
class FencedStore extends WatchedStore {
  isFenced = false;

  override async commit(to: Partition, batch: Batch): Promise<Commit> {
    if (this.isFenced && to.includes(":board:")) {
      throw new AppError("storage_unavailable", "Cannot reach the store");
    }
    return await super.commit(to, batch);
  }
}

describeOnDatabases("the seasons of boards", open => {
  let world: TestPlatform;
  let fenced: FencedStore;
  const logged: [event: string, fields: unknown][] = [];
  beforeEach(async () => {
    const fence: OpenStore = async clock => {
      fenced = new FencedStore(await open(clock));
      return fenced;
    };
    logged.length = 0;
    // In St. John's clocks go back on 1 November 2026 at 04:30 UTC; the day ends at 03:30 UTC of the 2nd.
    world = await openPlatform(fence, {
      seed: seasonSeed,
      startAt: Date.parse("2026-11-01T02:00:00Z"),
      logger: { enabled: () => true, log: (_, event, fields) => logged.push([event, fields]) },
    });
  });
  afterEach(() => world.dispose());

  const memberOf = ({ userId }: Fan) => ({
    organisationId: ids.organisation,
    spaceId: ids.space,
    projectId: ids.project,
    userId,
  });
  /** Reports without a token, which would be over by then. */
  const predict = (fan: Fan, outcome: string, data: Record<string, string> = {}): Promise<unknown> =>
    world.platform.loyalty.report(memberOf(fan), {
      action: "prediction",
      data: { outcome, ...data },
      isClientReport: false,
    });
  const look = async (fan: Fan): Promise<unknown> => await world.platform.loyalty.profile(memberOf(fan));
  const moveTo = (time: string): void => world.clock.advance(Date.parse(time) - world.clock.now());
  const scores = ({ status, json, text }: Answer): Record<string, number> => {
    assert.equal(status, 200, text);
    const entries = json.data.map(({ userId, score }: { userId: string; score: number }) => [userId, score]);
    return Object.fromEntries(entries);
  };
  const list = async (id: string, season?: string): Promise<Record<string, number>> => {
    await world.platform.idle();
    return scores(await world.call(`${board(id)}${season === undefined ? "" : `?season=${season}`}`));
  };

  it("show what a metric gained in each, also when clocks change, while the board without seasons shows its value", async () => {
    const fan = await world.fan("Ann");
    const onlyFan = (score: number): Record<string, number> => ({ [fan.userId]: score });
    await predict(fan, "exact");
    moveTo("2026-11-01T02:29:59Z");
    await predict(fan, "right");
    assert.deepEqual([await list("daily"), await list("overall")], [onlyFan(4), onlyFan(4)]);
    moveTo("2026-11-01T02:30:00Z");
    assert.deepEqual(await list("daily"), {});
    await predict(fan, "right");
    moveTo("2026-11-02T03:29:59Z");
    await predict(fan, "right");
    assert.deepEqual(await list("daily"), onlyFan(2));
    moveTo("2026-11-02T03:30:00Z");
    await predict(fan, "exact");
    assert.deepEqual([await list("daily"), await list("overall")], [onlyFan(3), onlyFan(9)]);
    assert.deepEqual(await list("daily", "previous"), onlyFan(2));
    const { json } = await world.call(`${board("daily")}?season=previous`);
    assert.deepEqual(json.meta.season, {
      id: "2026-11-01",
      startsAt: "2026-11-01T02:30:00.000Z",
      endsAt: "2026-11-02T03:30:00.000Z",
    });
  });

  it("count actions in the month of the board's zone, on every shard", async () => {
    moveTo("2026-11-30T18:14:59Z");
    const fans = await Promise.all(["Ann", "Bob", "Cid", "Dan", "Eve"].map(name => world.fan(name)));
    for (const fan of fans) await predict(fan, "exact");
    moveTo("2026-11-30T18:15:00Z");
    for (const fan of fans.slice(1)) await predict(fan, "exact");
    for (const fan of fans.slice(3)) await predict(fan, "exact");
    for (const fan of fans.slice(0, 1)) await predict(fan, "right");
    const counts = (board: Record<string, number>): (number | undefined)[] =>
      fans.map(({ userId }) => board[userId]);
    assert.deepEqual(counts(await list("monthly", "2026-11")), [1, 1, 1, 1, 1]);
    assert.deepEqual(counts(await list("monthly", "current")), [undefined, 1, 1, 2, 2]);
  });

  it("belong to boards of events too, which aliases name", async () => {
    const fan = await world.fan("Ann");
    await predict(fan, "exact", { eventId: ids.event });
    await predict(fan, "exact");
    await world.platform.idle();
    const path = `/projects/${ids.project}/events/current/leaderboards/round_1`;
    for (const query of ["", "?season=current", "?season=2026-W44"]) {
      assert.deepEqual(scores(await world.call(path + query)), { [fan.userId]: 3 }, query);
    }
    moveTo("2026-11-02T00:00:00Z");
    assert.deepEqual(scores(await world.call(path)), {});
    const entry = await world.call(`${entryPath(path, fan.userId)}?season=previous`);
    assert.deepEqual([entry.json.data.score, entry.json.meta.season.id], [3, "2026-W44"]);
    const undeclared = `/projects/${ids.project}/events/current/leaderboards/round_2`;
    assertProblem(await world.call(`${undeclared}?season=current`), 400, "validation_failed");
  });

  it("accept scores within the grace time, and log later ones without ranking them", async () => {
    const [early, late] = [await world.fan("Early"), await world.fan("Late")];
    moveTo("2026-11-02T03:29:00Z");
    fenced.isFenced = true;
    await predict(early, "right");
    await predict(late, "exact");
    await world.platform.idle();
    fenced.isFenced = false;
    moveTo("2026-11-02T04:29:59Z");
    await look(early);
    assert.deepEqual(await list("daily", "previous"), { [early.userId]: 1 });
    moveTo("2026-11-02T04:30:00Z");
    await look(late);
    assert.deepEqual(await list("daily", "previous"), { [early.userId]: 1 });
    assert.deepEqual(await list("overall"), { [early.userId]: 1, [late.userId]: 3 });
    const refused = logged.filter(([event]) => event === "board_update_refused");
    const target = `desc/${ids.project}//daily/2026-11-01`;
    assert.deepEqual(refused, [["board_update_refused", { target, because: "closed", count: 1 }]]);
    await look(late);
    await world.platform.idle();
    assert.equal(
      logged.filter(([event]) => event === "board_update_refused").length,
      1,
      "it is kept no longer",
    );
  });

  it("leave no running sums in users' records", async () => {
    const fan = await world.fan("Ann");
    await predict(fan, "right");
    await world.platform.idle();
    const partition = `o:${ids.organisation}:loyalty:${fan.userId}`;
    const untils = async (): Promise<readonly number[]> => {
      const [found] = await world.store.read(partition, [{ type: "record", key: "loyalty" }]);
      const { sums } = parseState(found?.value ?? "");
      return Object.values(sums).flatMap(([, keepUntil]) => keepUntil ?? []);
    };
    const first = Math.min(...(await untils()));
    // The day ends at 02:30 UTC, an hour of grace after it.
    moveTo("2026-11-01T03:30:00Z");
    assert.equal(first, world.clock.now() + 24 * hourMs);
    world.clock.advance(24 * hourMs - 1);
    await predict(fan, "right");
    assert.ok((await untils()).includes(first));
    world.clock.advance(24 * 60 * 60 * 1_000);
    await predict(fan, "right");
    const left = await untils();
    assert.ok(left.length > 0 && left.every(keepUntil => keepUntil > world.clock.now()));
  });

  it("are removed once they are no longer kept, with everything that was stored for them", async () => {
    const { leaderboards } = world.platform;
    const fan = await world.fan("Ann");
    const writer = await BoardWriter.create(world);
    await predict(fan, "exact");
    await writer.put(board("direct"), fan.userId, { score: 7 });
    await world.platform.idle();
    const sizeOf = async (leaderboardId: string, season: string, shard = 0): Promise<number> => {
      const address = { projectId: ids.project, eventId: null, leaderboardId, season };
      const keys = ["board", "scores", "versions"];
      const ranges = await world.store.read(
        boardPartition(address, shard),
        keys.map(key => ({ type: "board", key, limit: 0 }) as const),
      );
      const [guard] = await world.store.read(boardPartition(address, shard), [
        { type: "record", key: "guard" },
      ]);
      return ranges.reduce((sum, { size }) => sum + size, guard === null ? 0 : 1);
    };
    assert.deepEqual([await sizeOf("daily", "2026-10-31"), await sizeOf("direct", "2026-11-01")], [1, 3]);
    assert.equal(await leaderboards.prune(), 0);
    moveTo("2026-11-02T03:29:59Z");
    assert.equal(await leaderboards.prune(), 0);
    moveTo("2026-11-02T03:30:00Z");
    assert.equal(await leaderboards.prune(), 1);
    assert.equal(await leaderboards.prune(), 0);
    assert.deepEqual([await sizeOf("daily", "2026-10-31"), await sizeOf("direct", "2026-11-01")], [0, 3]);
    assertProblem(await world.call(`${board("daily")}?season=2026-10-31`), 404, "not_found");
    moveTo("2026-11-03T00:00:00Z");
    assert.equal(await leaderboards.prune(), 1);
    assert.equal(await sizeOf("direct", "2026-11-01"), 0);
    const shards = await Promise.all([0, 1, 2, 3].map(shard => sizeOf("monthly", "2026-11", shard)));
    assert.equal(
      shards.reduce((sum, size) => sum + size, 0),
      1,
      "the months are kept",
    );
  });

  it("are removed although the removal was interrupted, or two processes do it", async () => {
    const writer = await BoardWriter.create(world);
    for (let day = 1; day <= 3; day++) {
      await writer.put(board("direct"), "ann", { score: day });
      world.clock.advance(dayMs);
    }
    fenced.isFenced = true;
    await assert.rejects(world.platform.leaderboards.prune(), AppError);
    fenced.isFenced = false;
    const { leaderboards } = world.platform;
    const removed = await Promise.all([leaderboards.prune(), leaderboards.prune()]);
    assert.ok(Math.max(...removed) === 2, `${removed}`);
    assert.equal(await leaderboards.prune(), 0);
    assert.deepEqual(await list("direct", "2026-11-03").catch(() => "gone"), { ann: 3 });
  });

  it("are checked every week even if settings keep them forever", async () => {
    const writer = await BoardWriter.create(world);
    await writer.put(board("cup"), "ann", { score: 1 });
    const lookAt = async (): Promise<number[]> => {
      const [{ entries }] = await world.store.read("g:seasons", [{ type: "board", key: "kept", limit: 10 }]);
      return entries.map(({ score }) => score);
    };
    assert.deepEqual(await lookAt(), [world.clock.now() + 7 * 24 * hourMs]);
    world.clock.advance(7 * 24 * hourMs);
    assert.equal(await world.platform.leaderboards.prune(), 0);
    assert.deepEqual(await lookAt(), [world.clock.now() + 7 * 24 * hourMs]);
    assert.deepEqual(await list("cup"), { ann: 1 });
  });

  it("are removed with a board that is no longer declared", async () => {
    const writer = await BoardWriter.create(world);
    await writer.put(board("cup"), "ann", { score: 1 });
    await seedDirectory(world.store, seed, { clock: world.clock.now });
    world.clock.advance(7 * 24 * hourMs);
    assert.equal(await world.platform.leaderboards.prune(), 1);
  });
});
