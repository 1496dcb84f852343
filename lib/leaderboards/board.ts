/**
 * One board in the store.
 *
 * A stored board is always read in ascending order: where the highest score leads, the negated score is stored. So
 * "who reached the score first, then the user id by bytes" orders equal scores in both directions.
 *
 * @module
 */

import type { Directory, Event, Project } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import { chain } from "../http/mod.ts";
import {
  type BoardEntry,
  compareUtf8,
  type Partition,
  type Read,
  type Score,
  type Standing,
  type Store,
} from "../storage/mod.ts";
import { boardPartition } from "./address.ts";
import { type BoardDeclaration, type BoardOperator, declarationsMax } from "./board_settings.ts";
import { eventBoard, projectBoards } from "./declarations.ts";

/** The key of the board in its partition. */
export const boardKey = "board";

/** A board that exists. */
export interface Board {
  readonly partition: Partition;
  readonly declaration: BoardDeclaration;
  readonly project: Project;
}

/** Names a board as paths do. */
export interface BoardPath {
  readonly projectId: string;
  readonly eventId: string | null;
  readonly leaderboardId: string;
}

/** A user's place. Competition rank: equal scores share a rank, the next rank skips their number ("1224"). */
export interface RankedUser {
  readonly rank: number;
  readonly score: number;
  readonly userId: string;
}

/** A part of a board. */
export interface Ranking {
  readonly users: readonly RankedUser[];
  readonly totalCount: number;
}

/** What a list shows. */
export interface RankingQuery {
  /** Number of leading users. */
  readonly limit: number;
  /** Users to show besides, wherever they stand; those without an entry are left out. */
  readonly include: readonly string[];
}

/**
 * The board that a path names; without a promise while its project and event are fresh.
 *
 * @throws {AppError} `not_found` for an unknown project or event; `validation_failed` for an id that is not declared.
 */
export function findBoard(directory: Directory, path: BoardPath): Board | Promise<Board> {
  const { projectId, eventId, leaderboardId } = path;
  return chain(directory.project(projectId), project => {
    if (project === null) throw unknown("project");
    if (eventId === null) return boardOf(project, project, leaderboardId);
    return chain(directory.event(projectId, eventId), event => {
      if (event === null) throw unknown("event");
      return boardOf(project, event, leaderboardId);
    });
  });
}

/** Boards by the directory's object of their project or event, which stays the same while that is unchanged. */
const knownBoards = new WeakMap<Project | Event, Map<string, Board>>();

function boardOf(project: Project, owner: Project | Event, id: string): Board {
  const known = knownBoards.get(owner) ?? new Map<string, Board>();
  const found = known.get(id);
  if (found?.project === project) return found;
  const event = "projectId" in owner ? owner : null;
  const declaration = event === null ? projectBoards(project).get(id) : eventBoard(project, event, id);
  if (declaration === undefined) throw undeclared();
  const partition = boardPartition({
    projectId: project.id,
    eventId: event?.id ?? null,
    leaderboardId: id,
    season: "",
    shard: 0,
  });
  const board = { partition, declaration, project };
  // A path may name any of thousands of rounds; only as many boards as can be declared are worth keeping.
  if (known.size < declarationsMax || found !== undefined) known.set(id, board);
  knownBoards.set(owner, known);
  return board;
}

function unknown(parent: "project" | "event"): AppError {
  return new AppError("not_found", `Cannot find the leaderboard as its ${parent} is unknown`);
}

function undeclared(): AppError {
  return new AppError("validation_failed", "Cannot show the leaderboard as it is not declared", {
    fields: [{ pointer: "leaderboardId", detail: "Expected the id of a declared leaderboard" }],
  });
}

/** Reads the leading users and the included ones, each once, in order. One round trip. */
export async function readRanking(store: Store, board: Board, query: RankingQuery): Promise<Ranking> {
  const { partition, declaration } = board;
  const top = { type: "board", key: boardKey, limit: query.limit } as const;
  if (query.include.length === 0) {
    const [{ entries, size }] = await store.read(partition, [top]);
    return { users: competitionRanks(declaration, entries), totalCount: size };
  }
  const standings: readonly Read[] = query.include.map(member => ({
    type: "standing",
    key: boardKey,
    member,
  }));
  const [{ entries, size }, ...places] = (await store.read(partition, [top, ...standings])) as [
    { entries: readonly BoardEntry[]; size: number },
    ...(Standing | null)[],
  ];
  const listed = new Set(entries.map(({ member }) => member));
  const others = query.include
    .map((member, index) => ({ member, standing: places[index] ?? null }))
    .filter((other): other is Placed => other.standing !== null && !listed.has(other.member))
    .sort(byOrder);
  const users = competitionRanks(declaration, entries);
  return { users: [...users, ...others.map(other => rankedUser(declaration, other))], totalCount: size };
}

/** Reads one user's place, or null where the user has no entry. One round trip. */
export async function readPlace(store: Store, board: Board, userId: string): Promise<RankedUser | null> {
  const [standing] = await store.read(board.partition, [{ type: "standing", key: boardKey, member: userId }]);
  return standing === null ? null : rankedUser(board.declaration, { member: userId, standing });
}

/** The write that brings a score onto a board. */
export function scoreWrite(
  declaration: BoardDeclaration,
  entry: {
    readonly userId: string;
    readonly score: number;
    readonly at: number;
    readonly operator: BoardOperator;
  },
): Score {
  const { userId, score, at, operator } = entry;
  const common = {
    type: "score",
    key: boardKey,
    member: userId,
    score: stored(declaration, score),
    tie: at,
  } as const;
  switch (operator) {
    case "set":
      return { ...common, op: "set" };
    case "best":
      return { ...common, op: "min" };
    case "sum":
      return { ...common, op: "add" };
    case "latest":
      return { ...common, op: "set", asOf: at };
  }
}

/** Turns a score into the stored one or back. */
export function stored({ order }: Pick<BoardDeclaration, "order">, score: number): number {
  return order === "desc" && score !== 0 ? -score : score;
}

interface Placed {
  readonly member: string;
  readonly standing: Standing;
}

function competitionRanks(declaration: BoardDeclaration, entries: readonly BoardEntry[]): RankedUser[] {
  let rank = 0;
  let previous = Number.NaN;
  return entries.map(({ member, score }, index) => {
    if (score !== previous) rank = index + 1;
    previous = score;
    return { rank, score: stored(declaration, score), userId: member };
  });
}

function rankedUser(declaration: BoardDeclaration, { member, standing }: Placed): RankedUser {
  return { rank: standing.below + 1, score: stored(declaration, standing.score), userId: member };
}

function byOrder(a: Placed, b: Placed): number {
  return (
    a.standing.score - b.standing.score || a.standing.tie - b.standing.tie || compareUtf8(a.member, b.member)
  );
}
