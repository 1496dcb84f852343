import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom } from "../../adapters/conformance/random.ts";
import { AppError } from "../../lib/base/errors/mod.ts";
import { seedDirectory } from "../../lib/fans/directory/seed.ts";
import type { BoardPath } from "../../lib/fans/leaderboards/mod.ts";
import type { BoardLocation } from "../../lib/fans/leaderboards/scores/resolve_board.ts";
import { resolveBoard } from "../../lib/fans/leaderboards/scores/resolve_board.ts";
import type { Write } from "../../lib/storage/mod.ts";
import { type Answer, type Fan, ids, openPlatform, seed, type TestPlatform } from "../support/platform.ts";
import { describeOnStores } from "../support/stores.ts";

const [project] = seed.projects;
if (project === undefined) throw new Error("The seed has no project");
const points = { type: "metric", metricId: "points" };
const exact = { type: "action", action: "prediction", when: { eq: [{ var: "data.outcome" }, "exact"] } };
const settings = {
  leaderboards: [
    { id: "overall", source: points },
    { id: "lowest", order: "asc", source: points, shards: 4 },
    { id: "dense", rankStyle: "dense", source: points },
    { id: "exacts", rankStyle: "ordinal", source: exact },
    { id: "monthly", source: points, seasons: { type: "monthly" }, shards: 2 },
    { id: "plausible", source: points, bounds: { min: 0, max: 8 } },
    { id: "direct", rankStyle: "dense" },
  ],
  eventLeaderboards: [{ id: "round_1", source: points }],
};
const rebuildSeed = {
  ...seed,
  projects: [{ ...project, settings: { ...project.settings, ...settings } }, ...seed.projects.slice(1)],
};
type Path = BoardPath & { readonly season?: string };
const paths: readonly Path[] = [
  ...settings.leaderboards
    .filter(({ id }) => id !== "direct")
    .map(({ id }) => ({ projectId: ids.project, eventId: null, leaderboardId: id })),
  { projectId: ids.project, eventId: null, leaderboardId: "monthly", season: "2025-07" },
  { projectId: ids.project, eventId: ids.event, leaderboardId: "round_1" },
];
const targetOf = ({ eventId, leaderboardId, season }: Path): string => {
  const event = eventId === null ? "" : `/events/${eventId}`;
  const query = season === undefined ? "" : `&season=${season}`;
  return `/projects/${ids.project}${event}/leaderboards/${leaderboardId}?limit=100${query}`;
};

async function shown(world: TestPlatform): Promise<unknown[]> {
  await world.platform.idle();
  const answers: Answer[] = [];
  for (const path of paths) answers.push(await world.call(targetOf(path)));
  return answers.map(({ status, json, text }) => {
    assert.equal(status, 200, text);
    return json;
  });
}

async function damage(
  world: TestPlatform,
  location: BoardLocation,
  userIds: readonly string[],
): Promise<void> {
  const random = createRandom(3);
  for (const partition of location.shards) {
    const writes = [...userIds, "stranger"].flatMap((member): Write[] => {
      const score = random.integer(20) - 10;
      const wrong = { type: "score", op: "set", key: "board", member, score, tie: 5, asOf: 1e6 } as const;
      if (random.chance(0.3)) return [{ type: "unscore", key: "board", member }];
      return random.chance(0.6) ? [wrong] : [];
    });
    await world.store.commit(partition, {
      writes: [...writes, { type: "delete", shape: "board", key: "scores" }],
    });
  }
}

