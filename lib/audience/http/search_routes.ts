/**
 * The route by which back ends search users.
 *
 * @module
 */

import * as v from "valibot";
import { type AnyRoute, canonicalJson, looseRoute } from "../../http/mod.ts";
import type { CursorScope } from "../lists/cursors.ts";
import type { Column } from "../search/columns.ts";
import type { FoundUsers } from "../search/search.ts";
import type { SearchedUser } from "../search/searched_user.ts";
import { DescribedFilterSchema } from "../search/short_form.ts";
import type { AudienceContext } from "./context.ts";
import type { BackEnd } from "./guards.ts";

/** Most users of a page. */
export const searchPageMax = 100;
/** Most fields that a page shows of a user. */
export const searchFieldsMax = 64;
/** Users of a page where nobody says. */
export const searchPageDefault = 50;

const limitDetail = `Expected a whole number from 1 to ${searchPageMax}`;
const sort = v.strictObject({
  field: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  order: v.optional(v.picklist(["asc", "desc"]), "asc"),
});

const entries = {
  filter: v.exactOptional(v.unknown()),
  fields: v.exactOptional(
    v.pipe(
      v.array(v.string()),
      v.maxLength(searchFieldsMax),
      v.description(
        "Names as in filters, and preferences, customFields, metrics, inventory and challenges as a whole",
      ),
    ),
  ),
  sort: v.exactOptional(
    v.pipe(
      v.array(sort),
      v.minLength(1),
      v.maxLength(1, "Expected one order"),
      v.description("One order: by createdAt, lastActiveAt, or a metric that the organisation has indexed"),
    ),
  ),
  limit: v.optional(
    v.pipe(
      v.number(limitDetail),
      v.integer(limitDetail),
      v.minValue(1, limitDetail),
      v.maxValue(searchPageMax, limitDetail),
    ),
    searchPageDefault,
  ),
  lastEvaluatedKey: v.exactOptional(
    v.pipe(v.string(), v.description("That of the page before, with the same filter and sort")),
  ),
};
const BodySchema = v.strictObject(entries);
const DescribedBodySchema = v.strictObject({
  ...entries,
  filter: v.exactOptional(DescribedFilterSchema),
});

const optionalText = v.exactOptional(v.nullable(v.string()));

/** What a page shows of a user: the fields that were asked for. */
const FoundUser = v.object({
  userId: v.exactOptional(v.string()),
  displayName: optionalText,
  provider: optionalText,
  projectId: optionalText,
  version: v.exactOptional(v.number()),
  createdAt: optionalText,
  updatedAt: optionalText,
  lastActiveAt: optionalText,
  preferences: v.exactOptional(v.record(v.string(), v.unknown())),
  customFields: v.exactOptional(
    v.record(v.string(), v.nullable(v.union([v.string(), v.number(), v.boolean()]))),
  ),
  metrics: v.exactOptional(v.record(v.string(), v.number())),
  inventory: v.exactOptional(v.record(v.string(), v.array(v.string()))),
  challenges: v.exactOptional(v.record(v.string(), v.string())),
});

const FoundSchema = v.object({
  message: v.string(),
  data: v.array(FoundUser),
  lastEvaluatedKey: v.nullable(v.string()),
  truncated: v.pipe(
    v.boolean(),
    v.description(
      "Whether the page is short because as many users were looked at as a page may: go on with lastEvaluatedKey",
    ),
  ),
});

/** Builds the route. */
export function searchRoutes({ guards, cursors, users }: AudienceContext): readonly AnyRoute[] {
  return [
    looseRoute({
      method: "POST",
      path: "/v1/api/audience/internal/users/search",
      operation: "searchAudienceUsers",
      summary: "The users of the organisation whom a filter fits, in pages",
      auth: guards.privateAudience("users:read"),
      body: { schema: BodySchema, described: DescribedBodySchema },
      responses: { 200: { description: "A page of the users", schema: FoundSchema } },
      async handle({ principal, body }) {
        const { filter, fields, limit, lastEvaluatedKey } = body;
        const [order] = body.sort ?? [];
        const { organisationId, id: spaceId } = principal.space;
        const scope = scopeOf(principal, filter, order);
        const found = await users.find(
          { organisationId, spaceId, filter, fields, sort: order },
          { limit, place: cursors.open(scope, lastEvaluatedKey) },
        );
        return {
          status: 200,
          json: {
            message: "OK",
            data: documentsOf(found),
            lastEvaluatedKey: cursors.seal(scope, found.place),
            truncated: found.isTruncated,
          },
        };
      },
    }),
  ];
}

/** A cursor is good for the search that it came from; other fields may be asked for. */
function scopeOf(
  { space }: BackEnd,
  filter: unknown,
  order: v.InferOutput<typeof sort> | undefined,
): CursorScope {
  const { organisationId, id: spaceId } = space;
  const filters = {
    filter: filter === undefined ? undefined : canonicalJson(filter),
    sort: order === undefined ? undefined : `${order.order} ${order.field}`,
  };
  return { organisationId, spaceId, userId: "", resource: "users", filters };
}

function documentsOf({ users, columns }: FoundUsers): readonly unknown[] {
  return users.map(user => documentOf(user, columns));
}

/** `metrics.points` is the member `points` of `metrics`, whether the whole of it is asked for beside or not. */
function documentOf(user: SearchedUser, columns: readonly Column[]): unknown {
  const document: Record<string, unknown> = {};
  for (const { name, show } of columns) {
    const dot = name.indexOf(".");
    if (dot === -1) {
      document[name] = show(user);
      continue;
    }
    const root = name.slice(0, dot);
    document[root] = { ...(document[root] as object | undefined), [name.slice(dot + 1)]: show(user) };
  }
  return document;
}
