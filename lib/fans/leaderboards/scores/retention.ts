/**
 * Tracks the boards and seasons that have scores, and removes the scores of seasons that are no longer kept.
 *
 * A store lists no partitions, so the first write to a board or season is noted beforehand. A season's note is removed after
 * its scores, so that an interrupted removal runs again.
 */

import { Batcher, Cache } from "../../../storage/background/mod.ts";
import {
  type Partition,
  type Store,
  storageLimits,
  type UserRecordKind,
  type UserRecords,
  type Write,
} from "../../../storage/mod.ts";
import { platformPartition } from "../../../storage/names.ts";
import { projectEvents } from "../../directory/directory.ts";
import type { Directory } from "../../directory/mod.ts";
import { createHiddenUsers } from "../ranking/hidden_users.ts";
import {
  type BoardDeclaration,
  declaredEventBoards,
  defaultBoard,
  eventBoard,
  projectBoards,
  type RankStyle,
} from "../settings/board_settings.ts";
import { keptUntil, listSeasons, seasonById } from "../settings/seasons.ts";
import {
  additionIdsDelete,
  type BoardChange,
  changeScores,
  guardKey,
  hasAdditionsKey,
  scoreVersionsKey,
  walkBoard,
} from "./change_scores.ts";
import {
  type BoardAddress,
  type BoardLocation,
  boardKey,
  boardPartition,
  boardsPartition,
  distinctKey,
  entryPartition,
  fromStoredScore,
  type LeaderboardServices,
  locateBoard,
  type ResolvedBoard,
} from "./resolve_board.ts";

/** Longest time between two checks whether a season can be removed, in ms: settings may change. */
const checkEveryMs = 7 * 24 * 60 * 60 * 1_000;
/** Number of notes that a process remembers; a forgotten one is written again, which changes nothing. */
const notesMax = 10_000;
const pruneBatchMax = 100;
const { rangeLimitMax } = storageLimits;

/** The seasons that have scores, by the time at which to check whether they can be removed. */
const seasonsPartition = platformPartition("seasons");
const seasonsKey = "kept";
/** The boards of a project that have scores without seasons. */
const boardsKey = "boards";

export type Retention = ReturnType<typeof createRetention>;

export function createRetention({ store, directory, clock }: LeaderboardServices) {
  const noted = new Cache<true>({ entriesMax: notesMax });

  async function note(partition: Partition, key: string, member: string, score: number): Promise<void> {
    const name = `${partition} ${member}`;
    if (noted.get(name) === true) return;
    await store.commit(partition, { writes: [{ type: "score", op: "set", key, member, score }] });
    noted.set(name, true);
  }

  /** Removes a season or delays its next check; returns whether it was removed. */
  async function check(member: string, now: number): Promise<boolean> {
    const { address, shards } = parseSeasonNote(member);
    const until = await removableAt(directory, address);
    if (until > now) {
      const score = Math.min(until, now + checkEveryMs);
      await store.commit(seasonsPartition, {
        writes: [{ type: "score", op: "set", key: seasonsKey, member, score }],
      });
      return false;
    }
    for (let shard = 0; shard < shards; shard++) {
      await removeScores(store, boardPartition(address, shard));
    }
    noted.delete(`${seasonsPartition} ${member}`);
    await store.commit(seasonsPartition, { writes: [{ type: "unscore", key: seasonsKey, member }] });
    return true;
  }

  return {
    /** Notes a board or season before its first scores are written; costs one write per process. */
    track({
      declaration,
      address,
      season,
    }: Pick<ResolvedBoard, "declaration" | "address" | "season">): Promise<void> {
      const { projectId, eventId, leaderboardId } = address;
      const { shards, rankStyle } = declaration;
      const path = [eventId ?? "", leaderboardId];
      if (season === null) {
        return note(boardsPartition(projectId), boardsKey, [...path, shards, rankStyle].join("/"), 0);
      }
      const member = [projectId, ...path, season.id, shards].join("/");
      const until = Math.min(keptUntil(declaration, season), clock() + checkEveryMs);
      return note(seasonsPartition, seasonsKey, member, until);
    },
    /**
     * Removes the scores of seasons that their boards no longer keep, or whose boards are no longer declared. Returns the number
     * of removed seasons. It may run in several processes at once, and again after an interruption.
     */
    async prune(): Promise<number> {
      const now = clock();
      for (let removed = 0; ; ) {
        const [{ entries }] = await store.read(seasonsPartition, [
          { type: "board", key: seasonsKey, max: now, limit: pruneBatchMax },
        ]);
        for (const { member } of entries) if (await check(member, now)) removed += 1;
        if (entries.length < pruneBatchMax) return removed;
      }
    },
  };
}

/** Returns when a noted season can be removed; 0 if its board is no longer declared. */
async function removableAt(
  directory: Directory,
  { projectId, eventId, leaderboardId, season: id }: BoardAddress,
): Promise<number> {
  const project = await directory.project(projectId);
  const event = eventId === null ? null : await directory.event(projectId, eventId);
  if (project === null || (eventId !== null && event === null)) return 0;
  const declaration =
    event === null ? projectBoards(project).get(leaderboardId) : eventBoard(project, event, leaderboardId);
  const season = declaration === undefined ? null : seasonById(declaration, id);
  return declaration === undefined || season === null ? 0 : keptUntil(declaration, season);
}

interface FoundBoard {
  readonly address: BoardAddress;
  readonly location: BoardLocation;
}

