/** Random users under random configurations at the surface of a platform, compared with naive users and boards. */

import assert from "node:assert/strict";
import { it } from "node:test";
import { createRandom, type Random } from "../../../../../adapters/conformance/random.ts";
import { seedDirectory } from "../../../../../lib/fans/directory/seed.ts";
import { createPlatform, type Platform } from "../../../../../lib/mod.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { sampleSize } from "../../../../support/full.ts";
import { ids, testSecret } from "../../../../support/platform.ts";
import { describeOnStores, type OpenStore } from "../../../../support/stores.ts";
import { documentOf } from "./_document.ts";
import { ModelCalendar } from "./_model_calendar.ts";
import {
  type BoardChange,
  declarationOf,
  entriesOf,
  type ModelBoard,
  randomBoards,
} from "./_naive_boards.ts";
import { type ModelFirings, NaiveUser } from "./_naive_user.ts";
import { randomPause } from "./_random_pause.ts";
import { actionNames, dayMs, type ModelSpace, metricIds, randomSpace, randomStart } from "./_random_space.ts";

const runs = sampleSize(100, 15);
const usersPerRun = 4;
const actionsPerRun = 40;
/** Longest time in which nobody looks at a user; boards are still open then. */
const unattendedMsMax = 5 * dayMs;

interface World {
  readonly random: Random;
  readonly space: ModelSpace;
  readonly boards: readonly ModelBoard[];
  readonly clock: ReturnType<typeof createTestClock>;
  readonly platform: Platform;
  readonly users: readonly User[];
}

interface User {
  readonly member: Parameters<Platform["loyalty"]["report"]>[0];
  readonly model: NaiveUser;
  /** The event that each action named, by the step of the model. */
  readonly events: Map<number, string>;
}

async function openWorld(open: OpenStore, seed: number): Promise<World & AsyncDisposable> {
  const random = createRandom(seed);
  const start = randomStart(random);
  const space = randomSpace(random, start, true);
  const boards = randomBoards(random);
  const clock = createTestClock(start);
  const store = await open(clock.now);
  const { organisation: organisationId, space: spaceId, project: projectId } = ids;
  const declared = (isOfEvents: boolean): object[] =>
    boards.filter(board => board.isOfEvents === isOfEvents).map(board => declarationOf(board, space.zone));
  await seedDirectory(
    store,
    {
      organisations: [{ id: organisationId, name: "A" }],
      spaces: [{ id: spaceId, organisationId, name: "A" }],
      projects: [
        {
          id: projectId,
          spaceId,
          organisationId,
          name: "A",
          settings: { leaderboards: declared(false), eventLeaderboards: declared(true) },
        },
      ],
      events: [{ id: ids.event, projectId, name: "A", state: "current", startAt: 0 }],
      loyalty: { [spaceId]: documentOf(space) },
    },
    { clock: clock.now },
  );
  const platform = await createPlatform({
    store,
    secret: testSecret,
    clock: clock.now,
    defaultSpaceId: spaceId,
  });
  const firings: ModelFirings = [];
  const users = Array.from({ length: usersPerRun }, (_, n) => ({
    member: { organisationId, spaceId, projectId, userId: `user-${n}` },
    model: new NaiveUser(space, firings),
    events: new Map<number, string>(),
  }));
  return {
    random,
    space,
    boards,
    clock,
    platform,
    users,
    async [Symbol.asyncDispose]() {
      await platform.close();
      await store[Symbol.asyncDispose]();
    },
  };
}

