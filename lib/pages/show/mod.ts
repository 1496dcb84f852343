/**
 * The show: the page on which fans take part.
 *
 * @module
 */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { listingsOf, type Sources } from "../../authoring/feeds/mod.ts";
import { AppError, type FieldError } from "../../base/errors/mod.ts";
import { digestOf, isLoopback } from "../../base/text/mod.ts";
import type { Project } from "../../fans/directory/mod.ts";
import type { ClientTokens } from "../../fans/identity/mod.ts";
import { type Area, open, route } from "../../http/mod.ts";
import { pageFields, pageFileFields } from "../../http/replies/replies.ts";
import { fileReply, type PageFile, type ReadPageFiles, readOnce, taggedReply } from "../shared/mod.ts";
import { pageText, screenViews } from "./html.ts";
import type { PageData } from "./page_data.ts";
import { pageFiles } from "./page_files.ts";
import { showFaults, shownBoards, showSettings } from "./settings.ts";

export type { PageFile } from "../shared/mod.ts";

/** Options of {@linkcode createShow}. */
export interface ShowOptions {
  /** Returns the files of the page, on the first request for one. @default those of the package */
  readonly files?: ReadPageFiles;
}

/** What the page of a platform needs. */
export interface ShowServices {
  readonly sources: Sources;
  readonly clientTokens: Pick<ClientTokens, "ofPage">;
  /** Tests if users of the project may log in with a mailed code. */
  readonly offersCodeLogin: (project: Project) => boolean;
  readonly publicUrl: string;
  /** Version of the platform. */
  readonly version: string;
  /** Unix ms. */
  readonly clock: () => number;
}

/** Makes the area for a platform, and checks the settings behind it. */
export interface CreateShow {
  (services: ShowServices): Area;
  /** Lists the faults of the section `show` in the settings of a project; `pointer` is the place of the settings. */
  readonly faults: (settings: Readonly<Record<string, unknown>>, pointer: string) => readonly FieldError[];
}

/** Most events that the page knows before its first request. */
const eventsMax = 24;

/** A sandboxed frame has no origin, so even its own files come from another one. */
const fileFields = {
  ...pageFileFields,
  "access-control-allow-origin": "*",
  "cross-origin-resource-policy": "cross-origin",
};
/** The script of pages that show it in a frame, whose address they keep. */
const embedFile = "embed.js";
const embedFields = { ...fileFields, "cache-control": "public, max-age=300" };
const definition = {
  method: "GET",
  auth: open,
  cache: "public",
  errors: ["not_found"],
} as const;
const unchanged = { 304: { description: "The caller has it, as If-None-Match says" } };

/** Creates the show, as the option `show` of a platform. */
export function createShow({ files = packagedFiles }: ShowOptions = {}): CreateShow {
  const read = readOnce(files);
  const create = (services: ShowServices): Area => ({
    name: "show",
    family: "problem",
    routes: [pageRoute(services, read), fileRoute(read)],
  });
  return Object.assign(create, { faults: showFaults });
}

function pageRoute(services: ShowServices, read: ReadPageFiles) {
  const id = (what: string) =>
    v.exactOptional(v.pipe(v.string(), v.description(`Id of the ${what} to show`)));
  return route({
    ...definition,
    isPage: true,
    path: "/show",
    operation: "getShow",
    summary: "Open the show",
    description: "The page on which fans take part in an event, or see what a project plans, in HTML.",
    query: v.object({
      event: id("event"),
      project: id("project"),
      view: v.exactOptional(
        v.pipe(v.string(), v.description("`screen` or `overlay`; any other value: the page of a fan")),
      ),
      preview: v.exactOptional(
        v.pipe(v.string(), v.description("1: for a frame of the studio, which says what it shows")),
      ),
    }),
    responses: {
      200: { description: "The page" },
      ...unchanged,
      404: { description: "The page that says that there is no such show" },
    },
    async handle({ request, query }) {
      const view = screenViews.find(each => each === query.view) ?? null;
      const isPreview = query.preview === "1";
      const data = await dataOf(services, { ...query, hasFans: view === null && !isPreview });
      const built = await read();
      const title = data === null ? "Show" : titleOf(data);
      const page = {
        title,
        view,
        script: namesOf(built, "main-")[0] ?? "",
        imports: namesOf(built, "chunk-"),
        styles: ["style-", ...(view === null ? [] : ["screen-"])].flatMap(each => namesOf(built, each)),
      };
      const origins = isPreview ? [] : (data?.hosts ?? []);
      const policy = policyFields(services.publicUrl, origins, isPreview);
      const headers = { ...policy, "cache-control": "no-cache" };
      const body = pageText({ ...page, data });
      if (data === null) return { status: 404 as const, text: body, headers };
      // The time alone is no other page, and neither is another signature of the same token.
      const clientToken = data.clientToken && { ...data.clientToken, token: "" };
      // The preview hears no other time than that of its page.
      const now = isPreview ? data.now : 0;
      const digest = await digestOf(pageText({ ...page, data: { ...data, now, clientToken } }));
      return taggedReply(
        request,
        { text: body, mediaType: "text/html", digest: digest.slice("sha256:".length, 39) },
        headers,
      );
    },
  });
}

