/**
 * The routes of leaderboards, for projects and for events.
 *
 * @module
 */

import type { AnyRoute } from "../../http/mod.ts";
import { type HiddenUserContext, hiddenUserRoutes } from "./hidden_user_routes.ts";
import { readRoutes } from "./read_routes.ts";
import {
  EventBoardParams,
  EventEntryParams,
  ProjectBoardParams,
  ProjectEntryParams,
  type RoutePlace,
} from "./schema.ts";
import { type WriteContext, writeRoutes } from "./write_routes.ts";

/** What the routes work with. */
export interface LeaderboardContext extends WriteContext, HiddenUserContext {
  readonly hiddenUsers: HiddenUserContext["hiddenUsers"];
}

const places: readonly RoutePlace[] = [
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
  const boards = places.flatMap(place => [...readRoutes(context, place), ...writeRoutes(context, place)]);
  return [...boards, ...hiddenUserRoutes(context)];
}
