/** The operations of leaderboards. */

import type { leaderboardRoutes } from "../fans/leaderboards/http/routes.ts";
import type { Area, DocumentOf } from "./area.ts";
import type { Operations, RoutesOf, Rows } from "./operations.ts";

type Routes = RoutesOf<typeof leaderboardRoutes>;

/** Operations of the area leaderboards. */
export interface LeaderboardsOperations extends Operations<Routes> {}

/** A board. */
export interface Leaderboard extends DocumentOf<LeaderboardsOperations["listProjectLeaderboard"]> {}
/** An entry of a board. */
export type LeaderboardEntry = Leaderboard["data"][number];

/** The area leaderboards, for `createClient`. */
export const leaderboards: Area<LeaderboardsOperations> = {
  rows: {
    listProjectLeaderboard: "GET /projects/:projectId/leaderboards/:leaderboardId",
    watchProjectLeaderboard: "GET /projects/:projectId/leaderboards/:leaderboardId e",
    getProjectLeaderboardEntry: "GET /projects/:projectId/leaderboards/:leaderboardId/users/:userId",
    putProjectLeaderboardEntry: "PUT /projects/:projectId/leaderboards/:leaderboardId/users/:userId ka",
    deleteProjectLeaderboardEntry: "DELETE /projects/:projectId/leaderboards/:leaderboardId/users/:userId ka",
    addProjectLeaderboardScore:
      "POST /projects/:projectId/leaderboards/:leaderboardId/users/:userId/scores kar",
    listEventLeaderboard: "GET /projects/:projectId/events/:eventId/leaderboards/:leaderboardId",
    watchEventLeaderboard: "GET /projects/:projectId/events/:eventId/leaderboards/:leaderboardId e",
    getEventLeaderboardEntry:
      "GET /projects/:projectId/events/:eventId/leaderboards/:leaderboardId/users/:userId",
    putEventLeaderboardEntry:
      "PUT /projects/:projectId/events/:eventId/leaderboards/:leaderboardId/users/:userId ka",
    deleteEventLeaderboardEntry:
      "DELETE /projects/:projectId/events/:eventId/leaderboards/:leaderboardId/users/:userId ka",
    addEventLeaderboardScore:
      "POST /projects/:projectId/events/:eventId/leaderboards/:leaderboardId/users/:userId/scores kar",
    listHiddenUsers: "GET /projects/:projectId/hidden-users ka",
    hideUser: "PUT /projects/:projectId/hidden-users/:userId ka",
    showUser: "DELETE /projects/:projectId/hidden-users/:userId ka",
  } satisfies Rows<Routes>,
};
