/** The route by which back ends search users. */

import * as v from "valibot";
import type { CursorScope } from "../../../auth/mod.ts";
import { json, named, route } from "../../../http/mod.ts";
import { canonicalJson } from "../../../http/requests/body.ts";
import { TimeSchema } from "../lists/documents.ts";
import { CustomValueSchema } from "../profile/custom_fields.ts";
import type { Column } from "../search/columns.ts";
import type { FoundUsers } from "../search/search.ts";
import { FilterSchema } from "../search/short_form.ts";
import type { SearchedUser } from "../search/user_reader.ts";
import type { AudienceContext } from "./context.ts";
import type { BackEnd } from "./guards.ts";
import { replySchema } from "./replies.ts";

const pageMax = 100;
const pageDefault = 50;
const fieldsMax = 64;

const limitDetail = `Expected a whole number from 1 to ${pageMax}`;
const sort = v.strictObject({
  field: v.pipe(v.string(), v.minLength(1), v.maxLength(256)),
  order: v.optional(v.picklist(["asc", "desc"]), "asc"),
});

const entries = {
  filter: v.exactOptional(v.unknown()),
  fields: v.exactOptional(
    v.pipe(
      v.array(v.string()),
      v.maxLength(fieldsMax),
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
      v.description("Most users of the page"),
      v.integer(limitDetail),
      v.minValue(1, limitDetail),
      v.maxValue(pageMax, limitDetail),
    ),
    pageDefault,
  ),
  includeTotal: v.optional(
    v.pipe(v.boolean(), v.description("Whether the answer has the number of all users that match")),
    false,
  ),
  lastEvaluatedKey: v.exactOptional(
    v.pipe(
      v.string(),
      v.description("Continues after a page: its lastEvaluatedKey, with the same filter and sort"),
    ),
  ),
};
const BodySchema = v.strictObject(entries);
const DescribedBodySchema = named(
  "UserSearch",
  v.strictObject({ ...entries, filter: v.exactOptional(FilterSchema) }),
);

const optionalText = v.exactOptional(v.nullable(v.string()));
const optionalTime = v.exactOptional(v.nullable(TimeSchema));

const FoundUserSchema = named(
  "FoundUser",
  v.object({
    userId: v.exactOptional(v.string()),
    displayName: optionalText,
    username: optionalText,
    usernameFolded: optionalText,
    provider: optionalText,
    projectId: optionalText,
    version: v.exactOptional(v.pipe(v.number(), v.integer())),
    createdAt: optionalTime,
    updatedAt: optionalTime,
    lastActiveAt: optionalTime,
    preferences: v.exactOptional(v.record(v.string(), v.unknown())),
    customFields: v.exactOptional(v.record(v.string(), v.nullable(CustomValueSchema))),
    metrics: v.exactOptional(v.record(v.string(), v.number())),
    inventory: v.exactOptional(v.record(v.string(), v.array(v.string()))),
    challenges: v.exactOptional(v.record(v.string(), v.string())),
  }),
);

const FoundSchema = replySchema("FoundUsersReply", {
  data: v.pipe(v.array(FoundUserSchema), v.description("Each with the fields that were asked for")),
  lastEvaluatedKey: v.nullable(v.string()),
  totalCount: v.exactOptional(
    v.pipe(
      v.nullable(v.pipe(v.number(), v.integer(), v.minValue(0))),
      v.description(
        "With includeTotal: the number of users that match; null where counting would examine more than 20,000 users",
      ),
    ),
  ),
  truncated: v.pipe(
    v.boolean(),
    v.description("Whether the page is short because it examined as many users as a page may: continue it"),
  ),
});

export function searchRoutes({ guards, cursors, users }: AudienceContext) {
  return [
    route({
      method: "POST",
      path: "/v1/api/audience/internal/users/search",
      operation: "searchAudienceUsers",
      summary: "Search users",
      description: "The users of the organisation that match a filter, in pages.",
      auth: guards.privateAudience("users:read"),
      body: {
        schema: BodySchema,
        described: DescribedBodySchema,
        example: {
          filter: { metrics: { points: { min: 100 } } },
          fields: ["userId", "displayName"],
          limit: 10,
        },
      },
      responses: { 200: { description: "A page of the users", schema: FoundSchema } },
      async handle({ principal, body }) {
        const { filter, fields, limit, includeTotal, lastEvaluatedKey } = body;
        const [order] = body.sort ?? [];
        const { organisationId, id: spaceId } = principal.space;
        const scope = scopeOf(principal, filter, order);
        const found = await users.find(
          { organisationId, spaceId, filter, fields, sort: order },
          { limit, position: cursors.open(scope, lastEvaluatedKey), isCounted: includeTotal },
        );
        return json(200, {
          message: "OK",
          data: documentsOf(found),
          lastEvaluatedKey: cursors.seal(scope, found.position),
          ...(found.totalCount === undefined ? {} : { totalCount: found.totalCount }),
          truncated: found.isTruncated,
        });
      },
    }),
  ];
}

/** The scope of a cursor has the filter and the order. Other fields may be asked for. */
function scopeOf(
  { space: { organisationId, id: spaceId } }: BackEnd,
  filter: unknown,
  order: v.InferOutput<typeof sort> | undefined,
): CursorScope {
  const filters = {
    filter: filter === undefined ? undefined : canonicalJson(filter),
    sort: order === undefined ? undefined : `${order.order} ${order.field}`,
  };
  return { organisationId, spaceId, userId: "", resource: "users", filters };
}

type FoundUser = v.InferOutput<typeof FoundUserSchema>;

function documentsOf({ users, columns }: FoundUsers): readonly FoundUser[] {
  return users.map(user => documentOf(user, columns));
}

/** Shows `metrics.points` as the member `points` of `metrics`. */
function documentOf(user: SearchedUser, columns: readonly Column[]): FoundUser {
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
  return document as FoundUser;
}
