/**
 * Searching an organisation's users.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError, type FieldError } from "../../errors/mod.ts";
import { readsMax } from "../../storage/mod.ts";
import { builtIndexes, indexesOf, userBoards, userPartitions } from "../../user_index/mod.ts";
import { customFieldsOf } from "../custom_fields.ts";
import { type Column, columnsOf, defaultFields, type FindColumn } from "./columns.ts";
import { compileFilter, type Filter } from "./filter.ts";
import { parsePlace, printPlace } from "./places.ts";
import { firstPlace, type PlanContext, walkAt } from "./plan.ts";
import type { SearchedUser } from "./searched_user.ts";
import type { Candidate } from "./shard_walk.ts";
import { type Sort, sortFault } from "./sort.ts";
import type { CompiledSearch, SearchCriteria, UserSearch } from "./types.ts";
import { type ReadDemand, readUsers, type UserReaderOptions } from "./user_reader.ts";

/** Most fields that a search shows. */
export const searchFieldsMax = 64;
/** Most users that one page looks at. */
export const examinedUsersMax = 2_000;
/** How long one page goes on looking, in ms. */
export const searchMsMax = 250;
/** Most users that are read at a time; a shard tells two times of each in one read. */
export const readUsersMax: number = readsMax / 2;

/** What is searched for. */
export interface SearchRequest extends SearchCriteria {
  readonly organisationId: string;
  /** @default in no particular order */
  readonly sort?: Sort | undefined;
}

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
export interface UserFinderOptions extends UserReaderOptions {
  readonly directory: Pick<Directory, "organisation">;
  readonly clock: Clock;
}

/** Creates the search of users. */
export function createUserFinder(options: UserFinderOptions): UserFinder {
  const { clock } = options;
  return {
    async compile(organisationId, criteria) {
      // An index of a metric may lag behind, and exports leave nobody out: they find by what never does.
      const search = await open(options, { ...criteria, organisationId, sort: undefined });
      const context = { ...search.context, built: new Set<string>() };
      return compiled(options, { ...search, context });
    },
    async find(request, { place, limit }) {
      const search = await open(options, request);
      const { context, columns } = search;
      const begin = clock();
      const walk = await walkAt(
        context,
        place === undefined ? await firstPlace(context, begin) : parsePlace(place),
      );
      const users: SearchedUser[] = [];
      let examined = 0;
      for (let size = Math.min(limit + 1, readUsersMax); ; size = Math.min(2 * size, readUsersMax)) {
        const part = await walk.next(Math.min(size, examinedUsersMax - examined));
        const fitting = await fits(options, search, part.candidates);
        for (const { user, index } of fitting) {
          users.push(user);
          if (users.length < limit) continue;
          const isLast = index === part.candidates.length - 1;
          const end = isLast ? part.place : (part.candidates[index]?.place() ?? null);
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

interface OpenSearch {
  readonly context: PlanContext;
  readonly demand: ReadDemand;
  readonly columns: readonly Column[];
}

/** Checks what is searched for, all faults at once. */
async function open(options: UserFinderOptions, request: SearchRequest): Promise<OpenSearch> {
  const { store, directory, facts } = options;
  const { organisationId, spaceId, sort = null } = request;
  const [organisation, space, declared] = await Promise.all([
    directory.organisation(organisationId),
    facts.of(spaceId),
    indexesOf(directory, organisationId),
  ]);
  const built = await builtIndexes(store, organisationId, declared);
  const find = columnsOf(customFieldsOf(organisation?.settings), space);
  const faults: FieldError[] = [];
  const filter = attempt(faults, () => compileFilter(request.filter, find));
  const columns = fieldColumns(request.fields ?? defaultFields, find, faults);
  const fault = sort === null ? null : sortFault(sort, { declared, built });
  if (fault !== null) faults.push(fault);
  if (filter === null || faults.length > 0) {
    throw new AppError("validation_failed", "Cannot search as the criteria are not valid", {
      fields: faults,
    });
  }
  const asks = (name: string): boolean =>
    filter.columns.has(name) || columns.some(column => column.name === name);
  return {
    columns,
    demand: {
      organisationId,
      space,
      createdAt: asks("createdAt"),
      lastActiveAt: asks("lastActiveAt"),
    },
    context: { store, organisationId, space, filter, built, sort },
  };
}

function attempt(faults: FieldError[], task: () => Filter): Filter | null {
  try {
    return task();
  } catch (error) {
    if (!(error instanceof AppError) || error.fields === undefined) throw error;
    faults.push(...error.fields);
    return null;
  }
}

function fieldColumns(names: readonly string[], find: FindColumn, faults: FieldError[]): readonly Column[] {
  if (names.length === 0 || names.length > searchFieldsMax) {
    faults.push({ pointer: "/fields", detail: `Expected from 1 to ${searchFieldsMax} fields` });
    return [];
  }
  return names.flatMap((name, index) => {
    const column = find(name);
    const pointer = `/fields/${index}`;
    if (column === null) faults.push({ pointer, detail: "Expected the name of a field of users" });
    if (names.indexOf(name) < index) faults.push({ pointer, detail: "Expected each field once" });
    return column === null ? [] : [column];
  });
}

interface Fitting {
  readonly user: SearchedUser;
  readonly index: number;
}

async function fits(
  options: UserReaderOptions,
  { demand, context }: OpenSearch,
  candidates: readonly Candidate[],
): Promise<readonly Fitting[]> {
  if (candidates.length === 0) return [];
  const users = await readUsers(options, demand, candidates);
  return users
    .map((user, index) => ({ user, index }))
    .filter(({ user }) => user.isThere && context.filter.fits(user));
}

function compiled(options: UserFinderOptions, search: OpenSearch): CompiledSearch {
  const { context, columns } = search;
  const { store, clock } = options;
  return {
    fields: columns.map(({ name, kind }) => ({ name, kind })),
    async page({ cursor, limit }) {
      const begins = cursor === null ? printPlace(await firstPlace(context, clock())) : cursor;
      const walk = await walkAt(context, parsePlace(begins));
      const rows: unknown[][] = [];
      let place: string | null = begins;
      let examined = 0;
      while (place !== null && examined < limit) {
        const part = await walk.next(Math.min(readUsersMax, limit - examined));
        for (const { user } of await fits(options, search, part.candidates)) {
          rows.push(columns.map(column => column.show(user)));
        }
        examined += part.candidates.length;
        place = part.place;
      }
      return { rows, cursor: place, examined };
    },
    async estimate() {
      const sizes = await Promise.all(
        userPartitions(context.organisationId).map(async partition => {
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
