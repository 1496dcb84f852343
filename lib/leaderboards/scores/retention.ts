/**
 * Removes the scores of seasons that a board no longer keeps.
 *
 * A store lists no partitions, so whoever first writes a season's scores notes it before: the board `kept` of the platform
 * has every season of every board, by the time at which to look whether it can go. The note is removed after the scores, so
 * that a removal that was interrupted is done again.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { platformPartition, type Store, type Write } from "../../storage/mod.ts";
import type { BoardDeclaration } from "../settings/board_settings.ts";
import { eventBoard, projectBoards } from "../settings/declarations.ts";
import type { Season } from "../settings/season_settings.ts";
import { keptUntil, seasonById } from "../settings/seasons.ts";
import { boardKey, distinctKey } from "./board_location.ts";
import { guardKey, scoreVersionsKey } from "./guarded_scores.ts";
import { type BoardAddress, boardPartition } from "./partitions.ts";
import { UsedBoards } from "./used_boards.ts";

/** Longest time after which it is looked again whether a season can go, in ms: settings may have changed. */
export const lookAgainMsMax: number = 7 * 24 * 60 * 60 * 1_000;
/** Number of noted seasons that a process remembers. */
export const notedSeasonsMax = 10_000;
/** Number of seasons that are looked at together. */
export const pruneBatchMax = 100;

/** A board, or a season of one, that has scores. */
export interface SeasonBoard {
  readonly declaration: BoardDeclaration;
  readonly address: Omit<BoardAddress, "shard">;
  /** Null on a board without seasons. */
  readonly season: Season | null;
}

/** Knows the boards and seasons that have scores. */
export interface Retention {
  /** Notes a board or season before its first scores are written; once per process and season it costs a write. */
  note(board: SeasonBoard): Promise<void>;
  /**
   * Removes the scores of seasons that their boards no longer keep, and of boards that are no longer declared. Answers how
   * many seasons were removed. It may run in several processes at once, and again after it was interrupted.
   */
  prune(): Promise<number>;
}

const partition = platformPartition("seasons");
const key = "kept";

/** Creates the retention of all boards. */
export function createRetention({
  store,
  directory,
  clock,
}: {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
}): Retention {
  const noted = new Set<string>();
  const boards = new UsedBoards(store);

  async function reschedule(member: string, until: number): Promise<void> {
    const score = Math.min(until, clock() + lookAgainMsMax);
    await store.commit(partition, { writes: [{ type: "score", op: "set", key, member, score }] });
  }

  /** When a noted season can go; at once where its board is no longer declared. */
  async function untilOf({ address }: Noted): Promise<number> {
    const { projectId, eventId, leaderboardId } = address;
    const project = await directory.project(projectId);
    const event = eventId === null ? null : await directory.event(projectId, eventId);
    if (project === null || (eventId !== null && event === null)) return 0;
    const declaration =
      event === null ? projectBoards(project).get(leaderboardId) : eventBoard(project, event, leaderboardId);
    const season = declaration === undefined ? null : seasonById(declaration, address.season);
    return declaration === undefined || season === null ? 0 : keptUntil(declaration, season);
  }

  return {
    async note({ declaration, address, season }) {
      if (season === null) return await boards.note(address, declaration);
      const member = memberOf(address, declaration.shards);
      if (noted.has(member)) return;
      await reschedule(member, keptUntil(declaration, season));
      if (noted.size >= notedSeasonsMax) noted.clear();
      noted.add(member);
    },
    async prune() {
      const now = clock();
      let removed = 0;
      for (;;) {
        const [{ entries }] = await store.read(partition, [
          { type: "board", key, max: now, limit: pruneBatchMax },
        ]);
        for (const { member } of entries) {
          const season = parse(member);
          const until = await untilOf(season);
          if (until > now) {
            await reschedule(member, until);
            continue;
          }
          await remove(store, season);
          noted.delete(member);
          await store.commit(partition, { writes: [{ type: "unscore", key, member }] });
          removed += 1;
        }
        if (entries.length < pruneBatchMax) return removed;
      }
    },
  };
}

interface Noted {
  readonly address: Omit<BoardAddress, "shard">;
  readonly shards: number;
}

function memberOf({ projectId, eventId, leaderboardId, season }: Noted["address"], shards: number): string {
  return [projectId, eventId ?? "", leaderboardId, season, shards].join("/");
}

function parse(member: string): Noted {
  const [projectId = "", eventId = "", leaderboardId = "", season = "", shards = "1"] = member.split("/");
  const address = { projectId, eventId: eventId === "" ? null : eventId, leaderboardId, season };
  return { address, shards: Number(shards) };
}

async function remove(store: Store, { address, shards }: Noted): Promise<void> {
  const writes: readonly Write[] = [
    { type: "delete", shape: "board", key: boardKey },
    { type: "delete", shape: "board", key: distinctKey },
    { type: "delete", shape: "board", key: scoreVersionsKey },
    { type: "delete", shape: "record", key: guardKey },
  ];
  for (let shard = 0; shard < shards; shard++) {
    await store.commit(boardPartition({ ...address, shard }), { writes });
  }
}
