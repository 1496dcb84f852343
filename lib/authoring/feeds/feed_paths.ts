/** The addresses of feeds, and the header fields of their answers. */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { AppError } from "../../base/errors/mod.ts";

/** The owner of a feed. */
export type Owner = "projects" | "events";

/** Where the feeds of a project or event are. */
export const feedPaths = {
  projects: "/projects/:prefix/:projectId",
  events: "/events/:prefix/:eventId",
} as const;

type FeedParameters = { readonly prefix: string; readonly projectId?: string; readonly eventId?: string };

/** Validates the paths. */
export const FeedParams: Readonly<Record<Owner, v.GenericSchema<unknown, FeedParameters>>> = {
  projects: v.object({
    prefix: described("First two characters of the id"),
    projectId: described("Id of the project"),
  }),
  events: v.object({
    prefix: described("First two characters of the id"),
    eventId: described("Id of the event"),
  }),
};

/** Header fields of a feed. */
export const feedHeaders = {
  "cache-control": "public, max-age=5, stale-while-revalidate=25",
  // Feeds are for any page, whatever origins the other areas allow.
  "access-control-allow-origin": "*",
};

/** Returns the id that a path names. @throws {AppError} `not_found`: there is no such address. */
export function feedIdOf({ prefix, projectId, eventId }: FeedParameters): string {
  const id = projectId ?? eventId ?? "";
  if (!isUuid(id) || id !== id.toLowerCase() || prefix !== id.slice(0, 2)) throw unknownFeed();
  return id;
}

/** Creates the error for an address without a feed. */
export function unknownFeed(): AppError {
  const expected = "expected the first two characters of an id in lower case, then the id";
  return new AppError("not_found", `Cannot find the feed: ${expected}`);
}

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

function described(text: string) {
  return v.pipe(v.string(), v.description(text));
}
