/**
 * The routes that read boards, as JSON and as event streams.
 *
 * Lists of leaders are the hottest answer of the platform: joining the text of ten entries from cached parts takes 4 of 20 µs
 * less than `JSON.stringify`.
 */

import type * as v from "valibot";
import type { ApiKeyPrincipal } from "../../../auth/mod.ts";
import { isoTime } from "../../../base/calendar/mod.ts";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import type { LivePart, LiveSource, LiveStreams } from "../../../http/live_streams.ts";
import {
  type Call,
  chain,
  type Guard,
  type Immutable,
  type JsonText,
  json,
  jsonText,
  open,
  route,
  stream,
} from "../../../http/mod.ts";
import { acceptsEvents, eventStreamHeaders, eventStreamType } from "../../../http/replies/replies.ts";
import { Batcher, Cache, memoize } from "../../../storage/background/mod.ts";
import type { HiddenUsers } from "../ranking/hidden_users.ts";
import {
  type RankedEntry,
  type Ranking,
  readAround,
  readRanking,
  readUserEntry,
} from "../ranking/ranking.ts";
import { type LeaderboardServices, type ResolvedBoard, resolveBoard } from "../scores/resolve_board.ts";
import type { Retention } from "../scores/retention.ts";
import {
  type BoardMeta,
  type BoardParams,
  type BoardScope,
  EntryQuerySchema,
  type LeaderboardEntry,
  type ListQuery,
  ListQuerySchema,
  ListSchema,
  limitMax,
  OneSchema,
} from "./schema.ts";

type PublicProfile = LeaderboardEntry["publicProfile"];
type ListText = JsonText<v.InferOutput<typeof ListSchema>>;
type ListReply = ReturnType<typeof jsonText<v.InferOutput<typeof ListSchema>>>;

/** Services of the routes of leaderboards. */
export interface LeaderboardContext extends LeaderboardServices {
  readonly live: LiveStreams;
  readonly hiddenUsers: HiddenUsers;
  readonly retention: Pick<Retention, "track">;
  /** Finds the public profiles of users. A cached profile is the same object. */
  readonly publicProfiles: (
    project: Pick<ResolvedBoard["project"], "id" | "organisationId">,
    userIds: readonly string[],
  ) => PublicProfiles | Promise<PublicProfiles>;
  /** Requires an API key. Keys of the project's organisation may read its hidden boards. */
  readonly keyHolder: Guard<ApiKeyPrincipal>;
  /** Requires an API key that may write rewards. */
  readonly rewardsWriter: Guard<ApiKeyPrincipal>;
  /** Requires an API key that may read users. */
  readonly usersReader: Guard<ApiKeyPrincipal>;
  /** Requires an API key that may change users. */
  readonly usersWriter: Guard<ApiKeyPrincipal>;
}

const shared = { "cache-control": "public, max-age=1" };
const unshared = { "cache-control": "no-store" };
// The same address serves event streams, which a cache must not mix up with lists.
const sharedList = { ...shared, vary: "accept" };

export function readRoutes<const U extends string, N extends BoardScope["name"]>(
  context: LeaderboardContext,
  { path, name, board, entry }: BoardScope<U, N>,
) {
  const readLeaders = createLeaderReader(context);
  const common = {
    method: "GET",
    auth: open,
    cache: "public",
    errors: ["not_found", "validation_failed", "missing_api_key", "invalid_api_key", "busy"],
  } as const;
  return [
    route({
      ...common,
      path: `/${path}`,
      operation: `list${name}Leaderboard`,
      summary: `List the leaders of a leaderboard of the ${name.toLowerCase()}`,
      description:
        "Lists the leading users and those of `include`, or the users around one. A hidden leaderboard requires an API key of " +
        `its organisation. With \`Accept: ${eventStreamType}\` the list is sent as an event whenever it changes.`,
      params: board,
      query: ListQuerySchema,
      responses: { 200: { description: "The entries in order", schema: ListSchema, isStreamable: true } },
      handle: ({ request, info, params, query }) => {
        if (acceptsEvents(request.headers.get("accept")))
          return openStream(context, { request, info, params, query });
        return chain(readableBoard(context, params, { request, season: query.season }), board => {
          const { around, include, limit } = query;
          const isOfLeaders = around === undefined && include.length === 0;
          return isOfLeaders ? readLeaders(board, limit) : readList(context, board, query);
        });
      },
    }),
    route({
      ...common,
      path: `/${path}/users/:userId`,
      operation: `get${name}LeaderboardEntry`,
      summary: `Get one user's entry on a leaderboard of the ${name.toLowerCase()}`,
      description: "Returns the user's score, rank and percentile, also of a user whom lists leave out.",
      params: entry,
      query: EntryQuerySchema,
      responses: { 200: { description: "The entry", schema: OneSchema } },
      handle: async ({ request, params, query }) => {
        const board = await readableBoard(context, params, { request, season: query.season });
        const headers = board.declaration.visibility === "public" ? shared : unshared;
        return json(200, await readOne(context, board, params.userId), headers);
      },
    }),
  ];
}

