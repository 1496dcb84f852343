/**
 * The short form of filters, as conditions.
 *
 * ```json
 * { "createdAfter": "2026-01-01", "metrics": { "points": { "min": 100 } }, "not": { "eq": [{ "var": "displayName" }, "Sam"] } }
 * ```
 *
 * Everything that is named must hold. Beside it one operator of the condition language may stand.
 *
 * @module
 */

import * as v from "valibot";
import { instantOf } from "../_times.ts";
import { batchUsersMax, userIdCharactersMax } from "../http/batch_users.ts";
import { timeExpectation } from "./times.ts";

/** Most users that a short form names. */
export const namedUsersMax: number = batchUsersMax;
/** Most metrics that a short form bounds. */
export const boundedMetricsMax = 16;
/** Longest part of a name that a short form looks for, in characters. */
export const soughtNameCharactersMax = 256;

const time = v.pipe(
  v.string(timeExpectation),
  v.check(text => instantOf(text) !== null, timeExpectation),
);
const number = v.pipe(v.number(), v.finite());
const userId = v.pipe(v.string(), v.minLength(1), v.maxLength(userIdCharactersMax));
const metricBounds = v.pipe(
  v.strictObject({ min: v.exactOptional(number), max: v.exactOptional(number) }),
  v.check(({ min, max }) => min !== undefined || max !== undefined, "Expected min, max or both"),
);

/** A filter in its short form; times are texts. */
export interface ShortForm {
  readonly userIds?: readonly string[];
  /** A part of the name. */
  readonly displayName?: string;
  readonly createdAfter?: string;
  readonly createdBefore?: string;
  readonly activeAfter?: string;
  readonly activeBefore?: string;
  readonly metrics?: Readonly<Record<string, { readonly min?: number; readonly max?: number }>>;
}

const entries = {
  userIds: v.exactOptional(v.pipe(v.array(userId), v.minLength(1), v.maxLength(namedUsersMax))),
  displayName: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(soughtNameCharactersMax))),
  createdAfter: v.exactOptional(time),
  createdBefore: v.exactOptional(time),
  activeAfter: v.exactOptional(time),
  activeBefore: v.exactOptional(time),
  metrics: v.exactOptional(
    v.pipe(v.record(v.string(), metricBounds), v.minEntries(1), v.maxEntries(boundedMetricsMax)),
  ),
};

/** The short form of a filter. */
export const ShortFormSchema: v.GenericSchema<ShortForm> = v.strictObject(entries);

/** A filter as the document of the API describes it: its short form, and any one operator beside. */
export const DescribedFilterSchema: v.GenericSchema = v.pipe(
  v.looseObject(entries),
  v.description(
    "A condition of the language of rules over userId, displayName, provider, projectId, version, createdAt, updatedAt, lastActiveAt, customFields.<name>, metrics.<id>, inventory.<setId> and challenges.<id>; or these members, all of which must hold; or both. Times are ISO 8601. `createdAfter` and `activeAfter` include the time, `createdBefore` and `activeBefore` do not; `displayName` is a part of the name",
  ),
);

/** A condition with the place of what it comes from, as a JSON Pointer into the filter. */
export interface PlacedCondition {
  readonly pointer: string;
  readonly condition: unknown;
}

/** The parts of a filter: its short form, and the rest of it. */
export function splitFilter(filter: Readonly<Record<string, unknown>>): {
  readonly short: Readonly<Record<string, unknown>>;
  readonly condition: Readonly<Record<string, unknown>>;
} {
  const all = Object.entries(filter);
  return {
    short: Object.fromEntries(all.filter(([name]) => Object.hasOwn(entries, name))),
    condition: Object.fromEntries(all.filter(([name]) => !Object.hasOwn(entries, name))),
  };
}

/** The conditions that a short form stands for. */
export function conditionsOf(short: ShortForm): readonly PlacedCondition[] {
  const {
    userIds,
    displayName,
    createdAfter,
    createdBefore,
    activeAfter,
    activeBefore,
    metrics = {},
  } = short;
  const simple: readonly (readonly [
    name: keyof ShortForm,
    operator: string,
    path: string,
    value: unknown,
  ])[] = [
    ["userIds", "in", "userId", userIds],
    ["displayName", "contains", "displayName", displayName],
    ["createdAfter", "gte", "createdAt", createdAfter],
    ["createdBefore", "lt", "createdAt", createdBefore],
    ["activeAfter", "gte", "lastActiveAt", activeAfter],
    ["activeBefore", "lt", "lastActiveAt", activeBefore],
  ];
  const placed = simple
    .filter(([, , , value]) => value !== undefined)
    .map(([name, operator, path, value]) => ({
      pointer: `/${name}`,
      condition: { [operator]: [{ var: path }, value] },
    }));
  const bounded = Object.entries(metrics).flatMap(([id, { min, max }]): PlacedCondition[] => {
    const pointer = `/metrics/${id.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const variable = { var: `metrics.${id}` };
    return [
      ...(min === undefined ? [] : [{ pointer, condition: { gte: [variable, min] } }]),
      ...(max === undefined ? [] : [{ pointer, condition: { lte: [variable, max] } }]),
    ];
  });
  return [...placed, ...bounded];
}
