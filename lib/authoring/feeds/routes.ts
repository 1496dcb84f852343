/**
 * The routes of the feeds: pure functions of records and the clock, whose texts a process keeps for as long as neither changes.
 *
 * @module
 */

import type * as v from "valibot";
import { digestOf } from "../../base/text/mod.ts";
import { chain, empty, type JsonText, jsonText, open, route } from "../../http/mod.ts";
import { isNotModified } from "../../http/replies/byte_reply.ts";
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
  const readListings = (id: string) => chain(sources.project(id), source => source && listings(source));
  const readHistory = (id: string) => chain(sources.event(id), source => source && history(source));
  const readLiveStats = (id: string) => chain(sources.counted(id), source => source && live(source));
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
      read: id => chain(sources.counted(id), source => source && latest(source)),
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
      projectOf: id => chain(sources.event(id), source => source?.event.projectId ?? null),
      feeds: { listings: readListings, history: readHistory, livestats: readLiveStats },
    }),
  ];
}

/** Elements are open for as little as some seconds. */
const pollText = "Poll it every 5 s while an event runs, and every 30 s otherwise, or open the live stream.";

/** A feed as it is sent. */
type Feed = Awaited<ReturnType<typeof rendered>>;

interface FeedDefinition<O extends string, S extends v.GenericSchema> {
  readonly operation: O;
  readonly summary: string;
  readonly description: string;
  readonly schema: S;
  /** Returns the feed of a project or event, or null if there is none. */
  readonly read: (id: string) => object | null | Promise<object | null>;
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
    handle: ({ request, params }) =>
      chain(read(feedIdOf(params)), value => {
        if (value === null) throw unknownFeed();
        return chain(feedOf(value), feed =>
          isNotModified(request, feed.etag) ? feed.unchanged : feed.reply,
        );
      }),
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

const feeds = new WeakMap<object, Feed | Promise<Feed>>();

/** Renders a feed; without a promise once that is done. */
function feedOf(value: object): Feed | Promise<Feed> {
  const kept = feeds.get(value);
  if (kept !== undefined) return kept;
  const made = rendered(JSON.stringify(value) as JsonText<unknown>).then(feed => {
    feeds.set(value, feed);
    return feed;
  });
  feeds.set(value, made);
  return made;
}

async function rendered(text: JsonText<unknown>) {
  const etag = `"${(await digestOf(text)).slice("sha256:".length, 39)}"`;
  const headers = { etag, ...feedHeaders };
  return { etag, reply: jsonText(text, headers), unchanged: empty(304, headers) };
}
