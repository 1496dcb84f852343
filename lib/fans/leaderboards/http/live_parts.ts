/** Boards as parts of live streams. */

import { AppError } from "../../../base/errors/mod.ts";
import type { LivePart, LiveSource } from "../live/watcher.ts";
import type { ResolvedBoard } from "../scores/resolve_board.ts";
import {
  entriesText,
  type LeaderboardContext,
  listText,
  metaText,
  readableBoard,
  readListing,
} from "./answers.ts";
import { type BoardParams, limitMax } from "./schema.ts";

/** Returns the source of a board and its season. */
export function boardSource(context: LeaderboardContext, board: ResolvedBoard): LiveSource {
  return {
    key: board.location.shards[0],
    async read() {
      // Read once for the longest list of all listeners.
      const listing = await readListing(context, board, { limit: limitMax, include: [] });
      return {
        render(count) {
          const entries = entriesText(listing, count);
          return {
            shown: metaText(board) + entries,
            data: listText(board, entries, listing.totalCount),
          };
        },
      };
    },
  };
}

/** Names a board as a part of the stream of another area; `wrap` puts its list into the data of a message. */
export type PublicBoards = (board: BoardParams, wrap: LivePart["wrap"]) => LivePart;

/** Creates the parts of public boards. A hidden board and one that is not declared are the same to their readers: there is none. */
export function createPublicBoards(context: LeaderboardContext): PublicBoards {
  return (board, wrap) => {
    const { projectId, eventId = "", leaderboardId } = board;
    return {
      name: ["page", projectId, eventId, leaderboardId].join("/"),
      event: "leaderboard",
      wrap,
      async locate() {
        const nobody = new Request("http://localhost/");
        try {
          return boardSource(context, await readableBoard(context, board, { request: nobody }));
        } catch (error) {
          const isMissing =
            error instanceof AppError && (error.code === "not_found" || error.code === "validation_failed");
          throw isMissing ? unknownBoard(leaderboardId) : error;
        }
      },
    };
  };
}

function unknownBoard(id: string): AppError {
  return new AppError("not_found", `Cannot find a public leaderboard with the id ${id}: leave it out`);
}
