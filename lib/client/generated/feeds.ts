/**
 * Operations of the area feeds. Made from the route tables by `npm run client-types`: change those.
 *
 * @module
 */

import type { Answer, Area, CallOptions } from "../area.ts";
import type { Leaderboard } from "./shared.ts";

/** `History` of the OpenAPI document. */
export interface History {
  /** Elements that were published and not revoked, oldest first */
  readonly timeline: readonly {
    /** Id */
    readonly id: string;
    /** Type of the content */
    readonly content_type: string;
    /** State */
    readonly state: string;
    /** Id of the wrapper that shows it */
    readonly parent?: string;
    /** When it was published, as ISO 8601 */
    readonly published_at_iso: string;
    /** When it closes or closed; absent while nothing ends it, as ISO 8601 */
    readonly closes_at_iso?: string;
    /** When it was changed last, as ISO 8601 */
    readonly updated_at_iso: string;
    /** Fields by locale and key; `all` for every locale */
    readonly custom_fields: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    /** Texts of the question by locale and key; `all` for every locale */
    readonly question: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    /** Fields of each option */
    readonly options: readonly Readonly<Record<string, Readonly<Record<string, unknown>>>>[];
    /** Number of the right option, counted from 1, once it is revealed; absent where there is none */
    readonly correct_option?: number;
    /** How votes for it are taken */
    readonly vote: {
      /** Fewest options of a vote */
      readonly min: number;
      /** Most options of a vote; 0 means no bound */
      readonly max: number;
      /** Most votes of a user; 0 means no bound */
      readonly perUser: number;
      /** True if only verified users may vote */
      readonly verified: boolean;
      /** True if a user sees the answer with the vote */
      readonly answerOnVote: boolean;
      /** When results are shown */
      readonly resultsMode: string;
    };
  }[];
  /** Settings of the event by locale and key */
  readonly config: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Counts the changes of the elements of the event */
  readonly version: number;
}

/** `LatestResults` of the OpenAPI document. */
export interface LatestResults {
  /** Elements with `include_in_latest_results_feed` whose results are public, latest first */
  readonly results: readonly {
    /** Id */
    readonly id: string;
    /** Type of the content */
    readonly content_type: string;
    /** When it was published, as ISO 8601 */
    readonly published_at_iso: string;
    /** When its results became public, as ISO 8601 */
    readonly results_revealed_at_iso: string;
    /** Texts of the question by locale and key; `all` for every locale */
    readonly question: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
    /** Fields of each option */
    readonly options: readonly Readonly<Record<string, Readonly<Record<string, unknown>>>>[];
    /** Number of actions that named it */
    readonly actions: number;
    /** Number of choices of each option, in order */
    readonly votes: readonly number[];
    /** Number of the right option, counted from 1, once it is revealed; absent where there is none */
    readonly correct_option?: number;
  }[];
  /** Counts the changes of the elements of the event */
  readonly version: number;
}

/** `Listings` of the OpenAPI document. */
export interface Listings {
  readonly project: {
    /** Id of the project */
    readonly uuid: string;
    /** Name */
    readonly name: string;
    /** Default delay of audio synchronisation, in seconds */
    readonly audio_sync_default_delay: number;
    /** Longest delay of audio synchronisation, in seconds */
    readonly audio_sync_max_delay: number;
    /** Id under which analytics knows the project */
    readonly tracking_id: string;
    /** Address of the page that shows the project */
    readonly embed: string;
    /** Content types that no history shows */
    readonly history_ignore: readonly string[];
    /** True if the content has languages */
    readonly is_localisation_supported: boolean;
    /** Languages of the content */
    readonly locales: readonly string[];
  };
  /** Every running event and every one on demand, with the nearest past and future ones, by begin */
  readonly events: readonly ({
    /** Id */
    readonly id: string;
    /** Name */
    readonly name: string;
    /** State */
    readonly state: string;
    /** When it begins or began, in Unix seconds */
    readonly start_at: number | null;
    /** `start_at`, as ISO 8601 */
    readonly start_at_iso: string | null;
    /** When it ends or ended, in Unix seconds */
    readonly end_at: number | null;
    /** `end_at`, as ISO 8601 */
    readonly end_at_iso: string | null;
    /** True from its begin on */
    readonly started: boolean;
    /** Address of its image: the setting `image_url` */
    readonly image_url: string | null;
    /** Its settings by key */
    readonly custom_fields: Readonly<Record<string, unknown>>;
    /** Changes whenever anything of this entry does */
    readonly digest: string;
    /** Seconds that its end was put off */
    readonly extra_time: number;
  })[];
  /** Files by type of service */
  readonly assets: Readonly<Record<string, readonly unknown[]>>;
}

/** `LiveEvent` of the OpenAPI document. */
export interface LiveEvent {
  /** When the document was made, in Unix milliseconds */
  readonly now: number;
  /** Version of the pages; a page of another one should load itself anew */
  readonly page: string;
  readonly history: History;
  readonly livestats: LiveStats;
  /** Leaderboards of the event, by id */
  readonly leaderboards: Readonly<Record<string, Leaderboard>>;
  /** Leaderboards of its project, by id */
  readonly projectLeaderboards: Readonly<Record<string, Leaderboard>>;
}