/**
 * Resolves the board of a request and checks that its sender may read it.
 *
 * @throws {AppError} the errors of `resolveBoard`; `not_found` for a hidden board without an API key of its organisation;
 *   `missing_api_key` for a key without its secret, `invalid_api_key` for an invalid key.
 */
function readableBoard(
  context: LeaderboardContext,
  { projectId, eventId, leaderboardId }: BoardParams,
  { season, request }: { readonly season?: string | undefined; readonly request: Request },
): ResolvedBoard | Promise<ResolvedBoard> {
  const path = { projectId, eventId: eventId ?? null, leaderboardId };
  return chain(resolveBoard(context.directory, path, { now: context.clock(), season }), board =>
    board.declaration.visibility === "public" ? board : authorizeHidden(context, board, request),
  );
}

async function authorizeHidden(
  { keyHolder }: LeaderboardContext,
  board: ResolvedBoard,
  request: Request,
): Promise<ResolvedBoard> {
  if (request.headers.get("x-api-key") !== null) {
    const { organisationId } = await keyHolder.authenticate({ request, info: {}, params: {}, query: {} });
    if (organisationId === board.project.organisationId) return board;
  }
  throw new AppError("not_found", "Cannot find the leaderboard");
}

/** Public profiles in the order of their users. */
export interface PublicProfiles {
  readonly profiles: readonly PublicProfile[];
  /** Unix ms from which one of them is too old. */
  readonly until: number;
}

interface Listing extends Ranking, PublicProfiles {
  readonly hidden: ReadonlySet<string>;
  /** Whether it is shown to many, so that the texts of its users are cached. */
  readonly isShared: boolean;
}

/**
 * Reads the entries that a query selects.
 *
 * @throws {AppError} `not_found`: the user of `around` has no entry.
 */
async function readListing(
  context: LeaderboardContext,
  { project, location }: ResolvedBoard,
  { limit, include, around }: Pick<ListQuery, "limit" | "include" | "around">,
): Promise<Listing> {
  const { store, hiddenUsers, publicProfiles } = context;
  const hidden = await hiddenUsers.of(project.id);
  const ranking =
    around === undefined
      ? await readRanking(store, location, { limit, include, hidden })
      : await readAround(store, location, { userId: around, limit, hidden });
  if (ranking === null) throw noEntry();
  const userIds = ranking.entries.map(({ userId }) => userId);
  const profiles = await publicProfiles(project, userIds);
  return { ...ranking, ...profiles, hidden, isShared: around === undefined };
}

async function readList(
  context: LeaderboardContext,
  board: ResolvedBoard,
  query: Pick<ListQuery, "limit" | "include" | "around">,
): Promise<ListReply> {
  return listReply(board, await readListing(context, board, query));
}

function listReply(board: ResolvedBoard, listing: Listing): ListReply {
  const headers = board.declaration.visibility === "public" ? sharedList : unshared;
  return jsonText(listText(board, entriesText(listing), listing.totalCount), headers);
}

interface FinishedList {
  readonly reply: ListReply;
  readonly board: ResolvedBoard;
  readonly hidden: ReadonlySet<string>;
  readonly until: number;
  /** Number of the last change of the board before it was read. */
  readonly change: number;
}

const finishedMax = 512;

/**
 * Creates the reader of leaders. Where the store knows that a board is unchanged, its list is answered again as it is. Requests that
 * come while a list is read share the next read, which begins after all of them: a client that has written a score sees it in its
 * next list.
 */
