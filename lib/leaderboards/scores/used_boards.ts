/**
 * Which boards without seasons have scores: settings tell of those that are declared today alone, and whoever takes a user off
 * all boards must find the others too.
 *
 * @module
 */

import { type Partition, type Store, storageLimits, tenantPartition } from "../../storage/mod.ts";
import { type BoardDeclaration, declarationDefaults, type RankStyle } from "../settings/board_settings.ts";
import { type BoardLocation, locateBoard } from "./board_location.ts";
import type { BoardAddress } from "./partitions.ts";

/** Number of boards that a process knows to be noted; beyond it some are noted once more, which changes nothing. */
export const notedBoardsMax = 10_000;

const key = "boards";

type Address = Pick<BoardAddress, "projectId" | "eventId" | "leaderboardId">;
/** What says where a board's scores are and how they are taken off. */
type Shape = Pick<BoardDeclaration, "shards" | "rankStyle">;

/** Notes the boards of a process. */
export class UsedBoards {
  readonly #store: Store;
  readonly #noted = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Notes a board before its first score is written; once per process and board it costs a write. */
  async note(address: Address, shape: Shape): Promise<void> {
    const member = usedName(address, shape);
    const name = `${address.projectId}/${member}`;
    if (this.#noted.has(name)) return;
    await this.#store.commit(partitionOf(address.projectId), {
      writes: [{ type: "score", op: "set", key, member, score: 0 }],
    });
    if (this.#noted.size >= notedBoardsMax) this.#noted.clear();
    this.#noted.add(name);
  }
}

/** A board by the name under which it is noted. */
export interface UsedBoard {
  readonly name: string;
  readonly location: BoardLocation;
}

/** The boards of a project and its events that were noted. */
export async function* usedBoards(store: Store, projectId: string): AsyncGenerator<UsedBoard, void, void> {
  for (let offset = 0; ; offset += storageLimits.rangeLimitMax) {
    const [{ entries }] = await store.read(partitionOf(projectId), [
      { type: "board", key, offset, limit: storageLimits.rangeLimitMax },
    ]);
    for (const { member } of entries) yield { name: member, location: usedLocation(projectId, member) };
    if (entries.length < storageLimits.rangeLimitMax) return;
  }
}

/** The name of a board, which is another one where its scores are kept elsewhere. */
export function usedName({ eventId, leaderboardId }: Address, { shards, rankStyle }: Shape): string {
  return [eventId ?? "", leaderboardId, shards, rankStyle].join("/");
}

function usedLocation(projectId: string, name: string): BoardLocation {
  const [eventId = "", leaderboardId = "", shards = "1", rankStyle = "competition"] = name.split("/");
  const shape = { shards: Number(shards), rankStyle: rankStyle as RankStyle };
  const address = { projectId, eventId: eventId === "" ? null : eventId, leaderboardId, season: "" };
  return locateBoard({ id: leaderboardId, ...declarationDefaults, ...shape }, address);
}

function partitionOf(projectId: string): Partition {
  return tenantPartition({ project: projectId }, "leaderboards");
}
