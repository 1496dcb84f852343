/**
 * The routes of leaderboards, for projects and for events.
 *
 * @module
 */

import type { AnyRoute } from "../../http/mod.ts";
import { type HiddenUserContext, hiddenUserRoutes } from "./hidden_user_routes.ts";
import { readRoutes } from "./read_routes.ts";
import {
  type BoardScope,
  EventBoardParams,
  EventEntryParams,
  ProjectBoardParams,
  ProjectEntryParams,
} from "./schema.ts";
import { type WriteContext, writeRoutes } from "./write_routes.ts";

/** What the routes work with. */
export interface LeaderboardContext extends WriteContext, HiddenUserContext {
  readonly hiddenUsers: HiddenUserContext["hiddenUsers"];
}

const scopes: readonly BoardScope[] = [
  {
    path: "/projects/:projectId/leaderboards/:leaderboardId",
    of: "Project",
    board: ProjectBoardParams,
    entry: ProjectEntryParams,
  },
  {
    path: "/projects/:projectId/events/:eventId/leaderboards/:leaderboardId",
    of: "Event",
    board: EventBoardParams,
    entry: EventEntryParams,
  },
];

/** Builds the leaderboard routes. */
export function leaderboardRoutes(context: LeaderboardContext): readonly AnyRoute[] {
  const boards = scopes.flatMap(scope => [...readRoutes(context, scope), ...writeRoutes(context, scope)]);
  return [...boards, ...hiddenUserRoutes(context)];
}