function createLeaderReader(
  context: LeaderboardContext,
): (board: ResolvedBoard, limit: number) => ListReply | Promise<ListReply> {
  const { store, hiddenUsers, clock } = context;
  const finished = new Cache<FinishedList>({ entriesMax: finishedMax });

  function lastChange({ location: { shards } }: ResolvedBoard): number | undefined {
    return shards.length === 1 ? store.lastChange?.(shards[0]) : undefined;
  }

  function isCurrent({ board, hidden, until, change }: FinishedList): boolean {
    const isUnchanged = change === lastChange(board) && hidden === hiddenUsers.of(board.project.id);
    return isUnchanged && clock() < until;
  }

  const reading = new Batcher<{ readonly board: ResolvedBoard; readonly limit: number }, ListReply>({
    async run(key, requests) {
      // The newest request has the newest settings.
      const last = requests.at(-1);
      if (last === undefined) return [];
      const { board, limit } = last;
      const change = lastChange(board);
      const listing = await readListing(context, board, { limit, include: [] });
      const reply = listReply(board, listing);
      const { hidden, until } = listing;
      if (change !== undefined) finished.set(key, { reply, board, hidden, until, change });
      return requests.map(() => reply);
    },
  });

  return (board, limit) => {
    const key = `${limit} ${board.location.shards[0]}`;
    const known = finished.get(key);
    if (known?.board === board && isCurrent(known)) return known.reply;
    return reading.add(key, { board, limit });
  };
}

/**
 * All members of an answer, the optional ones too: a member that a schema gains is missing here, and the compiler says so.
 */
type Members<T> = { readonly [K in keyof Required<T>]: T[K] };

/** Renders the first `count` entries of a listing, separated by commas. */
function entriesText({ entries, profiles, isShared }: Listing, count: number = entries.length): string {
  const textOf = isShared ? cachedUserText : userText;
  let text = "";
  for (let index = 0; index < count; index++) {
    const entry = entries[index];
    const profile = profiles[index];
    if (entry === undefined || profile === undefined) break;
    text += entryText(index === 0 ? "" : ",", entry, textOf(entry.userId, profile));
  }
  return text;
}

/** Renders an entry. The properties that change with the board stand here, as numbers, and those of the user follow. */
function entryText(separator: string, { rank, score }: RankedEntry, userText: string) {
  return `${separator}{"rank":${rank},"score":${score},${userText}` as const;
}

/** The names of the numbers in a JSON text, as the compiler knows it. */
type NumbersIn<T> = T extends `${string}"${infer Name}":${number},${infer Rest}`
  ? Name | NumbersIn<Rest>
  : never;

/** The properties that {@linkcode entryText} leaves to the user's text, so that none of the schema is in neither. */
type UserMembers = Members<Omit<LeaderboardEntry, NumbersIn<ReturnType<typeof entryText>>>>;

/** Keyed by the profile, which is the same object while it is cached. */
const userTexts = new WeakMap<PublicProfile, { readonly userId: string; readonly text: string }>();

function cachedUserText(userId: string, profile: PublicProfile): string {
  const cached = userTexts.get(profile);
  if (cached?.userId === userId) return cached.text;
  const text = userText(userId, profile);
  userTexts.set(profile, { userId, text });
  return text;
}

/** Renders what follows the numbers of the board in an entry. */
function userText(userId: string, profile: PublicProfile): string {
  return JSON.stringify(userMembers(userId, profile)).slice(1);
}

function userMembers(userId: string, { username }: PublicProfile): UserMembers {
  const publicProfile: Members<PublicProfile> = { username };
  return { userId, publicProfile };
}

function listText(board: ResolvedBoard, entries: string, totalCount: number): ListText {
  const texts: Members<Record<keyof v.InferOutput<typeof ListSchema>, unknown>> = {
    data: `[${entries}]`,
    totalCount,
    meta: metaText(board),
  };
  // Joined, because the pieces of a concatenation would be put together each time that the text is sent.
  return ['{"data":', texts.data, ',"totalCount":', texts.totalCount, ',"meta":', texts.meta, "}"].join(
    "",
  ) as ListText;
}

const metaText = memoize((board: ResolvedBoard): string => JSON.stringify(metaOf(board)));

function metaOf({ declaration: { rankStyle }, season }: ResolvedBoard): BoardMeta {
  if (season === null) return { rankStyle };
  const { id, startsAt, endsAt } = season;
  return { rankStyle, season: { id, startsAt: isoTime(startsAt), endsAt: isoTime(endsAt) } };
}

