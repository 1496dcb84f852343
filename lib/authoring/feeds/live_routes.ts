/**
 * Everything that a page shows of an event or project, in one document and in one stream: on HTTP/1.1 a browser has six
 * connections to a server for all of its tabs.
 */

import * as v from "valibot";
import type { PublicBoards } from "../../fans/leaderboards/http/read_routes.ts";
import { limitParameter } from "../../fans/leaderboards/http/schema.ts";
import { BoardIdSchema } from "../../fans/leaderboards/settings/board_settings.ts";
import type { LivePart, LiveStreams, LiveView, Rendered } from "../../http/live_streams.ts";
import { type JsonText, jsonText, open, route, stream } from "../../http/mod.ts";
import { acceptsEvents, eventStreamHeaders } from "../../http/replies/replies.ts";
import { Cache } from "../../storage/background/mod.ts";
import { LiveEventSchema, LiveProjectSchema } from "./schemas.ts";
import { FeedParams, feedHeaders, feedIdOf, feedKey, feedPaths, unknownFeed } from "./sources.ts";

const boardsMax = 10;
/** Documents are read from the store as often as streams are. */
const kept = { entriesMax: 1_000, maxAgeMs: 900 };

export interface LiveOptions {
  readonly live: LiveStreams;
  readonly publicBoards: PublicBoards;
  /** The version of the pages: a page of another one should load itself anew. */
  readonly version: string;
  /** Unix ms. */
  readonly clock: () => number;
  /** Notes how many listen to an event in this process. */
  readonly watched: (eventId: string, count: number) => void;
}

/** Age in ms of a history that listeners are sent: they hear of a publication a second after it at most, however it is read meanwhile. */
const historyAgeMsMax = 100;

type ReadFeed = (id: string, maxAgeMs?: number) => Promise<object | null>;

interface LiveServices extends LiveOptions {
  readonly feeds: Readonly<Record<"listings" | "history" | "livestats", ReadFeed>>;
  readonly projectOf: (eventId: string) => Promise<string | null>;
}

/** A part of a page with the members of the document that lead to it. */
interface PagePart extends LivePart {
  readonly path: readonly [member: string, boardId?: string];
}

export function liveRoutes(services: LiveServices) {
  const pages = new Pages(services);
  const common = { method: "GET", auth: open, cache: "public", errors: ["not_found", "busy"] } as const;
  const description = (feeds: string): string =>
    `Returns ${feeds} and public leaderboards in one document. With \`Accept: text/event-stream\`, one stream for all of them ` +
    "begins with the document as the event `hello`; each later event has what changed. A part with `removed` has the changed items of its list only.";
  return [
    route({
      ...common,
      path: `${feedPaths.events}/live`,
      operation: "getLiveEvent",
      summary: "Get everything that a page shows of an event",
      description: description("the history, the live statistics"),
      params: FeedParams.events,
      query: v.object({
        boards: boardsParameter("the event"),
        projectBoards: boardsParameter("its project"),
        limit: limitParameter,
      }),
      responses: { 200: { description: "The page", schema: LiveEventSchema, isStreamable: true } },
      async handle({ request, info, params, query }) {
        const id = feedIdOf(params);
        const projectId = await services.projectOf(id);
        if (projectId === null) throw unknownFeed();
        const parts = [
          pages.feed("history", id),
          pages.feed("livestats", id),
          ...pages.boards("leaderboards", query.boards, { projectId, eventId: id }),
          ...pages.boards("projectLeaderboards", query.projectBoards, { projectId }),
        ];
        const members = ["leaderboards", "projectLeaderboards"];
        const page = { parts, members, limit: query.limit, stopping: info.stopping };
        return acceptsEvents(request.headers.get("accept")) ? pages.stream(page) : pages.document(page);
      },
    }),
    route({
      ...common,
      path: `${feedPaths.projects}/live`,
      operation: "getLiveProject",
      summary: "Get everything that a page shows of a project",
      description: description("the listing"),
      params: FeedParams.projects,
      query: v.object({ boards: boardsParameter("the project"), limit: limitParameter }),
      responses: { 200: { description: "The page", schema: LiveProjectSchema, isStreamable: true } },
      async handle({ request, info, params, query }) {
        const projectId = feedIdOf(params);
        const parts = [
          pages.feed("listings", projectId),
          ...pages.boards("leaderboards", query.boards, { projectId }),
        ];
        const page = { parts, members: ["leaderboards"], limit: query.limit, stopping: info.stopping };
        return acceptsEvents(request.headers.get("accept")) ? pages.stream(page) : pages.document(page);
      },
    }),
  ];
}

function boardsParameter(owner: string) {
  return v.optional(
    v.pipe(
      v.string(),
      v.description(`Ids of up to ${boardsMax} public leaderboards of ${owner}, separated by commas`),
      v.transform(text => (text === "" ? [] : [...new Set(text.split(","))])),
      v.maxLength(boardsMax, `Expected at most ${boardsMax} ids of leaderboards`),
      v.array(BoardIdSchema),
    ),
    "",
  );
}