function fileRoute(read: ReadPageFiles) {
  return route({
    ...definition,
    path: "/show/:file",
    operation: "getShowFile",
    summary: "Get a file of the show",
    description:
      "A script or style of the page. Its name has a digest, so that it never changes, but for `embed.js`, which defines the element `<grandstand-show>`.",
    params: v.object({ file: v.pipe(v.string(), v.description("Name of the file")) }),
    responses: { 200: { description: "The file" }, ...unchanged },
    handle: async ({ request, params }) =>
      fileReply(request, await read(), {
        name: params.file,
        headers: params.file === embedFile ? embedFields : fileFields,
      }),
  });
}

/** Returns what the page shows; null if there is no such event or project. */
async function dataOf(
  { sources, clientTokens, offersCodeLogin, clock, publicUrl, version }: ShowServices,
  {
    event,
    project,
    hasFans,
  }: { readonly event?: string; readonly project?: string; readonly hasFans: boolean },
): Promise<PageData | null> {
  const eventId = event !== undefined && isUuid(event) ? event.toLowerCase() : null;
  const owned = eventId === null ? null : await sources.event(eventId);
  const projectId = owned?.event.projectId ?? project?.toLowerCase() ?? "";
  const source = isUuid(projectId) ? await sources.project(projectId) : null;
  if (source === null || (event !== undefined && owned === null && project === undefined)) return null;
  const now = clock();
  const listings = listingsOf(source, now / 1_000, publicUrl).value;
  const { id, name, spaceId, organisationId, settings } = source.project;
  const { embed, ...shown } = showSettings(settings);
  const signsIn = hasFans && shown.signIn === "email";
  return {
    now,
    version,
    project: { id, name, spaceId, organisationId, locales: listings.project.locales },
    event: owned === null ? null : eventId,
    events: listings.events.slice(0, eventsMax).map(each => ({
      id: each.id,
      name: each.name,
      state: each.state,
      start_at: each.start_at,
      end_at: each.end_at,
    })),
    boards: shownBoards(settings),
    limitsPlaces: [settings, owned?.event.settings].some(each => each?.location !== undefined),
    // Without it the page lacks mailed codes, and nothing else.
    clientToken: signsIn ? await clientTokens.ofPage(source.project).catch(() => null) : null,
    codeLogin: signsIn && offersCodeLogin(source.project),
    hosts: embed?.origins ?? [],
    settings: shown,
  };
}

function titleOf({ event, events, project }: PageData): string {
  const found = events.find(({ id }) => id === event);
  return found === undefined ? project.name : `${found.name} · ${project.name}`;
}

function policyFields(
  publicUrl: string,
  origins: readonly string[],
  isIsolated: boolean,
): Readonly<Record<string, string>> {
  const local = isLoopback(new URL(publicUrl).hostname) ? " http://127.0.0.1:* http://localhost:*" : "";
  return pageFields(`'self' https: data:${local}`, {
    media: `'self' https:${local}`,
    frames: ["'self'", ...origins].join(" "),
    isIsolated,
  });
}

function namesOf(files: readonly PageFile[], beginning: string): readonly string[] {
  return files.map(({ name }) => name).filter(name => name.startsWith(beginning));
}

async function packagedFiles(): Promise<readonly PageFile[]> {
  if (pageFiles !== null) return pageFiles;
  throw new AppError("not_found", "Cannot show the page of the show: it is not built");
}
