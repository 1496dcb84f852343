/** Routes of users' lists: of the calling user, and by the batch convention of one or several users. */

import * as v from "valibot";
import { isoTime } from "../../../base/calendar/mod.ts";
import { invalidField } from "../../../base/errors/mod.ts";
import {
  envelope,
  type Immutable,
  integerParameter,
  type JsonText,
  type JsonTextReply,
  jsonText,
  named,
  route,
} from "../../../http/mod.ts";
import type { SpaceUser } from "../../loyalty/mod.ts";
import {
  ChallengeDocumentSchema,
  ChallengeStatusSchema,
  NotificationSchema,
  notificationsPageEntries,
  pageEntries,
  TimeSchema,
  TransactionSchema,
} from "../lists/documents.ts";
import { type ListContext, listChallenges, listNotifications, listTransactions } from "../lists/lists.ts";
import { batchUsersOf, replyPerUser, unknownUser, usersQuery } from "./batch_users.ts";
import type { AudienceContext } from "./context.ts";
import { replySchema, usersReplySchema } from "./replies.ts";

function limitParameter(maximum: number, byDefault: number): v.GenericSchema<string | undefined, number> {
  return v.optional(
    integerParameter({ description: "Most entries of the page", minimum: 1, maximum }),
    `${byDefault}`,
  );
}

const lastEvaluatedKey = v.exactOptional(
  v.pipe(v.string(), v.description("Continues after a page: its lastEvaluatedKey, with the same filters")),
);

type OutputOf<E extends v.ObjectEntries> = v.InferOutput<v.ObjectSchema<E, undefined>>;
type PageOf<E extends v.ObjectEntries> = Immutable<OutputOf<E>> & {
  readonly lastEvaluatedKey: string | null;
};

interface UserList<N extends string, Q extends v.ObjectEntries, E extends v.ObjectEntries> {
  readonly resource: N;
  readonly description: string;
  readonly query: Q;
  readonly page: E;
  /** Reads a page. `isKnown` is true if what was read proves that the user exists. */
  readonly read: (
    context: ListContext,
    user: SpaceUser,
    query: OutputOf<Q>,
  ) => Promise<{ readonly page: PageOf<E>; readonly isKnown: boolean }>;
}

export function listRoutes(context: AudienceContext) {
  return [
    ...routesOf(context, {
      resource: "Transactions",
      description:
        "Newest first. One request reads a bounded part of the history: a page may be short although more follow.",
      query: {
        limit: limitParameter(100, 50),
        type: v.exactOptional(
          v.pipe(v.picklist(["credit", "debit"]), v.description("Only entries that add or take points")),
        ),
        currency: v.exactOptional(
          v.pipe(
            v.string(),
            v.minLength(1),
            v.maxLength(64),
            v.description(
              "Only entries of this metric of the space; `points`, `xp` and `coins` are accepted in every space",
            ),
          ),
        ),
        lastEvaluatedKey,
      },
      page: { data: v.array(TransactionSchema), ...pageEntries },
      read: async (lists, user, query) => {
        const page = await listTransactions(lists, user, query);
        return { page, isKnown: isFilled(page) };
      },
    }),
    ...routesOf(context, {
      resource: "Challenges",
      description:
        "Challenges in progress first, by their end, then finished ones, newest first. One that the user has not begun is in progress without startedAt.",
      query: {
        limit: limitParameter(100, 20),
        status: v.exactOptional(
          v.pipe(ChallengeStatusSchema, v.description("Only challenges of this status")),
        ),
        lastEvaluatedKey,
      },
      page: { data: v.array(ChallengeDocumentSchema), ...pageEntries },
      read: listChallenges,
    }),
    ...routesOf(context, {
      resource: "Notifications",
      description: "Newest first, with the number of all unread notifications.",
      query: {
        limit: limitParameter(50, 50),
        unread: v.exactOptional(
          v.pipe(v.picklist(["true", "false"]), v.description("Only unread notifications if true")),
        ),
        lastEvaluatedKey,
      },
      page: { data: v.array(NotificationSchema), ...notificationsPageEntries },
      read: async (lists, user, { unread, ...query }) => {
        const page = await listNotifications(lists, user, { ...query, unread: unread === "true" });
        return { page, isKnown: isFilled(page) };
      },
    }),
    readNotificationRoute(context),
  ];
}

