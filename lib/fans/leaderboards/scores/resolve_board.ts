/** Resolves the names in a path to a board and its season. */

import type { Clock } from "../../../auth/mod.ts";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import { shardOf } from "../../../base/text/mod.ts";
import { chain } from "../../../storage/background/mod.ts";
import { type Partition, type Store, tenantPartition } from "../../../storage/mod.ts";
import type { Directory, Event, Project } from "../../directory/mod.ts";
import {
  type BoardDeclaration,
  declarationsMax,
  eventBoard,
  projectBoards,
  type RankStyle,
  type Season,
} from "../settings/board_settings.ts";
import { type SeasonQuery, selectSeason } from "../settings/seasons.ts";

/** A board that exists, with the season that was asked for. */
export interface ResolvedBoard {
  readonly declaration: BoardDeclaration;
  readonly project: Project;
  /** Null on a project's board. */
  readonly event: Event | null;
  /** Null on a board without seasons. */
  readonly season: Season | null;
  readonly address: BoardAddress;
  readonly location: BoardLocation;
}

/** Names a board as paths do. */
export type BoardPath = Omit<BoardAddress, "season">;

/**
 * Resolves a path to its board; without a promise while its project and event are cached.
 *
 * @throws {AppError} `not_found` for an unknown project or event; `validation_failed` for an id that is not declared; and the
 *   errors of `selectSeason`.
 */
export function resolveBoard(
  directory: Directory,
  { projectId, eventId, leaderboardId }: BoardPath,
  query: SeasonQuery,
): ResolvedBoard | Promise<ResolvedBoard> {
  return chain(directory.project(projectId), project => {
    if (project === null) throw unknownParent("project");
    if (eventId === null) return cachedBoard(project, null, leaderboardId, query);
    return chain(directory.event(projectId, eventId), event => {
      if (event === null) throw unknownParent("event");
      return cachedBoard(project, event, leaderboardId, query);
    });
  });
}

/** Keyed by the directory's object of the project or event, which lives as long as that is unchanged. */
const boards = new WeakMap<Project | Event, Map<string, ResolvedBoard>>();

function cachedBoard(project: Project, event: Event | null, id: string, query: SeasonQuery): ResolvedBoard {
  const cached = boards.get(event ?? project) ?? new Map<string, ResolvedBoard>();
  const found = cached.get(id);
  if (found?.project === project && isSelected(found.season, query)) return found;
  const board = createBoard(project, event, id, query);
  // A path may name thousands of rounds: no more boards are cached than can be declared.
  const isCached = query.season === undefined && (found !== undefined || cached.size < declarationsMax);
  if (isCached) boards.set(event ?? project, cached.set(id, board));
  return board;
}

/** Tells whether a cached season is the one that the query selects. */
function isSelected(season: Season | null, { now, season: id, at = now }: SeasonQuery): boolean {
  if (id !== undefined) return false;
  return season === null || [now, at].every(time => time >= season.startsAt && time < season.endsAt);
}

function createBoard(project: Project, event: Event | null, id: string, query: SeasonQuery): ResolvedBoard {
  const declaration = event === null ? projectBoards(project).get(id) : eventBoard(project, event, id);
  if (declaration === undefined) {
    const message = "Cannot find the leaderboard as none of this id is declared";
    throw invalidField(message, "leaderboardId", "Expected the id of a declared leaderboard");
  }
  const season = selectSeason(declaration, query);
  const address = {
    projectId: project.id,
    eventId: event?.id ?? null,
    leaderboardId: id,
    season: season?.id ?? "",
  };
  return { declaration, project, event, season, address, location: locateBoard(declaration, address) };
}

function unknownParent(parent: "project" | "event"): AppError {
  return new AppError("not_found", `Cannot find the leaderboard as its ${parent} is unknown`);
}

/** The board of entries in each partition. */
export const boardKey = "board";
/** The board of distinct scores, each its own member, from which dense ranks are counted. */
export const distinctKey = "scores";

/** Names the scores of one season of a board. */
export interface BoardAddress {
  readonly projectId: string;
  /** Null on a project's board. */
  readonly eventId: string | null;
  readonly leaderboardId: string;
  /** The id of the season; empty on a board without seasons. */
  readonly season: string;
}

/** Returns the partition of one shard of a board, counted from 0. */
export function boardPartition(address: BoardAddress, shard: number): Partition {
  const { projectId, eventId, leaderboardId, season } = address;
  const parts = shard > 0 ? [season, String(shard)] : season === "" ? [] : [season];
  return tenantPartition({ project: projectId }, "board", eventId ?? "", leaderboardId, ...parts);
}

/** The partitions of one season of a board, and the rules that its scores follow. */
export interface BoardLocation {
  /** One partition per shard. */
  readonly shards: readonly [Partition, ...Partition[]];
  readonly order: "desc" | "asc";
  readonly rankStyle: RankStyle;
  /** Omitted: every score is ranked. */
  readonly bounds?: { readonly min: number; readonly max: number } | undefined;
  /**
   * True if each change is a decision guarded by a record: for dense ranks, which need a second board, and for bounds that
   * a sum must not leave.
   */
  readonly isGuarded: boolean;
}

export function locateBoard(declaration: BoardDeclaration, address: BoardAddress): BoardLocation {
  const { order, rankStyle, bounds, source } = declaration;
  const others = Array.from({ length: declaration.shards - 1 }, (_, index) =>
    boardPartition(address, index + 1),
  );
  return {
    shards: [boardPartition(address, 0), ...others],
    order,
    rankStyle,
    bounds,
    // The score feed delivers whole scores, whose bounds need no decision.
    isGuarded: rankStyle === "dense" || (bounds !== undefined && source.type === "direct"),
  };
}

export function entryPartition({ shards }: Pick<BoardLocation, "shards">, userId: string): Partition {
  return shards[shardOf(userId, shards.length)] ?? shards[0];
}

export function toStoredScore({ order }: Pick<BoardLocation, "order">, score: number): number {
  return order === "desc" && score !== 0 ? -score : score;
}

/** Converts a stored score back: negating twice gives the score. */
export const fromStoredScore = toStoredScore;

export function isWithinBounds({ bounds }: Pick<BoardLocation, "bounds">, score: number): boolean {
  return bounds === undefined || (score >= bounds.min && score <= bounds.max);
}

export interface LeaderboardServices {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
}

/** Returns the partition that lists the boards of a project, and the users whom they hide. */
export function boardsPartition(projectId: string): Partition {
  return tenantPartition({ project: projectId }, "leaderboards");
}
