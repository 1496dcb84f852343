/**
 * Operations of the area leaderboards. Made from the route tables by `npm run client-types`: change those.
 *
 * @module
 */

import type { Answer, Area, CallOptions } from "../area.ts";
import type { Leaderboard, LeaderboardEntry, LeaderboardSeason } from "./shared.ts";

/** `HiddenUser` of the OpenAPI document. */
export interface HiddenUser {
  readonly userId: string;
  /** Unix seconds */
  readonly since: number;
}

/** `HiddenUserReply` of the OpenAPI document. */
export interface HiddenUserReply {
  readonly data: HiddenUser;
}

/** `HiddenUsersReply` of the OpenAPI document. */
export interface HiddenUsersReply {
  readonly data: readonly HiddenUser[];
}

/** `LeaderboardAddition` of the OpenAPI document. */
export interface LeaderboardAddition {
  /** Id of the addition; a repeated one adds nothing */
  readonly id: string;
  /** What to add to the score */
  readonly by: number;
  /** When the score was reached (RFC 3339); by default now */
  readonly achievedAt?: string;
}

/** `LeaderboardScore` of the OpenAPI document. */
export interface LeaderboardScore {
  /** The score, in the unit of the board */
  readonly score: number;
  /** How the score combines with the stored one */
  readonly operator?: "set" | "best" | "sum" | "latest";
  /** When the score was reached (RFC 3339); by default now */
  readonly achievedAt?: string;
  /** Only for `sum`, which needs it: the score is added once for an id */
  readonly id?: string;
}

/** `LeaderboardUser` of the OpenAPI document. */
export interface LeaderboardUser {
  readonly data: LeaderboardEntry;
  readonly meta: {
    /** Number of all entries of the leaderboard */
    readonly totalCount: number;
    /** Share of entries that rank here or below, in percent */
    readonly percentile: number;
    readonly rankStyle: "competition" | "dense" | "ordinal";
    readonly season?: LeaderboardSeason;
  };
}

/** Operations of the area leaderboards. */
export interface LeaderboardsOperations {
  /** List the leaders of a leaderboard of the project. Lists the leading users and those of `include`, or the users around one. A hidden leaderboard requires an API key of its organisation. With `Accept: text/event-stream` the list is sent as an event whenever it changes. */
  listProjectLeaderboard(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of a season, `current` or `previous`; by default the running season, else the one that ended last */
    readonly season?: string;
    /** Lists the users around this one in place of the leaders */
    readonly around?: string;
    /** Number of users to list */
    readonly limit?: number;
    /** Ids of up to 100 users to list too, separated by commas */
    readonly include?: string;
  }, options?: CallOptions): Answer<readonly LeaderboardEntry[], Leaderboard>;
  /** List the leaders of a leaderboard of the project, now and whenever it changes. Reconnects until the loop or the signal ends it. */
  watchProjectLeaderboard(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of a season, `current` or `previous`; by default the running season, else the one that ended last */
    readonly season?: string;
    /** Lists the users around this one in place of the leaders */
    readonly around?: string;
    /** Number of users to list */
    readonly limit?: number;
    /** Ids of up to 100 users to list too, separated by commas */
    readonly include?: string;
  }, options?: CallOptions): AsyncIterable<Leaderboard>;

  /** Get one user's entry on a leaderboard of the project. Returns the user's score, rank and percentile, also of a user whom lists leave out. */
  getProjectLeaderboardEntry(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of the user */
    readonly userId: string;
    /** Id of a season, `current` or `previous`; by default the running season, else the one that ended last */
    readonly season?: string;
  }, options?: CallOptions): Answer<LeaderboardEntry, LeaderboardUser>;

  /** Write a user's score on a leaderboard of the project. Writes to a leaderboard that is declared for direct scores. With seasons, the score counts in the season that contains its time. A repeated request changes nothing more: the operator `sum` needs an `id`, which adds once. */
  putProjectLeaderboardEntry(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of the user */
    readonly userId: string;
    readonly body: LeaderboardScore;
  }, options?: CallOptions): Answer<LeaderboardEntry, LeaderboardUser>;

  /** Remove a user's entry from a leaderboard of the project. Removes the entry from a leaderboard that is declared for direct scores. */
  deleteProjectLeaderboardEntry(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of the user */
    readonly userId: string;
    /** Id of a season, `current` or `previous`; by default the running season, else the one that ended last */
    readonly season?: string;
  }, options?: CallOptions): Answer<undefined>;

  /** Add to a user's score on a leaderboard of the project. Adds once for an `id`, also if the request is repeated or reaches two servers. Needs a leaderboard for direct scores whose operator is `sum`. It remembers the newest 100 ids of a user. With seasons, it adds to the season that contains `achievedAt`: send the same one again. */
  addProjectLeaderboardScore(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of the user */
    readonly userId: string;
    readonly body: LeaderboardAddition;
  }, options?: CallOptions): Answer<LeaderboardEntry, LeaderboardUser>;

  /** List the leaders of a leaderboard of the event. Lists the leading users and those of `include`, or the users around one. A hidden leaderboard requires an API key of its organisation. With `Accept: text/event-stream` the list is sent as an event whenever it changes. */
  listEventLeaderboard(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the event, `current` for the running event or `latest` for the newest finished one */
    readonly eventId: string | "current" | "latest";
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of a season, `current` or `previous`; by default the running season, else the one that ended last */
    readonly season?: string;
    /** Lists the users around this one in place of the leaders */
    readonly around?: string;
    /** Number of users to list */
    readonly limit?: number;
    /** Ids of up to 100 users to list too, separated by commas */
    readonly include?: string;
  }, options?: CallOptions): Answer<readonly LeaderboardEntry[], Leaderboard>;
  /** List the leaders of a leaderboard of the event, now and whenever it changes. Reconnects until the loop or the signal ends it. */
  watchEventLeaderboard(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the event, `current` for the running event or `latest` for the newest finished one */
    readonly eventId: string | "current" | "latest";
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of a season, `current` or `previous`; by default the running season, else the one that ended last */
    readonly season?: string;
    /** Lists the users around this one in place of the leaders */
    readonly around?: string;
    /** Number of users to list */
    readonly limit?: number;
    /** Ids of up to 100 users to list too, separated by commas */
    readonly include?: string;
  }, options?: CallOptions): AsyncIterable<Leaderboard>;

  /** Get one user's entry on a leaderboard of the event. Returns the user's score, rank and percentile, also of a user whom lists leave out. */
  getEventLeaderboardEntry(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the event, `current` for the running event or `latest` for the newest finished one */
    readonly eventId: string | "current" | "latest";
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of the user */
    readonly userId: string;
    /** Id of a season, `current` or `previous`; by default the running season, else the one that ended last */
    readonly season?: string;
  }, options?: CallOptions): Answer<LeaderboardEntry, LeaderboardUser>;

  /** Write a user's score on a leaderboard of the event. Writes to a leaderboard that is declared for direct scores. With seasons, the score counts in the season that contains its time. A repeated request changes nothing more: the operator `sum` needs an `id`, which adds once. */
  putEventLeaderboardEntry(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the event, `current` for the running event or `latest` for the newest finished one */
    readonly eventId: string | "current" | "latest";
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of the user */
    readonly userId: string;
    readonly body: LeaderboardScore;
  }, options?: CallOptions): Answer<LeaderboardEntry, LeaderboardUser>;

  /** Remove a user's entry from a leaderboard of the event. Removes the entry from a leaderboard that is declared for direct scores. */
  deleteEventLeaderboardEntry(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the event, `current` for the running event or `latest` for the newest finished one */
    readonly eventId: string | "current" | "latest";
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of the user */
    readonly userId: string;
    /** Id of a season, `current` or `previous`; by default the running season, else the one that ended last */
    readonly season?: string;
  }, options?: CallOptions): Answer<undefined>;

  /** Add to a user's score on a leaderboard of the event. Adds once for an `id`, also if the request is repeated or reaches two servers. Needs a leaderboard for direct scores whose operator is `sum`. It remembers the newest 100 ids of a user. With seasons, it adds to the season that contains `achievedAt`: send the same one again. */
  addEventLeaderboardScore(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the event, `current` for the running event or `latest` for the newest finished one */
    readonly eventId: string | "current" | "latest";
    /** Id of the leaderboard, as settings declare it */
    readonly leaderboardId: string;
    /** Id of the user */
    readonly userId: string;
    readonly body: LeaderboardAddition;
  }, options?: CallOptions): Answer<LeaderboardEntry, LeaderboardUser>;

  /** List hidden users. Lists the users whom the leaderboards of the project leave out, in the order in which they were hidden. */
  listHiddenUsers(input: {
    /** Id of the project */
    readonly projectId: string;
  }, options?: CallOptions): Answer<readonly HiddenUser[], HiddenUsersReply>;

  /** Hide a user. Leaves the user out of the lists of the project's leaderboards. All ranks stay as they are. */
  hideUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
  }, options?: CallOptions): Answer<HiddenUser, HiddenUserReply>;

  /** Show a user again. Lists the user on the project's leaderboards again. */
  showUser(input: {
    /** Id of the project */
    readonly projectId: string;
    /** Id of the user */
    readonly userId: string;
  }, options?: CallOptions): Answer<undefined>;
}

