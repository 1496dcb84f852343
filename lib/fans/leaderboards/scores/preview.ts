/**
 * Previews of boards: what a board would show of a user, computed from earnings without a store.
 *
 * @module
 */

import type { Settings } from "../../directory/mod.ts";
import { type BoardDeclaration, parseBoards } from "../settings/board_settings.ts";
import { seasonAt } from "../settings/seasons.ts";
import { createReplay } from "./rebuild.ts";
import type { UserEarnings } from "./score_feed.ts";

/** A board of the previewed project, or of one of its events. */
export interface PreviewedBoard {
  readonly eventId: string | null;
  readonly leaderboardId: string;
}

/** The boards that the settings of a project declare and that users' earnings change. */
export interface BoardPreview {
  /**
   * Returns the score of a user at an instant (Unix ms), in the season of that time; null: the user is not on the board. Undefined
   * where no such board is declared, or back ends write its scores.
   */
  scoreOf(
    board: PreviewedBoard,
    user: Omit<UserEarnings, "projectId">,
    at: number,
  ): number | null | undefined;
}

const projectId = "";

/**
 * Creates the preview of the boards in the sections `leaderboards` and `eventLeaderboards` of a project's settings.
 *
 * @param pointer JSON Pointer to the settings, for errors.
 * @throws {AppError} `validation_failed` where they are not valid.
 */
export function createBoardPreview(settings: Settings, pointer: string): BoardPreview {
  const sections = {
    ofProject: parseBoards(settings.leaderboards, `${pointer}/leaderboards`),
    ofEvents: parseBoards(settings.eventLeaderboards, `${pointer}/eventLeaderboards`),
  };
  return {
    scoreOf({ eventId, leaderboardId }, user, at) {
      const boards = eventId === null ? sections.ofProject : sections.ofEvents;
      const declaration = boards.find(({ id }) => id === leaderboardId);
      if (declaration === undefined || declaration.source.type === "direct") return undefined;
      return scoreAt(declaration, { eventId, user, at });
    },
  };
}

function scoreAt(
  declaration: BoardDeclaration,
  {
    eventId,
    user,
    at,
  }: {
    readonly eventId: string | null;
    readonly user: Omit<UserEarnings, "projectId">;
    readonly at: number;
  },
): number | null {
  const season = seasonAt(declaration, at);
  if (season === null && declaration.seasons.type !== "none") return null;
  const { scoreOf } = createReplay({
    declaration,
    project: { id: projectId },
    event: eventId === null ? null : { id: eventId.toLowerCase() },
    season,
    location: declaration,
  });
  return scoreOf({ ...user, projectId })?.score ?? null;
}