/** Lists where the boards of a project and its events that have scores without seasons keep them. */
async function* trackedLocations(store: Store, projectId: string): AsyncGenerator<FoundBoard, void, void> {
  for (let offset = 0; ; offset += rangeLimitMax) {
    const [{ entries }] = await store.read(boardsPartition(projectId), [
      { type: "board", key: boardsKey, offset, limit: rangeLimitMax },
    ]);
    for (const { member } of entries) {
      const [eventId = "", id = "", shards = "1", rankStyle = "competition"] = member.split("/");
      const declaration = {
        ...defaultBoard(id),
        shards: Number(shards),
        rankStyle: rankStyle as RankStyle,
      };
      const address = {
        projectId,
        eventId: eventId === "" ? null : eventId,
        leaderboardId: id,
        season: "",
      };
      yield { address, location: locateBoard(declaration, address) };
    }
    if (entries.length < rangeLimitMax) return;
  }
}

const seasonDeletes: readonly Write[] = [
  { type: "delete", shape: "board", key: boardKey },
  { type: "delete", shape: "board", key: distinctKey },
  { type: "delete", shape: "board", key: scoreVersionsKey },
  { type: "delete", shape: "record", key: guardKey },
  { type: "delete", shape: "record", key: hasAdditionsKey },
];

/** Removes a shard of a season. The entries go last, as they tell which users have ids. */
async function removeScores(store: Store, partition: Partition): Promise<void> {
  const [hasAdditions] = await store.read(partition, [{ type: "record", key: hasAdditionsKey }]);
  if (hasAdditions !== null) {
    for await (const page of walkBoard(store, partition, boardKey)) {
      await store.commit(partition, { writes: page.map(({ member }) => additionIdsDelete(member)) });
    }
  }
  await store.commit(partition, { writes: seasonDeletes });
}

function parseSeasonNote(member: string): { readonly address: BoardAddress; readonly shards: number } {
  const [projectId = "", eventId = "", leaderboardId = "", season = "", shards = "1"] = member.split("/");
  const address = { projectId, eventId: eventId === "" ? null : eventId, leaderboardId, season };
  return { address, shards: Number(shards) };
}

const boardsAtOnce = 16;

/**
 * Creates the removal from every board of a project and of its events, in all seasons that are kept. It may be repeated after
 * an interruption. Users who are removed while a walk over the project's boards runs share the next walk.
 */
export function createEntryRemoval(services: LeaderboardServices) {
  const walks = new Batcher<string>({
    run: (projectId, userIds) => removeUsers(services, projectId, userIds),
  });
  return (projectId: string, userId: string): Promise<void> => walks.add(projectId, userId);
}

async function removeUsers(
  services: LeaderboardServices,
  projectId: string,
  userIds: readonly string[],
): Promise<void> {
  const removals = userIds.map((userId): BoardChange => ({ userId, operator: "remove" }));
  let locations: BoardLocation[] = [];
  async function removeFromAll(): Promise<void> {
    await Promise.all(locations.map(location => changeScores(services.store, location, removals)));
    locations = [];
  }
  for await (const { location } of boardsOf(services, projectId)) {
    locations.push(location);
    if (locations.length >= boardsAtOnce) await removeFromAll();
  }
  await removeFromAll();
}

async function* boardsOf(
  { store, directory, clock }: LeaderboardServices,
  projectId: string,
): AsyncGenerator<FoundBoard, void, void> {
  const project = await directory.project(projectId);
  if (project === null) return;
  function seasonsOf(declaration: BoardDeclaration, eventId: string | null): FoundBoard[] {
    return listSeasons(declaration, clock()).map(({ id: season }) => {
      const address = { projectId, eventId, leaderboardId: declaration.id, season };
      return { address, location: locateBoard(declaration, address) };
    });
  }
  for (const board of projectBoards(project).values()) yield* seasonsOf(board, null);
  for await (const event of projectEvents(store, projectId, clock())) {
    for (const board of declaredEventBoards(project, event).values()) yield* seasonsOf(board, event.id);
  }
  // Boards without seasons are noted with their first score, also those that are no longer declared or were moved.
  yield* trackedLocations(store, projectId);
}

const scoreKinds: readonly UserRecordKind[] = [
  {
    name: "score",
    description: "The user's score on a leaderboard",
    stored: ["project/board board", "project/board versions", "project/board added"],
    removal: "removed",
  },
  {
    name: "hidden",
    description: "Since when the lists of a project leave the user out",
    stored: ["project/leaderboards hidden"],
    removal: "stays",
    reason:
      "Somebody who is under suspicion stays hidden if back ends report the id again. An operator lifts it",
  },
];

/** A score of a user, as copies of a person's data have it. */
export interface RecordedStanding {
  readonly eventId: string | null;
  readonly leaderboardId: string;
  readonly season: string;
  readonly score: number;
}

export function scoreRecords(services: LeaderboardServices): UserRecords {
  const { store } = services;
  return {
    kinds: scoreKinds,
    async *read({ userId, projectIds }) {
      for (const projectId of projectIds) {
        for await (const { address, location } of boardsOf(services, projectId)) {
          const { eventId, leaderboardId, season } = address;
          const [standing] = await store.read(entryPartition(location, userId), [
            { type: "standing", key: boardKey, member: userId },
          ]);
          if (standing === null) continue;
          const score = fromStoredScore(location, standing.score);
          const data: RecordedStanding = { eventId, leaderboardId, season, score };
          yield { kind: "score", projectId, data };
        }
        const hidden = (await createHiddenUsers(services).list(projectId)).find(
          user => user.userId === userId,
        );
        if (hidden !== undefined) yield { kind: "hidden", projectId, data: hidden };
      }
    },
  };
}