/** `LiveProject` of the OpenAPI document. */
export interface LiveProject {
  /** When the document was made, in Unix milliseconds */
  readonly now: number;
  /** Version of the pages; a page of another one should load itself anew */
  readonly page: string;
  readonly listings: Listings;
  /** Leaderboards of the project, by id */
  readonly leaderboards: Readonly<Record<string, Leaderboard>>;
}

/** `LiveStats` of the OpenAPI document. */
export interface LiveStats {
  /** Id */
  readonly id: string;
  /** State of the event */
  readonly state: string;
  /** Number of actions that named the event or one of its elements */
  readonly actions: number;
  /** Published elements, oldest first; with votes once their results are public */
  readonly elements: readonly {
    /** Id */
    readonly id: string;
    /** Number of actions that named it */
    readonly actions: number;
    /** Number of choices of each option, in order */
    readonly votes?: readonly number[];
  }[];
}

/** Operations of the area feeds. */
export interface FeedsOperations {
  /** Get the listing of a project. Lists the events of the project. Poll it every 5 s while an event runs, and every 30 s otherwise, or open the live stream. */
  getListings(input: {
    /** First two characters of the id */
    readonly prefix: string;
    /** Id of the project */
    readonly projectId: string;
  }, options?: CallOptions): Answer<Listings>;

  /** Get the history of an event. Shows the elements that were published, oldest first. Poll it every 5 s while an event runs, and every 30 s otherwise, or open the live stream. */
  getHistory(input: {
    /** First two characters of the id */
    readonly prefix: string;
    /** Id of the event */
    readonly eventId: string;
  }, options?: CallOptions): Answer<History>;

  /** Get the latest results of an event. Shows the elements whose results are public, latest first. */
  getLatestResults(input: {
    /** First two characters of the id */
    readonly prefix: string;
    /** Id of the event */
    readonly eventId: string;
  }, options?: CallOptions): Answer<LatestResults>;

  /** Get the live statistics of an event. Counts the actions that named the event or its elements, at most once each: figures for screens, no ledger. */
  getLiveStats(input: {
    /** First two characters of the id */
    readonly prefix: string;
    /** Id of the event */
    readonly eventId: string;
  }, options?: CallOptions): Answer<LiveStats>;

  /** Get everything that a page shows of an event. Returns the history, the live statistics and public leaderboards in one document. With `Accept: text/event-stream`, one stream for all of them begins with the document as the event `hello`; each later event has what changed. A part with `removed` has the changed items of its list only. */
  getLiveEvent(input: {
    /** First two characters of the id */
    readonly prefix: string;
    /** Id of the event */
    readonly eventId: string;
    /** Ids of up to 10 public leaderboards of the event, separated by commas */
    readonly boards?: string;
    /** Ids of up to 10 public leaderboards of its project, separated by commas */
    readonly projectBoards?: string;
    /** Number of users to list */
    readonly limit?: number;
  }, options?: CallOptions): Answer<LiveEvent>;
  /** Get everything that a page shows of an event, now and whenever it changes. Reconnects until the loop or the signal ends it. */
  watchEvent(input: {
    /** First two characters of the id */
    readonly prefix: string;
    /** Id of the event */
    readonly eventId: string;
    /** Ids of up to 10 public leaderboards of the event, separated by commas */
    readonly boards?: string;
    /** Ids of up to 10 public leaderboards of its project, separated by commas */
    readonly projectBoards?: string;
    /** Number of users to list */
    readonly limit?: number;
  }, options?: CallOptions): AsyncIterable<LiveEvent>;

  /** Get everything that a page shows of a project. Returns the listing and public leaderboards in one document. With `Accept: text/event-stream`, one stream for all of them begins with the document as the event `hello`; each later event has what changed. A part with `removed` has the changed items of its list only. */
  getLiveProject(input: {
    /** First two characters of the id */
    readonly prefix: string;
    /** Id of the project */
    readonly projectId: string;
    /** Ids of up to 10 public leaderboards of the project, separated by commas */
    readonly boards?: string;
    /** Number of users to list */
    readonly limit?: number;
  }, options?: CallOptions): Answer<LiveProject>;
  /** Get everything that a page shows of a project, now and whenever it changes. Reconnects until the loop or the signal ends it. */
  watchProject(input: {
    /** First two characters of the id */
    readonly prefix: string;
    /** Id of the project */
    readonly projectId: string;
    /** Ids of up to 10 public leaderboards of the project, separated by commas */
    readonly boards?: string;
    /** Number of users to list */
    readonly limit?: number;
  }, options?: CallOptions): AsyncIterable<LiveProject>;
}

/** The area feeds, for `createClient`. */
export const feeds: Area<FeedsOperations> = {
  rows: {
    getListings: "GET /projects/{prefix}/{projectId}/listings.json",
    getHistory: "GET /events/{prefix}/{eventId}/history.json",
    getLatestResults: "GET /events/{prefix}/{eventId}/latest_results.json",
    getLiveStats: "GET /events/{prefix}/{eventId}/livestats.json",
    getLiveEvent: "GET /events/{prefix}/{eventId}/live",
    watchEvent: "GET /events/{prefix}/{eventId}/live em",
    getLiveProject: "GET /projects/{prefix}/{projectId}/live",
    watchProject: "GET /projects/{prefix}/{projectId}/live em",
  },
};