function routesOf<const N extends string, const Q extends v.ObjectEntries, const E extends v.ObjectEntries>(
  context: AudienceContext,
  { resource, description, query, page, read }: UserList<N, Q, E>,
) {
  const { guards, profiles } = context;
  const path = resource.toLowerCase() as Lowercase<N>;
  const reply = replySchema(`${resource}Page`, page);

  /** A page that proves nothing may be of an unknown user, which only then is looked up. */
  async function readPage(user: SpaceUser, asked: OutputOf<Q>): Promise<PageOf<E> | null> {
    const { page, isKnown } = await read(context, user, asked);
    return isKnown || (await profiles.get(user)) !== null ? page : null;
  }

  return [
    route({
      method: "GET",
      path: `/v1/api/audience/${path}`,
      operation: `listAudience${resource}`,
      summary: `List the user's ${path}`,
      description,
      auth: guards.publicAudience("audience:read"),
      query: v.object(query),
      responses: { 200: { description: `A page of the ${path}`, schema: reply } },
      handle: async ({ principal, query: asked }) =>
        pageReply((await read(context, principal.user, asked as OutputOf<Q>)).page),
    }),
    route({
      method: "GET",
      path: `/api/audience/${path}`,
      operation: `listSpace${resource}`,
      summary: `List the ${path} of one or several users`,
      description: `${description} With user_ids the first page of each user; lastEvaluatedKey continues the list of one user.`,
      auth: guards.batchAudience("users:read", "audience:read"),
      query: v.object({ ...usersQuery, ...query }),
      responses: {
        200: {
          description: "A page of the user, or one of each user",
          schema: named(`Space${resource}`, v.union([reply, usersReplySchema(`User${resource}`, page)])),
        },
      },
      errors: ["forbidden"],
      handle: async ({ principal, query: asked }) => {
        const given = asked as OutputOf<Q> & OutputOf<typeof usersQuery>;
        const selected = batchUsersOf(principal, given);
        if (selected.kind === "one") {
          const { user, isOwn } = selected;
          const found = isOwn ? (await read(context, user, given)).page : await readPage(user, given);
          if (found === null) throw unknownUser();
          return pageReply(found);
        }
        if ("lastEvaluatedKey" in given && selected.users.length > 1) {
          const detail = "Expected it with one user, whose list it continues";
          throw invalidField("Cannot continue the lists of several users", "lastEvaluatedKey", detail);
        }
        return await replyPerUser(selected.users, async user => {
          const found = await readPage(user, given);
          return found === null ? null : JSON.stringify(found);
        });
      },
    }),
  ];
}

function isFilled({
  data,
  lastEvaluatedKey,
}: Pick<PageOf<typeof pageEntries>, "lastEvaluatedKey"> & { readonly data: readonly unknown[] }): boolean {
  return data.length > 0 || lastEvaluatedKey !== null;
}

function pageReply(page: object): JsonTextReply<200, never> {
  return jsonText(JSON.stringify({ message: "OK", ...page }) as JsonText<never>);
}

function readNotificationRoute({ guards, loyalty }: AudienceContext) {
  const data = v.object({
    notificationId: v.string(),
    isRead: v.literal(true),
    readAt: v.nullable(TimeSchema),
  });
  return route({
    method: "POST",
    path: "/v1/api/audience/notifications/:notificationId/read",
    operation: "readAudienceNotification",
    summary: "Mark a notification as read",
    description: "A notification that is read already keeps its time.",
    auth: guards.publicAudience("audience:write"),
    params: v.object({ notificationId: v.pipe(v.string(), v.description("Id of the notification")) }),
    responses: {
      200: {
        description: "The notification is read",
        schema: replySchema("ReadNotificationReply", { data }),
      },
    },
    errors: ["not_found"],
    handle: async ({ principal: { user }, params }) => {
      const { id, readAt } = await loyalty.inbox.markRead(user, params.notificationId);
      return envelope({ notificationId: id, isRead: true, readAt: readAt === null ? null : isoTime(readAt) });
    },
  });
}
