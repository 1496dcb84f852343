/**
 * The routes of the feeds: pure functions of records and the clock, whose texts a process keeps for as long as neither changes.
 *
 * @module
 */

import * as v from "valibot";
import { isUuid } from "../auth/crypto/mod.ts";
import { digestOf } from "../authoring/digest.ts";
import { AppError } from "../errors/mod.ts";
import {
  type AnyRoute,
  chain,
  empty,
  isNotModified,
  type JsonText,
  jsonText,
  open,
  route,
} from "../http/mod.ts";
import { historyOf, latestResultsOf, liveStatsOf } from "./event_feeds.ts";
import { listingsOf, type Timed } from "./listings.ts";
import { HistorySchema, LatestResultsSchema, ListingsSchema, LiveStatsSchema } from "./schemas.ts";
import { type ProjectSource, Sources, type SourcesOptions } from "./sources.ts";

type Owner = "projects" | "events";

function urlOf(publicUrl: string, owner: Owner, id: string, name: string): string {
  return `${publicUrl}/${owner}/${id.slice(0, 2)}/${id}/${name}.json`;
}

/** Returns the addresses of the feeds of a project. */
export function projectFeedUrls(publicUrl: string, id: string): Readonly<Record<string, string>> {
  return { listings: urlOf(publicUrl, "projects", id, "listings") };
}

/** Returns the addresses of the feeds of an event. */
export function eventFeedUrls(publicUrl: string, id: string): Readonly<Record<string, string>> {
  const of = (name: string): string => urlOf(publicUrl, "events", id, name);
  return { history: of("history"), latest_results: of("latest_results"), livestats: of("livestats") };
}

/** Builds the routes of the feeds. */
export function feedRoutes(options: SourcesOptions & { readonly publicUrl: string }): readonly AnyRoute[] {
  const { clock, publicUrl } = options;
  const sources = new Sources(options);
  const listings = keeper(clock, (source: ProjectSource, now) => listingsOf(source, now, publicUrl));
  const history = keeper(clock, historyOf);
  const latest = keeper(clock, latestResultsOf);
  const live = keeper(clock, liveStatsOf);
  return [
    feedRoute("projects", "listings", {
      operation: "getListings",
      summary: "Get the listing of a project",
      description: "Lists the events of the project. Poll feeds every 30 s at most.",
      schema: ListingsSchema,
      read: id => chain(sources.project(id), source => source && listings(source)),
    }),
    feedRoute("events", "history", {
      operation: "getHistory",
      summary: "Get the history of an event",
      description: "Shows the elements that were published, oldest first.",
      schema: HistorySchema,
      read: id => chain(sources.event(id), source => source && history(source)),
    }),
    feedRoute("events", "latest_results", {
      operation: "getLatestResults",
      summary: "Get the latest results of an event",
      description: "Shows the elements whose results are public, latest first.",
      schema: LatestResultsSchema,
      read: id => chain(sources.counted(id), source => source && latest(source)),
    }),
    feedRoute("events", "livestats", {
      operation: "getLiveStats",
      summary: "Get the live statistics of an event",
      description:
        "Counts the actions that named the event or its elements, at most once each: figures for screens, no ledger.",
      schema: LiveStatsSchema,
      read: id => chain(sources.counted(id), source => source && live(source)),
    }),
  ];
}

/** A feed as it is sent. */
type Feed = Awaited<ReturnType<typeof feedOf>>;

interface FeedDefinition {
  readonly operation: string;
  readonly summary: string;
  readonly description: string;
  readonly schema: v.GenericSchema;
  /** Returns the feed of a project or event, or null if there is none. */
  readonly read: (id: string) => Feed | null | Promise<Feed | null>;
}

const Params = {
  projects: v.object({
    prefix: described("First two characters of the id"),
    projectId: described("Id of the project"),
  }),
  events: v.object({
    prefix: described("First two characters of the id"),
    eventId: described("Id of the event"),
  }),
};

function described(text: string) {
  return v.pipe(v.string(), v.description(text));
}

function feedRoute(owner: Owner, name: string, { schema, read, ...texts }: FeedDefinition): AnyRoute {
  return route({
    ...texts,
    method: "GET",
    path: `/${owner}/:prefix/:${owner === "projects" ? "projectId" : "eventId"}/${name}.json`,
    auth: open,
    cache: "public",
    params: Params[owner] as v.GenericSchema<unknown, Readonly<Record<string, string>>>,
    responses: {
      200: { description: "The feed", schema },
      304: { description: "The caller has it already, as If-None-Match says" },
    },
    errors: ["not_found"],
    handle({ request, params: { prefix, projectId, eventId } }) {
      const id = projectId ?? eventId ?? "";
      if (!isUuid(id) || id !== id.toLowerCase() || prefix !== id.slice(0, 2)) throw unknownFeed();
      return chain(read(id), feed => {
        if (feed === null) throw unknownFeed();
        return isNotModified(request, feed.etag) ? feed.unchanged : feed.reply;
      });
    },
  });
}

function unknownFeed(): AppError {
  const expected = "expected the first two characters of an id in lower case, then the id";
  return new AppError("not_found", `Cannot find the feed: ${expected}`);
}

/** Makes feeds, and keeps that of a source for as long as the source lives and the clock does not change it. */
function keeper<S extends object>(
  clock: () => number,
  build: (source: S, now: number) => Timed<unknown>,
): (source: S) => Feed | Promise<Feed> {
  const kept = new WeakMap<S, { readonly until: number; feed: Feed | Promise<Feed> }>();
  return source => {
    const now = clock();
    const last = kept.get(source);
    if (last !== undefined && now < last.until) return last.feed;
    const { value, validUntil } = build(source, now / 1_000);
    const made = feedOf(JSON.stringify(value) as JsonText<unknown>);
    const next = {
      until: (validUntil ?? Number.POSITIVE_INFINITY) * 1_000,
      feed: made as Feed | Promise<Feed>,
    };
    kept.set(source, next);
    return made.then(feed => {
      next.feed = feed;
      return feed;
    });
  };
}

async function feedOf(text: JsonText<unknown>) {
  const etag = `"${(await digestOf(text)).slice("sha256:".length, 39)}"`;
  const headers = {
    etag,
    "cache-control": "public, max-age=5, stale-while-revalidate=25",
    // Feeds are for any page, whatever origins the other areas allow.
    "access-control-allow-origin": "*",
  };
  return { etag, reply: jsonText(text, headers), unchanged: empty(304, headers) };
}
