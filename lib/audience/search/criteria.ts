/**
 * Criteria of searches, checked as a whole.
 *
 * @module
 */

import type { Directory } from "../../directory/mod.ts";
import { AppError, type FieldError } from "../../errors/mod.ts";
import { builtIndexes, metricIndexesOf } from "../../users/mod.ts";
import { customFieldsOf } from "../profile/custom_fields.ts";
import { type Column, columnsOf, defaultFields, type FindColumn, isLoyalty } from "./columns.ts";
import { compileFilter, type Filter } from "./filter.ts";
import type { PlanContext } from "./plan.ts";
import { type Sort, sortFault } from "./sort.ts";
import type { SearchCriteria } from "./types.ts";
import type { ReadDemand, UserReaderOptions } from "./user_reader.ts";

/** Most fields of users that are asked for at a time, as by exports. */
export const namedFieldsMax = 200;

/** What is searched for. */
export interface SearchRequest extends SearchCriteria {
  readonly organisationId: string;
  /** @default in no particular order */
  readonly sort?: Sort | undefined;
}

/** What checking needs. */
export interface CriteriaOptions extends UserReaderOptions {
  readonly directory: Pick<Directory, "organisation">;
}

/** A search that was checked. */
export interface CheckedSearch {
  readonly context: PlanContext;
  readonly columns: readonly Column[];
  /** What is read of users to say whether they fit. */
  readonly judged: ReadDemand;
  /** What is read of users who fit. */
  readonly shown: ReadDemand;
}

/**
 * Checks what is searched for.
 *
 * @throws {AppError} `validation_failed`, with the pointer of every part at fault.
 */
export async function checkSearch(options: CriteriaOptions, request: SearchRequest): Promise<CheckedSearch> {
  const { store, directory, facts } = options;
  const { organisationId, spaceId, sort = null } = request;
  const [organisation, space, declared] = await Promise.all([
    directory.organisation(organisationId),
    facts.of(spaceId),
    metricIndexesOf(directory, organisationId),
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
  const judged = demandOf(filter.columns);
  const shown = demandOf(new Set([...filter.columns, ...columns.map(({ name }) => name)]));
  return {
    columns,
    judged: { organisationId, space, ...judged },
    // A user of whom nothing but loyalty is on record is there too.
    shown: { organisationId, space, ...shown, loyalty: true },
    context: { store, organisationId, space, filter, built, sort },
  };
}

function demandOf(names: ReadonlySet<string>): Pick<ReadDemand, "createdAt" | "lastActiveAt" | "loyalty"> {
  return {
    createdAt: names.has("createdAt"),
    lastActiveAt: names.has("lastActiveAt"),
    loyalty: [...names].some(isLoyalty),
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
  if (names.length === 0 || names.length > namedFieldsMax) {
    faults.push({ pointer: "/fields", detail: `Expected from 1 to ${namedFieldsMax} fields` });
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
