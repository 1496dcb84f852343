/**
 * Searching an organisation's users.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { storageLimits } from "../../storage/mod.ts";
import { userBoards, userShardPartitions } from "../../users/mod.ts";
import type { Column } from "./columns.ts";
import { type CheckedSearch, type CriteriaOptions, checkSearch, type SearchRequest } from "./criteria.ts";
import { Judge } from "./judge.ts";
import { firstPlace, walkAt } from "./plan.ts";
import { parsePlace, printPlace } from "./search_cursor.ts";
import type { SearchedUser } from "./searched_user.ts";
import type { CompiledSearch, PageOptions, UserPage, UserSearch } from "./types.ts";

/** Most users that one page looks at. */
export const examinedUsersMax = 2_000;
/** How long one page goes on looking, in ms. */
export const searchMsMax = 250;
/** Most users that are read at a time; a shard tells two times of each in one read. */
export const readUsersMax: number = storageLimits.readsMax / 2;

/** What a page is to be. */
export interface FindOptions {
  /** Where it begins. @default the beginning */
  readonly place?: string | undefined;
  /** Most users of the page. */
  readonly limit: number;
}

/** A page of a search. */
export interface FoundUsers {
  readonly users: readonly SearchedUser[];
  readonly columns: readonly Column[];
  /** Where the next page begins; null: that was all. */
  readonly place: string | null;
  /** Whether the page ends because it has looked at as many users, or for as long, as a page may. */
  readonly isTruncated: boolean;
}

/** Searches users, in an order where it is asked for one. */
export interface UserFinder extends UserSearch {
  /** @throws {AppError} `validation_failed`, with the pointer of every part at fault. */
  find(request: SearchRequest, options: FindOptions): Promise<FoundUsers>;
}

/** What searching needs. */
export interface UserFinderOptions extends CriteriaOptions {
  readonly clock: Clock;
}

/** Creates the search of users. */
export function createUserFinder(options: UserFinderOptions): UserFinder {
  const { clock } = options;
  return {
    async compile(organisationId, criteria) {
      // An index of a metric may lag behind, and exports leave nobody out: they find by what never does.
      const search = await checkSearch(options, { ...criteria, organisationId, sort: undefined });
      const context = { ...search.context, built: new Set<string>() };
      return compiled(options, { ...search, context });
    },
    async find(request, { place, limit }) {
      const search = await checkSearch(options, request);
      const { context, columns } = search;
      const begin = clock();
      const walk = await walkAt(
        context,
        place === undefined ? await firstPlace(context, begin) : parsePlace(place),
      );
      const judge = new Judge(options, search);
      const users: SearchedUser[] = [];
      let examined = 0;
      for (let size = Math.min(limit + 1, readUsersMax); ; size = Math.min(2 * size, readUsersMax)) {
        const part = await walk.next(Math.min(size, examinedUsersMax - examined));
        const fitting = await judge.fitting(part.candidates);
        for (const user of fitting) {
          users.push(user);
          if (users.length < limit) continue;
          const isLast = user.candidate === part.candidates.at(-1);
          const end = isLast ? part.place : part.placeAfter(user.candidate);
          return { users, columns, place: end, isTruncated: false };
        }
        examined += part.candidates.length;
        const isTruncated = examined >= examinedUsersMax || clock() - begin >= searchMsMax;
        if (part.place === null) return { users, columns, place: null, isTruncated: false };
        if (isTruncated) return { users, columns, place: part.place, isTruncated };
      }
    },
  };
}

function compiled(options: UserFinderOptions, search: CheckedSearch): CompiledSearch {
  const { context, columns } = search;
  const { store, clock } = options;
  const judge = new Judge(options, search);
  async function pageOf<R>(
    { cursor, limit }: PageOptions,
    rowOf: (user: SearchedUser) => R,
  ): Promise<Omit<UserPage, "rows"> & { readonly rows: readonly R[] }> {
    const begins = cursor === null ? printPlace(await firstPlace(context, clock())) : cursor;
    const walk = await walkAt(context, parsePlace(begins));
    const rows: R[] = [];
    let place: string | null = begins;
    let examined = 0;
    while (place !== null && examined < limit) {
      const part = await walk.next(Math.min(readUsersMax, limit - examined));
      for (const user of await judge.fitting(part.candidates)) rows.push(rowOf(user));
      examined += part.candidates.length;
      place = part.place;
    }
    return { rows, cursor: place, examined };
  }
  return {
    fields: columns.map(({ name, kind }) => ({ name, kind })),
    page: page => pageOf(page, user => columns.map(column => column.show(user))),
    printedPage: page => pageOf(page, user => columns.map(column => column.print(user))),
    async estimate() {
      const sizes = await Promise.all(
        userShardPartitions(context.organisationId).map(async partition => {
          const [{ size }] = await store.read(partition, [
            { type: "board", key: userBoards.created, limit: 0 },
          ]);
          return size;
        }),
      );
      return sizes.reduce((sum, size) => sum + size, 0);
    },
  };
}
