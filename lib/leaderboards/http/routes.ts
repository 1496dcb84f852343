/**
 * The routes of leaderboards, for projects and for events.
 *
 * @module
 */

import type { AnyRoute } from "../../http/mod.ts";
import type { HiddenUsers } from "../ranking/hidden_users.ts";
import { type HiddenUserContext, hiddenUserRoutes } from "./hidden_user_routes.ts";
import { readRoutes } from "./read_routes.ts";
import { boardScopes } from "./schema.ts";
import { type BoardWriteContext, writeRoutes } from "./write_routes.ts";

/** What the routes of leaderboards need. */
export interface LeaderboardContext extends BoardWriteContext, HiddenUserContext {
  readonly hiddenUsers: HiddenUsers;
}

/** Builds the leaderboard routes. */
export function leaderboardRoutes(context: LeaderboardContext): readonly AnyRoute[] {
  const boards = boardScopes.flatMap(scope => [
    ...readRoutes(context, scope),
    ...writeRoutes(context, scope),
  ]);
  return [...boards, ...hiddenUserRoutes(context)];
}
