/** Searches the users of an organisation. */

import type { Clock } from "../../../auth/mod.ts";
import { type Store, storageLimits } from "../../../storage/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import type { Users } from "../../identity/mod.ts";
import type { Loyalty } from "../../loyalty/mod.ts";
import { createFactsSource } from "../../loyalty/views/loyalty_reader.ts";
import { userBoards, userShardPartitions } from "../../users/mod.ts";
import type { Column } from "./columns.ts";
import { type AccountIssuers, type CheckedSearch, checkSearch, type SearchRequest } from "./criteria.ts";
import { firstPosition, walkFrom } from "./plan.ts";
import { parsePosition, printPosition } from "./search_cursor.ts";
import type { Candidate, CompiledSearch, UserSearch } from "./types.ts";
import { type ReadDemand, readUsers, type SearchedUser, type UserReaderOptions } from "./user_reader.ts";

const examinedUsersMax = 2_000;
/** Longest time that one page searches, in ms. */
const searchMsMax = 250;
/** Most users that are read together: one read of a shard asks for two times of each. */
const readUsersMax = storageLimits.readsMax / 2;
/** Matching users are read in two steps if fewer than one in so many candidates matches. */
const sparseRatio = 4;

/** The page that is asked for. */
export interface FindOptions {
  /** The position where it begins. @default the beginning */
  readonly position?: string | undefined;
  /** Most users of the page. */
  readonly limit: number;
  /** Whether to count all users that match. @default false */
  readonly isCounted?: boolean;
}

/** A page of a search. */
export interface FoundUsers {
  readonly users: readonly SearchedUser[];
  readonly columns: readonly Column[];
  /** The position of the next page; null on the last one. */
  readonly position: string | null;
  /** True if the page ended because it examined as many users, or took as long, as a page may. */
  readonly isTruncated: boolean;
  /**
   * If asked for, the number of users that match: without a filter all users, as the index lists them. Null where counting takes more
   * than 20,000 examined users or a second.
   */
  readonly totalCount?: number | null;
}

/** Most users that counting examines, and longest time that it takes, in ms. */
const countedUsersMax = 20_000;
const countMsMax = 1_000;

/** Finds users, optionally in an order. */
export interface UserFinder extends UserSearch {
  /** @throws {AppError} `validation_failed` with a pointer for every error. */
  find(request: SearchRequest, options: FindOptions): Promise<FoundUsers>;
}

/** The dependencies of the search. */
export interface UserFinderOptions {
  readonly store: Store;
  readonly directory: Pick<Directory, "organisation">;
  readonly clock: Clock;
  readonly loyalty: Pick<Loyalty, "config">;
  readonly users: Users;
  /** @default external ids are those of users alone */
  readonly accountIssuerOf?: AccountIssuers;
}

/** Creates the search of users. */
export function createUserFinder({
  store,
  directory,
  clock,
  loyalty,
  users,
  accountIssuerOf = async () => undefined,
}: UserFinderOptions): UserFinder {
  const facts = createFactsSource({ clock, configOf: loyalty.config });
  const options = { store, directory, clock, facts, users, accountIssuerOf };
  return {
    async compile(organisationId, criteria) {
      const search = await checkSearch(options, { ...criteria, organisationId, sort: undefined });
      // Indexes may lag behind; exports must not miss users, so they do not use them.
      const context = { ...search.context, indexes: new Set<string>() };
      return compileSearch(options, { ...search, context });
    },
    async find(request, { position, limit, isCounted = false }) {
      const search = await checkSearch(options, request);
      const [page, total] = await Promise.all([
        findPage(options, search, { position, limit }),
        isCounted ? countMatches(options, search) : undefined,
      ]);
      return total === undefined ? page : { ...page, totalCount: total };
    },
  };
}

type SearchOptions = UserReaderOptions & { readonly clock: Clock };

