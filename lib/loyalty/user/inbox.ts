/**
 * A user's notifications: which there are, which are read, and until when they last.
 *
 * Notifications are a log that actions append to. What was read is one record beside it, a watermark and the ids that were
 * read one by one, so that an action never writes it and reading never holds up an action.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import {
  decide,
  type ReadLog,
  type ReadRecord,
  type Rule,
  type Store,
  type Write,
} from "../../storage/mod.ts";
import {
  compareIds,
  type InboxContext,
  type InboxItem,
  type InboxNotification,
  type InboxPolicy,
  keepMarks,
  parseReadMarks,
  type ReadMarks,
  validNotifications,
  withExpiry,
} from "./inbox_view.ts";
import { type Member, memberPartition } from "./member.ts";

/** Most notifications that a user has; the oldest is dropped first. */
export const notificationsMax = 100;
/** How many notifications a page has where nobody says. */
export const notificationsPageDefault = 20;

/** A part of the notifications, newest first. */
export interface InboxPage {
  readonly items: readonly InboxItem[];
  /** Where the next page begins; null on the last one. */
  readonly cursor: string | null;
  /** Of all notifications, not only of this page. */
  readonly unreadCount: number;
}

/** What of the notifications is asked for. */
export interface InboxQuery {
  /** Only unread ones. @default false */
  readonly unread?: boolean;
  /** 1 to {@linkcode notificationsMax}. @default {@linkcode notificationsPageDefault} */
  readonly limit?: number;
  /** Of the page before. */
  readonly cursor?: string;
}

/** Reads the notifications of users and marks them as read. */
export interface Inbox {
  /**
   * A page of the notifications.
   *
   * @throws {AppError} `validation_failed`: the limit is out of bounds, or the cursor is of no page.
   */
  list(member: Member, query?: InboxQuery): Promise<InboxPage>;
  /** Every unread notification, oldest first. */
  unread(member: Member): Promise<readonly InboxNotification[]>;
  /** The number of unread notifications. */
  unreadCount(member: Member): Promise<number>;
  /**
   * Marks a notification as read; one that is read already keeps its time.
   *
   * @throws {AppError} `not_found`: the user has no such notification, or not any more.
   */
  markRead(member: Member, id: string): Promise<InboxItem>;
  /** Marks all notifications as read, and tells how many were unread. */
  markAllRead(member: Member): Promise<number>;
}

/** What inboxes need. */
export interface InboxOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** How long the notifications of a space last, and the time zone in which days are counted. */
  readonly policyOf: (spaceId: string) => Promise<InboxPolicy> | InboxPolicy;
}

/** What of a user's partition the inbox is made of. */
export const inboxReads: readonly [ReadRecord, ReadLog] = [
  { type: "record", key: "inbox" },
  { type: "log", key: "notifications", limit: notificationsMax, reverse: true },
];
const idShape = /^\d{1,15}-\d{1,15}$/;

/** Creates the inboxes of all users. */
export function createInbox({ store, clock, policyOf }: InboxOptions): Inbox {
  async function read(member: Member): Promise<{ items: InboxNotification[]; policy: InboxPolicy }> {
    const [policy, [marks, entries]] = await Promise.all([
      policyOf(member.spaceId),
      store.read(memberPartition(member), inboxReads),
    ]);
    return {
      items: validNotifications(entries, { marks: parseReadMarks(marks), policy, now: clock() }),
      policy,
    };
  }

  return {
    async list(member, { unread = false, limit = notificationsPageDefault, cursor } = {}) {
      if (!Number.isInteger(limit) || limit < 1 || limit > notificationsMax) {
        throw invalid("limit", `Expected a whole number from 1 to ${notificationsMax}`);
      }
      if (cursor !== undefined && !idShape.test(cursor))
        throw invalid("cursor", "Expected the cursor of a page");
      const { items, policy } = await read(member);
      const wanted = items.filter(
        ({ id, isRead }) => !(unread && isRead) && (cursor === undefined || compareIds(id, cursor) < 0),
      );
      const page = wanted.slice(0, limit);
      const last = wanted.length > limit ? page.at(-1) : undefined;
      return {
        items: page.map(item => withExpiry(item, policy)),
        cursor: last?.id ?? null,
        unreadCount: unreadOf(items).length,
      };
    },
    unread: async member => unreadOf((await read(member)).items).toReversed(),
    unreadCount: async member => unreadOf((await read(member)).items).length,
    async markRead(member, id) {
      const context = { policy: await policyOf(member.spaceId), now: clock() };
      return await decide(store, memberPartition(member), markRule(id, context));
    },
    async markAllRead(member) {
      const context = { policy: await policyOf(member.spaceId), now: clock() };
      return await decide(store, memberPartition(member), markAllRule(context));
    },
  };
}

type MarkContext = Omit<InboxContext, "marks">;

function markRule(id: string, context: MarkContext): Rule<typeof inboxReads, InboxItem> {
  return {
    reads: inboxReads,
    idempotent: true,
    apply: ([stored, entries]) => {
      const marks = parseReadMarks(stored);
      const item = validNotifications(entries, { ...context, marks }).find(one => one.id === id);
      if (item === undefined) {
        throw new AppError("not_found", "Cannot mark the notification as the user has none of this id");
      }
      if (item.isRead) return { writes: [], answer: withExpiry(item, context.policy) };
      const ids = { ...keepMarks(marks, entries), [id]: context.now };
      const answer = withExpiry({ ...item, isRead: true, readAt: context.now }, context.policy);
      return { writes: [put({ ...marks, ids })], answer };
    },
  };
}

function markAllRule(context: MarkContext): Rule<typeof inboxReads, number> {
  return {
    reads: inboxReads,
    idempotent: true,
    apply: ([stored, entries]) => {
      const items = validNotifications(entries, { ...context, marks: parseReadMarks(stored) });
      const count = unreadOf(items).length;
      const [newest] = items;
      if (count === 0 || newest === undefined) return { writes: [], answer: 0 };
      const earlier = items.flatMap(({ id, readAt }) => (readAt === null ? [] : [[id, readAt] as const]));
      const through = { id: newest.id, at: context.now };
      return { writes: [put({ through, ids: Object.fromEntries(earlier) })], answer: count };
    },
  };
}

function put(marks: ReadMarks): Write {
  return { type: "put", key: "inbox", value: JSON.stringify(marks) };
}

function unreadOf(items: readonly InboxNotification[]): InboxNotification[] {
  return items.filter(({ isRead }) => !isRead);
}

function invalid(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", "Cannot list the notifications as the query is not valid", {
    fields: [{ pointer, detail }],
  });
}
