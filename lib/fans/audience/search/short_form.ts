/**
 * The short form of filters.
 *
 * ```json
 * { "createdAfter": "2026-01-01", "metrics": { "points": { "min": 100 } }, "not": { "eq": [{ "var": "displayName" }, "Sam"] } }
 * ```
 *
 * All members must hold; one operator of the condition language may stand among them.
 */

import * as v from "valibot";
import { parseIsoDateOrTime } from "../../../base/calendar/mod.ts";
import { jsonPointer } from "../../../base/errors/mod.ts";
import { isMembers, type Members } from "../../../base/json/mod.ts";
import { accountIdCharactersMax } from "../../identity/own_accounts.ts";
import type { RegisteredKey } from "../../identity/users.ts";
import { foldName } from "../../users/mod.ts";
import { itemIdCharactersMax } from "../batch/items.ts";
import { foldedName } from "./columns.ts";

/** Describes a time in a filter, for people. */
export const timeExpectation = "Expected a time such as 2026-05-01 or 2026-05-01T18:30:00Z";

const time = v.pipe(
  v.string(timeExpectation),
  v.check(text => parseIsoDateOrTime(text) !== null, timeExpectation),
);
const number = v.pipe(v.number(), v.finite());
const userId = v.pipe(v.string(), v.minLength(1), v.maxLength(itemIdCharactersMax));
const range = v.pipe(
  v.strictObject({ min: v.exactOptional(number), max: v.exactOptional(number) }),
  v.check(({ min, max }) => min !== undefined || max !== undefined, "Expected min, max or both"),
);

const entries = {
  userIds: v.exactOptional(v.pipe(v.array(userId), v.minLength(1), v.maxLength(100))),
  displayName: v.exactOptional(
    v.pipe(v.string(), v.minLength(1), v.maxLength(256), v.description("A part of the name")),
  ),
  email: v.exactOptional(
    v.pipe(
      v.string(),
      v.trim(),
      v.minLength(1),
      v.maxLength(320),
      v.description("The address of an account, in any case of its letters"),
    ),
  ),
  externalId: v.exactOptional(
    v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(accountIdCharactersMax),
      v.description("The external id of a user, or the id of the user's account"),
    ),
  ),
  username: v.exactOptional(
    v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(256),
      v.description("The whole registered name, without regard to case, width and spaces"),
    ),
  ),
  createdAfter: v.exactOptional(v.pipe(time, v.description("Includes the time"))),
  createdBefore: v.exactOptional(v.pipe(time, v.description("Excludes the time"))),
  activeAfter: v.exactOptional(v.pipe(time, v.description("Includes the time"))),
  activeBefore: v.exactOptional(v.pipe(time, v.description("Excludes the time"))),
  metrics: v.exactOptional(v.pipe(v.record(v.string(), range), v.minEntries(1), v.maxEntries(16))),
};

export const ShortFormSchema = v.strictObject(entries);

type ShortForm = v.InferOutput<typeof ShortFormSchema>;

/** A filter as the OpenAPI document describes it: the short form, and any one operator beside it. */
export const FilterSchema = v.pipe(
  v.looseObject(entries),
  v.description(
    "A condition of the language of rules over userId, displayName, username, usernameFolded, provider, projectId, version, createdAt, updatedAt, lastActiveAt, customFields.<name>, metrics.<id>, inventory.<setId> and challenges.<id>; or these members, all of which must hold; or both. Times are ISO 8601.",
  ),
);

/** A condition with the pointer into the filter that it comes from. */
export interface LocatedCondition {
  readonly pointer: string;
  readonly condition: unknown;
}

export function splitFilter(filter: Members): {
  readonly short: Members;
  readonly condition: Members;
} {
  const all = Object.entries(filter);
  return {
    short: Object.fromEntries(all.filter(([name]) => Object.hasOwn(entries, name))),
    condition: Object.fromEntries(all.filter(([name]) => !Object.hasOwn(entries, name))),
  };
}

type KeyName = RegisteredKey["kind"];
type Comparison = readonly [
  name: Exclude<keyof ShortForm, KeyName | "metrics">,
  operator: string,
  variable: string,
];
const keyNames: readonly KeyName[] = ["email", "externalId"];

export function keysOf(filter: unknown): readonly RegisteredKey[] {
  if (!isMembers(filter)) return [];
  const { short } = splitFilter(filter);
  const parsed = v.safeParse(ShortFormSchema, short);
  if (!parsed.success) return [];
  return keyNames.flatMap(kind => {
    const value = parsed.output[kind];
    return value === undefined ? [] : [{ kind, value }];
  });
}

export type FindHolders = (key: RegisteredKey) => readonly string[];

const comparisons: readonly Comparison[] = [
  ["userIds", "in", "userId"],
  ["displayName", "contains", "displayName"],
  ["username", "eq", foldedName],
  ["createdAfter", "gte", "createdAt"],
  ["createdBefore", "lt", "createdAt"],
  ["activeAfter", "gte", "lastActiveAt"],
  ["activeBefore", "lt", "lastActiveAt"],
];

export function conditionsOf(short: ShortForm, findHolders: FindHolders): readonly LocatedCondition[] {
  const named = keyNames.flatMap((kind): LocatedCondition[] => {
    const value = short[kind];
    if (value === undefined) return [];
    const condition = { in: [{ var: "userId" }, findHolders({ kind, value })] };
    return [{ pointer: jsonPointer(kind), condition }];
  });
  const compared = comparisons
    .filter(([name]) => short[name] !== undefined)
    .map(([name, operator, variable]) => ({
      pointer: jsonPointer(name),
      condition: {
        [operator]: [{ var: variable }, name === "username" ? foldName(short[name] ?? "") : short[name]],
      },
    }));
  const bounded = Object.entries(short.metrics ?? {}).flatMap(([id, { min, max }]): LocatedCondition[] => {
    const pointer = jsonPointer("metrics", id);
    const variable = { var: `metrics.${id}` };
    return [
      ...(min === undefined ? [] : [{ pointer, condition: { gte: [variable, min] } }]),
      ...(max === undefined ? [] : [{ pointer, condition: { lte: [variable, max] } }]),
    ];
  });
  return [...named, ...compared, ...bounded];
}
