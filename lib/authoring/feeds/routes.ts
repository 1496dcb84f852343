/**
 * The routes of the feeds: pure functions of records and the clock, whose texts a process keeps for as long as neither
 * changes.
 */

import type * as v from "valibot";
import { digestOf } from "../../base/text/mod.ts";
import { empty, type JsonText, jsonText, open, route } from "../../http/mod.ts";
import { isNotModified } from "../../http/replies/byte_reply.ts";
import { memoize } from "../../storage/background/mod.ts";
import { historyOf, latestResultsOf, listingsOf, liveStatsOf, type Timed } from "./event_feeds.ts";
import { type LiveOptions, liveRoutes } from "./live_routes.ts";
import { HistorySchema, LatestResultsSchema, ListingsSchema, LiveStatsSchema } from "./schemas.ts";
import type { ProjectSource, Sources } from "./sources.ts";
import { type FeedOwner, FeedParams, feedHeaders, feedIdOf, feedPaths, unknownFeed } from "./sources.ts";

/** Builds the routes of the feeds, alone and in live streams. */
export function feedRoutes(options: LiveOptions & { readonly sources: Sources; readonly publicUrl: string }) {
  const { sources, clock, publicUrl } = options;
  const listings = keeper(clock, (source: ProjectSource, now) => listingsOf(source, now, publicUrl));
  const history = keeper(clock, historyOf);
  const latest = keeper(clock, latestResultsOf);
  const live = keeper(clock, liveStatsOf);
  const readListings = async (id: string) => shown(await sources.project(id), listings);
  const readHistory = async (id: string, maxAgeMs?: number) =>
    shown(await sources.event(id, maxAgeMs), history);
  const readLiveStats = async (id: string) => shown(await sources.counted(id), live);
  return [
    feedRoute("projects", `${feedPaths.projects}/listings.json`, {
      operation: "getListings",
      summary: "Get the listing of a project",
      description: `Lists the events of the project. ${pollText}`,
      schema: ListingsSchema,
      read: readListings,
    }),
    feedRoute("events", `${feedPaths.events}/history.json`, {
      operation: "getHistory",
      summary: "Get the history of an event",
      description: `Shows the elements that were published, oldest first. ${pollText}`,
      schema: HistorySchema,
      read: readHistory,
    }),
    feedRoute("events", `${feedPaths.events}/latest_results.json`, {
      operation: "getLatestResults",
      summary: "Get the latest results of an event",
      description: "Shows the elements whose results are public, latest first.",
      schema: LatestResultsSchema,
      read: async id => shown(await sources.counted(id), latest),
    }),
    feedRoute("events", `${feedPaths.events}/livestats.json`, {
      operation: "getLiveStats",
      summary: "Get the live statistics of an event",
      description:
        "Counts the actions that named the event or its elements, at most once each: figures for screens, no ledger.",
      schema: LiveStatsSchema,
      read: readLiveStats,
    }),
    ...liveRoutes({
      ...options,
      projectOf: async id => (await sources.event(id))?.event.projectId ?? null,
      feeds: { listings: readListings, history: readHistory, livestats: readLiveStats },
    }),
  ];
}

function shown<S, T>(source: S | null, show: (source: S) => T): T | null {
  return source === null ? null : show(source);
}

/** Elements are open for as little as some seconds. */
const pollText = "Poll it every 5 s while an event runs, and every 30 s otherwise, or open the live stream.";

interface FeedDefinition<O extends string, S extends v.GenericSchema> {
  readonly operation: O;
  readonly summary: string;
  readonly description: string;
  readonly schema: S;
  /** Returns the feed of a project or event, or null if there is none. */
  readonly read: (id: string) => Promise<object | null>;
}

function feedRoute<const U extends `/${string}`, const O extends string, S extends v.GenericSchema>(
  owner: FeedOwner,
  path: U,
  { schema, read, ...texts }: FeedDefinition<O, S>,
) {
  return route({
    ...texts,
    method: "GET",
    path,
    auth: open,
    cache: "public",
    params: FeedParams[owner],
    responses: {
      200: { description: "The feed", schema },
      304: { description: "The caller has it already, as If-None-Match says" },
    },
    errors: ["not_found"],
    async handle({ request, params }) {
      const value = await read(feedIdOf(params));
      if (value === null) throw unknownFeed();
      const feed = await rendered(value);
      return isNotModified(request, feed.etag) ? feed.unchanged : feed.reply;
    },
  });
}

/** Keeps what is built from a source for as long as the source lives and the clock does not change it. */
function keeper<S extends object, T extends object>(
  clock: () => number,
  build: (source: S, now: number) => Timed<T>,
): (source: S) => T {
  const kept = new WeakMap<S, { readonly until: number; readonly value: T }>();
  return source => {
    const now = clock();
    const last = kept.get(source);
    if (last !== undefined && now < last.until) return last.value;
    const { value, validUntil } = build(source, now / 1_000);
    kept.set(source, { value, until: (validUntil ?? Number.POSITIVE_INFINITY) * 1_000 });
    return value;
  };
}

const rendered = memoize(async (value: object) => {
  const text = JSON.stringify(value) as JsonText<unknown>;
  const etag = `"${(await digestOf(text)).slice("sha256:".length, 39)}"`;
  const headers = { etag, ...feedHeaders };
  return { etag, reply: jsonText(text, headers), unchanged: empty(304, headers) };
});