interface Page {
  readonly parts: readonly PagePart[];
  /** The members of the document that have boards by id. */
  readonly members: readonly string[];
  readonly limit: number;
  readonly stopping: AbortSignal | undefined;
}

class Pages {
  readonly #services: LiveServices;
  readonly #views: Cache<LiveView>;

  constructor(services: LiveServices) {
    this.#services = services;
    this.#views = new Cache({ ...kept, clock: services.clock });
  }

  feed(name: "listings" | "history" | "livestats", id: string): PagePart {
    const { feeds, live, watched } = this.#services;
    const read = feeds[name];
    const key = feedKey(name, id);
    return {
      path: [name],
      name: key,
      event: name,
      wrap: data => `{"${name}":${data}}`,
      async locate() {
        const feed = await read(id);
        if (feed === null) throw unknownFeed();
        const listeners = name === "history" ? live.listenersOf(key) : 0;
        if (listeners > 0) watched(id, listeners);
        return {
          key,
          async read(last) {
            // An event that has been removed since is missed with the next look.
            const newest = (name === "history" && (await read(id, historyAgeMsMax))) || feed;
            return last instanceof FeedView && last.feed === newest ? last : new FeedView(newest, last);
          },
        };
      },
    };
  }

  boards(
    member: string,
    ids: readonly string[],
    owner: { readonly projectId: string; readonly eventId?: string },
  ): readonly PagePart[] {
    return ids.map(leaderboardId => ({
      ...this.#services.publicBoards(
        { ...owner, leaderboardId },
        data => `{"${member}":{"${leaderboardId}":${data}}}`,
      ),
      path: [member, leaderboardId],
    }));
  }

  async document({ parts, members, limit }: Page) {
    const contents = await Promise.all(
      parts.map(async part => {
        const source = await part.locate();
        const view = await this.#views.getOrLoad(source.key, async () => ({
          value: await source.read(null),
        }));
        return view.render(limit).data;
      }),
    );
    return jsonText(this.#textOf(parts, members, contents), { ...feedHeaders, vary: "accept" });
  }

  async stream({ parts, members, limit, stopping }: Page) {
    const first = (contents: readonly string[]) => ({
      event: "hello",
      data: this.#textOf(parts, members, contents),
    });
    const body = await this.#services.live.open({ parts, limit, stopping, first });
    const { "access-control-allow-origin": anyOrigin } = feedHeaders;
    return stream(200, body, { ...eventStreamHeaders, "access-control-allow-origin": anyOrigin });
  }

  #textOf(
    parts: readonly PagePart[],
    members: readonly string[],
    contents: readonly string[],
  ): JsonText<never> {
    const boards = new Map<string, string[]>(members.map(member => [member, []]));
    let text = JSON.stringify({ now: this.#services.clock(), page: this.#services.version }).slice(0, -1);
    for (const [index, { path }] of parts.entries()) {
      const [member, boardId] = path;
      if (boardId === undefined) text += `,"${member}":${contents[index]}`;
      else boards.get(member)?.push(`"${boardId}":${contents[index]}`);
    }
    for (const [member, texts] of boards) text += `,"${member}":{${texts.join()}}`;
    return `${text}}` as JsonText<never>;
  }
}

type Item = { readonly id: string };

/** A feed, whose items of one list have ids. */
export class FeedView implements LiveView {
  readonly feed: object;
  readonly #rendered: Rendered;
  /** The texts of the items by id, in order. */
  readonly #items: ReadonlyMap<string, string>;

  /** @param last The view that was shown before. */
  constructor(feed: object, last: LiveView | null) {
    this.feed = feed;
    const [list, items] = listOf(feed);
    this.#items = new Map(items.map(item => [item.id, JSON.stringify(item)]));
    const data = JSON.stringify(feed);
    const change = last instanceof FeedView ? this.#changeSince(last, list) : null;
    this.#rendered = { shown: data, data, ...(change === null ? {} : { change }) };
  }

  render(): Rendered {
    return this.#rendered;
  }

  /** Returns what replaces or follows items of the last view; null if others have moved, which only the whole shows. */
  #changeSince(last: FeedView, list: string): Rendered["change"] | null {
    const ids = [...this.#items.keys()];
    const kept = [...last.#items.keys()].filter(id => this.#items.has(id));
    if (kept.some((id, index) => ids[index] !== id)) return null;
    const removed = [...last.#items.keys()].filter(id => !this.#items.has(id));
    const changed = [...this.#items].filter(([id, text]) => last.#items.get(id) !== text);
    const rest = JSON.stringify({ ...this.feed, [list]: undefined, removed }).slice(1);
    const texts = changed.map(([, text]) => text).join();
    return { from: last.#rendered.shown, data: `{"${list}":[${texts}],${rest}` };
  }
}

function listOf(feed: object): [name: string, items: readonly Item[]] {
  const found = Object.entries(feed).find(([, member]) => Array.isArray(member));
  return found ?? ["items", []];
}