/**
 * Reads one user's entry.
 *
 * @throws {AppError} `not_found`: the user has no entry.
 */
export async function readOne(
  { store, publicProfiles }: LeaderboardContext,
  board: ResolvedBoard,
  userId: string,
): Promise<Immutable<v.InferOutput<typeof OneSchema>>> {
  const [
    found,
    {
      profiles: [profile = { username: "" }],
    },
  ] = await Promise.all([
    readUserEntry(store, board.location, userId),
    publicProfiles(board.project, [userId]),
  ]);
  if (found === null) throw noEntry();
  const { entry, totalCount, percentile } = found;
  const data: Members<LeaderboardEntry> = { ...entry, ...userMembers(userId, profile) };
  return { data, meta: { totalCount, percentile, ...metaOf(board) } };
}

function noEntry(): AppError {
  return new AppError("not_found", "Cannot find an entry of this user on the leaderboard");
}

/**
 * Opens the event stream of a list.
 *
 * @throws {AppError} the errors of the list; `validation_failed` with `include` or `around`, which no two listeners would share;
 *   `busy`: too many clients listen already.
 */
async function openStream(
  context: LeaderboardContext,
  {
    request,
    info,
    params,
    query,
  }: Pick<Call<null, BoardParams, ListQuery, undefined>, "request" | "info" | "params" | "query">,
) {
  const { include, around, season, limit } = query;
  if (include.length > 0) throw notStreamable("include");
  if (around !== undefined) throw notStreamable("around");
  const credentials = credentialsOf(request);
  const { projectId, eventId = "", leaderboardId } = params;
  const apiKey = credentials.headers.get("x-api-key") ?? "";
  const body = await context.live.open({
    limit,
    stopping: info.stopping,
    first: ([data = ""]) => ({ event: "leaderboard", data }),
    parts: [
      {
        name: [projectId, eventId, leaderboardId, season ?? "", apiKey].join("/"),
        event: "leaderboard",
        wrap: data => data,
        locate: async () =>
          boardSource(context, await readableBoard(context, params, { season, request: credentials })),
      },
    ],
  });
  return stream(200, body, eventStreamHeaders);
}

/** Copies the credentials of a request, which must not be used once it was answered. */
function credentialsOf({ headers: sent }: Request): Request {
  const headers = ["x-api-key", "x-api-secret"].flatMap((name): [string, string][] => {
    const value = sent.get(name);
    return value === null ? [] : [[name, value]];
  });
  return new Request("http://localhost/", { headers });
}

function notStreamable(pointer: string): AppError {
  return invalidField("Cannot stream events of single users", pointer, "Expected none with an event stream");
}

function boardSource(context: LeaderboardContext, board: ResolvedBoard): LiveSource {
  return {
    key: board.location.shards[0],
    async read() {
      // Read once for the longest list of all listeners.
      const listing = await readListing(context, board, { limit: limitMax, include: [] });
      return {
        render(count) {
          const entries = entriesText(listing, count);
          return {
            shown: metaText(board) + entries,
            data: listText(board, entries, listing.totalCount),
          };
        },
      };
    },
  };
}

/** Names a board as a part of the stream of another area; `wrap` puts its list into the data of a message. */
export type PublicBoards = (board: BoardParams, wrap: LivePart["wrap"]) => LivePart;

/** What the stream has of a board that nobody may read now: its list is null. */
const noBoard: LiveSource = {
  key: "no board",
  read: async () => ({ render: () => ({ shown: "", data: "null" }) }),
};

/** Creates the parts of public boards. A hidden board and one that is not declared are the same to their readers: there is none. */
export function createPublicBoards(context: LeaderboardContext): PublicBoards {
  return (board, wrap) => {
    const { projectId, eventId = "", leaderboardId } = board;
    return {
      name: ["page", projectId, eventId, leaderboardId].join("/"),
      event: "leaderboard",
      wrap,
      async locate() {
        const nobody = new Request("http://localhost/");
        try {
          return boardSource(context, await readableBoard(context, board, { request: nobody }));
        } catch (error) {
          const isMissing =
            error instanceof AppError && (error.code === "not_found" || error.code === "validation_failed");
          if (isMissing) return noBoard;
          throw error;
        }
      },
    };
  };
}