/** The area leaderboards, for `createClient`. */
export const leaderboards: Area<LeaderboardsOperations> = {
  rows: {
    listProjectLeaderboard: "GET /projects/{projectId}/leaderboards/{leaderboardId}",
    watchProjectLeaderboard: "GET /projects/{projectId}/leaderboards/{leaderboardId} e",
    getProjectLeaderboardEntry: "GET /projects/{projectId}/leaderboards/{leaderboardId}/users/{userId}",
    putProjectLeaderboardEntry: "PUT /projects/{projectId}/leaderboards/{leaderboardId}/users/{userId} ka",
    deleteProjectLeaderboardEntry: "DELETE /projects/{projectId}/leaderboards/{leaderboardId}/users/{userId} ka",
    addProjectLeaderboardScore: "POST /projects/{projectId}/leaderboards/{leaderboardId}/users/{userId}/scores kar",
    listEventLeaderboard: "GET /projects/{projectId}/events/{eventId}/leaderboards/{leaderboardId}",
    watchEventLeaderboard: "GET /projects/{projectId}/events/{eventId}/leaderboards/{leaderboardId} e",
    getEventLeaderboardEntry: "GET /projects/{projectId}/events/{eventId}/leaderboards/{leaderboardId}/users/{userId}",
    putEventLeaderboardEntry: "PUT /projects/{projectId}/events/{eventId}/leaderboards/{leaderboardId}/users/{userId} ka",
    deleteEventLeaderboardEntry: "DELETE /projects/{projectId}/events/{eventId}/leaderboards/{leaderboardId}/users/{userId} ka",
    addEventLeaderboardScore: "POST /projects/{projectId}/events/{eventId}/leaderboards/{leaderboardId}/users/{userId}/scores kar",
    listHiddenUsers: "GET /projects/{projectId}/hidden-users ka",
    hideUser: "PUT /projects/{projectId}/hidden-users/{userId} ka",
    showUser: "DELETE /projects/{projectId}/hidden-users/{userId} ka",
  },
};