/** Users act in random order; a fourth of the reports is sent twice at once. */
async function live({ random, space, clock, platform, users }: World): Promise<void> {
  let attendedAt = clock.now();
  for (let index = 0; index < actionsPerRun; index++) {
    let pause = randomPause(random, { at: clock.now(), zone: space.zone });
    for (; attendedAt + unattendedMsMax < clock.now() + pause; attendedAt += unattendedMsMax) {
      const soon = attendedAt + unattendedMsMax - clock.now();
      clock.advance(soon);
      pause -= soon;
      for (const user of users) await platform.loyalty.processDueUser(user.member);
      await platform.idle();
    }
    clock.advance(pause);
    const { member, model, events } = random.pick(users);
    const [action, n] = [random.pick(actionNames), random.integer(6)];
    const event = random.chance(0.5) ? { eventId: ids.event } : {};
    const report = { action, actionId: `${index}`, data: { n, ...event }, isClientReport: false };
    const times = random.chance(0.25) ? 2 : 1;
    await Promise.all(Array.from({ length: times }, () => platform.loyalty.report(member, report)));
    model.act(action, n, clock.now());
    if ("eventId" in event) events.set(model.step, event.eventId);
  }
  for (const { member, model } of users) {
    await platform.loyalty.processDueUser(member);
    model.pass(clock.now());
  }
  await platform.idle();
}

async function checkUser({ platform, space }: World, { member, model }: User): Promise<void> {
  const challenges = space.challenges.map(({ id }) => {
    const missionsCompleted = model.progress(id).done;
    return [id, { isCompleted: model.status(id) === "completed", missionsCompleted }];
  });
  assert.deepEqual(await platform.loyalty.profile(member), {
    metrics: Object.fromEntries(metricIds.map(id => [id, model.metric(id)])),
    inventory: { set: model.items },
    challenges: Object.fromEntries(challenges),
  });
  const { ok, faults } = await platform.loyalty.reconcile(member);
  assert.deepEqual([ok, faults], [true, []]);
  const { differences, isComplete } = await platform.loyalty.replay(member);
  assert.deepEqual([differences, isComplete], [[], true]);
}

async function checkBoard(world: World, board: ModelBoard): Promise<void> {
  const { platform, users, space } = world;
  const { metric, seasons, isOfEvents } = board;
  const changes = users.flatMap(({ member: { userId }, model, events }) =>
    model.changes
      .filter(({ id }) => id === metric)
      .map((change): BoardChange => {
        const event = change.isOfAction ? (events.get(change.step) ?? null) : null;
        return { ...change, userId, event };
      }),
  );
  const path = `/projects/${ids.project}${isOfEvents ? `/events/${ids.event}` : ""}/leaderboards/${board.id}`;
  if (isOfEvents) {
    const ofEvent = changes.filter(({ event }) => event !== null);
    assert.deepEqual(await shown(platform, path), entriesOf(board, ofEvent, 0), path);
    return;
  }
  if (seasons === "none") {
    const start = metric === "m0" ? 1 : 0;
    assert.deepEqual(await shown(platform, path), entriesOf(board, changes, start), path);
    return;
  }
  const calendar = new ModelCalendar(space.zone);
  const unit = ({ daily: "day", weekly: "week", monthly: "month" } as const)[seasons];
  const names = new Set(changes.map(({ at }) => calendar.name(unit, at)));
  for (const name of names) {
    const inSeason = changes.filter(({ at }) => calendar.name(unit, at) === name);
    const found = await shown(platform, `${path}?season=${name}`);
    assert.deepEqual(found, entriesOf(board, inSeason, 0), `${path} ${name}`);
  }
}

async function shown({ fetch }: Platform, path: string): Promise<unknown> {
  const response = await fetch(new Request(`http://club.example${path}`));
  const { data } = (await response.json()) as { readonly data: readonly Record<string, unknown>[] };
  return data.map(({ rank, score, userId }) => ({ rank, score, userId }));
}

describeOnStores("users and boards beside naive ones", open => {
  it(`agree after ${runs} random lives over changes of clocks, leap days and turns of weeks, months and years`, async () => {
    for (let seed = 1; seed <= runs; seed++) {
      await using world = await openWorld(open, seed);
      try {
        await live(world);
        for (const user of world.users) await checkUser(world, user);
        for (const board of world.boards) await checkBoard(world, board);
      } catch (error) {
        throw new Error(`Seed ${seed} (${world.space.zone}): ${String(error)}`, { cause: error });
      }
    }
  });
});