async function findPage(
  options: SearchOptions,
  search: CheckedSearch,
  { position, limit }: FindOptions,
): Promise<FoundUsers> {
  const { clock } = options;
  const { context, columns } = search;
  const startedAt = clock();
  const first = position === undefined ? await firstPosition(context, startedAt) : parsePosition(position);
  const walk = await walkFrom(context, first);
  const matcher = new Matcher(options, search);
  const users: SearchedUser[] = [];
  let examined = 0;
  for (let size = Math.min(limit + 1, readUsersMax); ; size = Math.min(2 * size, readUsersMax)) {
    const part = await walk.next(Math.min(size, examinedUsersMax - examined));
    for (const user of await matcher.filter(part.candidates)) {
      users.push(user);
      if (users.length < limit) continue;
      const isLast = user.candidate === part.candidates.at(-1);
      const end = isLast ? part.position : part.positionAfter(user.candidate);
      return { users, columns, position: end, isTruncated: false };
    }
    examined += part.candidates.length;
    const isTruncated = examined >= examinedUsersMax || clock() - startedAt >= searchMsMax;
    if (part.position === null) return { users, columns, position: null, isTruncated: false };
    if (isTruncated) return { users, columns, position: part.position, isTruncated };
  }
}

/** Counts the users that match a checked search in no particular order; null beyond the bounds of counting. */
async function countMatches(options: SearchOptions, search: CheckedSearch): Promise<number | null> {
  const { clock, store } = options;
  const context = { ...search.context, sort: null };
  if (context.filter.columns.size === 0) return await countUsers(store, context.organisationId);
  const startedAt = clock();
  const walk = await walkFrom(context, await firstPosition(context, startedAt));
  const matcher = new Matcher(options, { ...search, shown: { ...search.filtered, loyalty: true } });
  let count = 0;
  for (let examined = 0; examined < countedUsersMax && clock() - startedAt < countMsMax; ) {
    const part = await walk.next(readUsersMax);
    count += (await matcher.filter(part.candidates)).length;
    if (part.position === null) return count;
    examined += part.candidates.length;
  }
  return null;
}

/** Returns the number of users of an organisation: one small read per shard. */
async function countUsers(store: Store, organisationId: string): Promise<number> {
  const query = { type: "board", key: userBoards.created, limit: 0 } as const;
  const sizes = await Promise.all(
    userShardPartitions(organisationId).map(async partition => {
      const [{ size }] = await store.read(partition, [query]);
      return size;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

function compileSearch({ clock, ...options }: SearchOptions, search: CheckedSearch): CompiledSearch {
  const { context, columns } = search;
  const matcher = new Matcher(options, search);
  return {
    fields: columns.map(({ name, kind }) => ({ name, kind })),
    async printedPage({ cursor, limit }) {
      const first = cursor ?? printPosition(await firstPosition(context, clock()));
      const walk = await walkFrom(context, parsePosition(first));
      const rows: string[][] = [];
      let position: string | null = first;
      let examined = 0;
      while (position !== null && examined < limit) {
        const part = await walk.next(Math.min(readUsersMax, limit - examined));
        for (const user of await matcher.filter(part.candidates)) {
          rows.push(columns.map(column => column.print(user)));
        }
        examined += part.candidates.length;
        position = part.position;
      }
      return { rows, cursor: position, examined };
    },
    estimate: () => countUsers(options.store, context.organisationId),
  };
}

/**
 * Filters candidates. It reads all that is shown at once; while few candidates match, it reads what the filter compares first and
 * the rest of the matches only.
 */
class Matcher {
  readonly #options: UserReaderOptions;
  readonly #search: CheckedSearch;
  #isSparse = false;

  constructor(options: UserReaderOptions, search: CheckedSearch) {
    this.#options = options;
    this.#search = search;
  }

  async filter(candidates: readonly Candidate[]): Promise<readonly SearchedUser[]> {
    const { filtered, shown } = this.#search;
    const likely = this.#isSparse ? await this.#read(candidates, filtered) : null;
    const matching = await this.#read(likely?.map(({ candidate }) => candidate) ?? candidates, shown);
    if (candidates.length > 0) this.#isSparse = matching.length * sparseRatio < candidates.length;
    return matching;
  }

  async #read(candidates: readonly Candidate[], demand: ReadDemand): Promise<readonly SearchedUser[]> {
    if (candidates.length === 0) return [];
    const users = await readUsers(this.#options, demand, candidates);
    return users.filter(user => user.exists && this.#search.context.filter.matches(user));
  }
}
