/** Checks search criteria as a whole. */

import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import type { Users } from "../../identity/mod.ts";
import { accountFault, accountUserId } from "../../identity/own_accounts.ts";
import { findUserIds } from "../../identity/users.ts";
import type { FactsReader } from "../../loyalty/views/loyalty_reader.ts";
import { declaredIndexes, usableIndexes, userBoards } from "../../users/mod.ts";
import { customFieldsOf } from "../profile/custom_fields.ts";
import { type Column, columnsOf, defaultFields, type FindColumn, isLoyaltyColumn } from "./columns.ts";
import { compileFilter, type Filter } from "./filter.ts";
import type { PlanContext } from "./plan.ts";
import { type FindHolders, keysOf } from "./short_form.ts";
import type { SearchCriteria, SortOrder } from "./types.ts";
import type { ReadDemand, UserReaderOptions } from "./user_reader.ts";

const fieldsMax = 200;

/** A search of an organisation's users. */
export interface SearchRequest extends SearchCriteria {
  readonly organisationId: string;
  /** @default in no particular order */
  readonly sort?: SortOrder | undefined;
}

/** Returns the issuer of the accounts that external ids name in a space. */
export type AccountIssuers = (spaceId: string) => Promise<string | undefined>;

export interface CheckedSearch {
  readonly context: PlanContext;
  readonly columns: readonly Column[];
  readonly filtered: ReadDemand;
  /** Fields that the filter compares or the rows show. */
  readonly shown: ReadDemand;
}

/**
 * Checks a search.
 *
 * @throws {AppError} `validation_failed` with a pointer for every error.
 */
export async function checkSearch(
  options: UserReaderOptions & {
    readonly directory: Pick<Directory, "organisation">;
    readonly users: Users;
    readonly accountIssuerOf: AccountIssuers;
  },
  request: SearchRequest,
): Promise<CheckedSearch> {
  const { store, directory, facts, users, accountIssuerOf } = options;
  const { organisationId, spaceId, sort = null } = request;
  const [organisation, space] = await Promise.all([
    directory.organisation(organisationId),
    facts.of(spaceId),
  ]);
  const declared = declaredIndexes(organisation);
  const indexes = await usableIndexes(store, organisationId, declared);
  const holders = new Map(
    await Promise.all(
      keysOf(request.filter).map(async key => {
        const found = await findUserIds(users, indexes.projectIds, key);
        const issuer = key.kind === "externalId" ? await accountIssuerOf(spaceId) : undefined;
        const isAccount = issuer !== undefined && accountFault(issuer, key.value) === null;
        return [key.kind, isAccount ? [...found, accountUserId(issuer, key.value)] : found] as const;
      }),
    ),
  );
  const customFields = customFieldsOf(organisation?.settings);
  const find = columnsOf(customFields, space);
  const errors: FieldError[] = [];
  const filter = compileOrCollect(
    request.filter,
    { find, findHolders: ({ kind }) => holders.get(kind) ?? [] },
    errors,
  );
  const named = findColumns(request.fields ?? defaultFields, find, errors);
  const columns = request.isFlat === true ? flattened(named, [...customFields.keys()], space, find) : named;
  const sortDetail = sort === null ? null : sortError(sort.field, declared.metrics, indexes.boards);
  if (sortDetail !== null) errors.push({ pointer: "/sort/0/field", detail: sortDetail });
  if (filter === null || errors.length > 0) {
    throw new AppError("validation_failed", "Cannot search as the criteria are not valid", {
      fields: errors,
    });
  }
  const filtered = demandOf(filter.columns);
  const shown = demandOf(new Set([...filter.columns, ...columns.map(({ name }) => name)]));
  return {
    columns,
    filtered: { organisationId, space, ...filtered },
    // Users of whom nothing but loyalty is stored exist too.
    shown: { organisationId, space, ...shown, loyalty: true },
    context: { store, organisationId, space, filter, indexes: indexes.boards, sort },
  };
}

function demandOf(names: ReadonlySet<string>): Pick<ReadDemand, "createdAt" | "lastActiveAt" | "loyalty"> {
  return {
    createdAt: names.has("createdAt"),
    lastActiveAt: names.has("lastActiveAt"),
    loyalty: [...names].some(isLoyaltyColumn),
  };
}

function compileOrCollect(
  source: unknown,
  { find, findHolders }: { readonly find: FindColumn; readonly findHolders: FindHolders },
  errors: FieldError[],
): Filter | null {
  try {
    return compileFilter(source, find, findHolders);
  } catch (error) {
    if (!(error instanceof AppError) || error.fields === undefined) throw error;
    errors.push(...error.fields);
    return null;
  }
}

function findColumns(names: readonly string[], find: FindColumn, errors: FieldError[]): readonly Column[] {
  if (names.length === 0 || names.length > fieldsMax) {
    errors.push({ pointer: "/fields", detail: `Expected from 1 to ${fieldsMax} fields` });
    return [];
  }
  return names.flatMap((name, index) => {
    const column = find(name);
    const pointer = `/fields/${index}`;
    if (column === null) errors.push({ pointer, detail: "Expected the name of a field of users" });
    if (names.indexOf(name) < index) errors.push({ pointer, detail: "Expected each field once" });
    return column === null ? [] : [column];
  });
}

/** Puts one column for each declared name in place of the objects of custom fields and metrics, unless there are too many. */
function flattened(
  columns: readonly Column[],
  customFields: readonly string[],
  { metrics }: FactsReader,
  find: FindColumn,
): readonly Column[] {
  const ids = new Map([
    ["customFields", customFields],
    ["metrics", [...metrics.keys()]],
  ]);
  const flat = columns.flatMap(column =>
    (ids.get(column.name)?.map(id => `${column.name}.${id}`) ?? [column.name]).map(
      name => columns.find(one => one.name === name) ?? find(name),
    ),
  );
  const distinct = [...new Set(flat.filter(column => column !== null))];
  return distinct.length > fieldsMax ? columns : distinct;
}

/** Returns why users cannot be sorted by a field, or null. Only an index gives an order. */
function sortError(field: string, declared: readonly string[], built: ReadonlySet<string>): string | null {
  if (field === "createdAt" || field === "lastActiveAt") return null;
  const [root, ...rest] = field.split(".");
  const metricId = rest.join(".");
  if (root !== "metrics" || rest.length === 0) {
    return "Expected createdAt, lastActiveAt or an indexed metric such as metrics.points";
  }
  if (!declared.includes(metricId)) {
    return `Declare ${field} in settings.audience.indexes of the organisation to sort by it`;
  }
  return built.has(userBoards.metric(metricId))
    ? null
    : `The index of ${field} is still being built: sort by createdAt until then`;
}
