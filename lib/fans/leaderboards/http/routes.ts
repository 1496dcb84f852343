/**
 * The routes of leaderboards, for projects and for events.
 *
 * @module
 */

import type { AnyRoute } from "../../../http/mod.ts";
import type { LeaderboardContext } from "./answers.ts";
import { hiddenUserRoutes } from "./hidden_user_routes.ts";
import { readRoutes } from "./read_routes.ts";
import { boardScopes } from "./schema.ts";
import { writeRoutes } from "./write_routes.ts";

/** Builds the leaderboard routes. */
export function leaderboardRoutes(context: LeaderboardContext): readonly AnyRoute[] {
  const boards = boardScopes.flatMap(scope => [
    ...readRoutes(context, scope),
    ...writeRoutes(context, scope),
  ]);
  return [...boards, ...hiddenUserRoutes(context)];
}