describeOnStores("rebuilding the boards of a platform", open => {
  it("restores damaged boards, which continue to be fed", async t => {
    const world = await openPlatform(open, {
      seed: rebuildSeed,
      startAt: Date.parse("2025-07-31T23:40:00Z"),
    });
    t.after(() => world.dispose());
    const random = createRandom(1);
    const fans: Fan[] = [];
    for (let fan = 0; fan < 8; fan++) fans.push(await world.fan(`Fan ${fan}`));
    const play = async (turns: number): Promise<void> => {
      for (let turn = 0; turn < turns; turn++) {
        world.clock.advance(40_000);
        const outcome = random.pick(["exact", "right", "wrong"]);
        const eventId = random.chance(0.5) ? { eventId: ids.event } : {};
        const { status } = await random.pick(fans.slice(0, 7)).act("prediction", { outcome, ...eventId });
        assert.equal(status, 200);
        await world.platform.idle();
      }
    };
    await play(60);
    await fans[7]?.profile();
    const before = await shown(world);
    for (const board of before) assert.ok((board as { totalCount: number }).totalCount >= 5);
    const userIds = fans.map(({ userId }) => userId);
    for (const path of paths) {
      const when = { now: world.clock.now(), season: path.season };
      const { location } = await resolveBoard(world.platform.directory, path, when);
      await damage(world, location, userIds);
    }
    assert.notDeepEqual(await shown(world), before);
    async function* everybody(): AsyncGenerator<string> {
      yield* userIds;
      yield "unknown";
    }
    for (const path of paths) await world.platform.rebuildBoard(path, everybody());
    assert.deepEqual(await shown(world), before);
    await play(10);
    const fed = await shown(world);
    assert.notDeepEqual(fed, before);
    // The rebuild finds every user who has ever done anything.
    for (const path of paths) await world.platform.rebuildBoard(path);
    assert.deepEqual(await shown(world), fed);
  });

  it("repairs a board whose number of shards changed under load, up or down", async t => {
    for (const [from, to] of [
      [1, 8],
      [8, 2],
    ] as const) {
      const seedWith = (shards: number): typeof seed => ({
        ...seed,
        projects: rebuildSeed.projects.map(one =>
          one.id === ids.project
            ? {
                ...one,
                settings: { ...one.settings, leaderboards: [{ id: "overall", source: points, shards }] },
              }
            : one,
        ),
      });
      const world = await openPlatform(open, { seed: seedWith(from) });
      t.after(() => world.dispose());
      const fans: Fan[] = [];
      for (let fan = 0; fan < 12; fan++) fans.push(await world.fan(`Fan ${fan}`));
      const act = (some: readonly Fan[]): Promise<unknown> =>
        Promise.all(
          some.flatMap(fan => ["exact", "right"].map(outcome => fan.act("prediction", { outcome }))),
        );
      await act(fans);
      const load = act(fans);
      await seedDirectory(world.store, seedWith(to), { clock: world.clock.now });
      world.clock.advance(1_000);
      await load;
      // Some of the fans go on before the rebuild and while it is under way, and others do not come back.
      await act(fans.slice(0, 6));
      await world.platform.idle();
      const path: Path = { projectId: ids.project, eventId: null, leaderboardId: "overall" };
      const { location } = await resolveBoard(world.platform.directory, path, { now: world.clock.now() });
      assert.equal(location.shards.length, to);
      assert.notEqual((await world.call(targetOf(path))).json.totalCount, fans.length);
      const during = act(fans.slice(0, 3));
      await world.platform.rebuildBoard(path);
      await during;
      await world.platform.idle();
      const { data, totalCount } = (await world.call(targetOf(path))).json;
      const profiles = await Promise.all(fans.map(fan => fan.profile()));
      const expected = new Map(fans.map(({ userId }, n) => [userId, profiles[n].metrics.points]));
      assert.equal(totalCount, fans.length);
      for (const { userId, score } of data) assert.equal(score, expected.get(userId), userId);
      for (const { userId } of fans) {
        const url = `/projects/${ids.project}/leaderboards/overall/users/${userId}`;
        const listed = data.find((entry: { userId: string }) => entry.userId === userId);
        assert.equal((await world.call(url)).json.data.rank, listed.rank);
      }
    }
  });

  it("adds dense ranks to a direct board without a rebuild", async t => {
    const world = await openPlatform(open, { seed: rebuildSeed });
    t.after(() => world.dispose());
    const location = { projectId: ids.project, eventId: null, leaderboardId: "direct" };
    const scores = [7, 5, 5, 1];
    await world.store.commit(`p:${ids.project}:board::direct`, {
      writes: scores.map((score, user) => ({
        type: "score",
        op: "set",
        key: "board",
        member: `u${user}`,
        score: -score,
      })),
    });
    await world.platform.leaderboards.repairRanks(location);
    const ranks = await Promise.all(
      scores.map(async (_, user) => {
        const { json } = await world.call(`/projects/${ids.project}/leaderboards/direct/users/u${user}`);
        return json.data.rank;
      }),
    );
    assert.deepEqual(ranks, [1, 2, 2, 3]);
  });

  it("refuses direct boards and undeclared boards", async t => {
    const world = await openPlatform(open, { seed: rebuildSeed });
    t.after(() => world.dispose());
    async function* nobody(): AsyncGenerator<string> {}
    const rebuild = (leaderboardId: string, projectId: string = ids.project) =>
      world.platform.rebuildBoard({ projectId, eventId: null, leaderboardId }, nobody());
    const fails = async (rebuilding: Promise<unknown>, code: string): Promise<void> => {
      await assert.rejects(rebuilding, error => error instanceof AppError && error.code === code);
    };
    await fails(rebuild("direct"), "conflict");
    await fails(rebuild("unknown"), "validation_failed");
    await fails(rebuild("overall", ids.organisation), "not_found");
  });
});
