/**
 * A user's lists in pages: transactions, challenges and notifications.
 *
 * @module
 */

import * as v from "valibot";
import type { OptionalText } from "../http/batch_users.ts";
import type { AudienceLoyalty } from "../loyalty.ts";
import type { AudienceMember } from "../member.ts";
import { readProfileRecord } from "../profile/record.ts";
import type { LedgerEnd, SeenChallenge } from "../sight.ts";
import type { CursorScope, Cursors } from "./cursors.ts";
import { challengeDocument, notificationDocument, transactionDocument } from "./documents.ts";

/** Most transactions of a page. */
export const transactionsPageMax = 100;
/** Transactions of a page where nobody says. */
export const transactionsPageDefault = 50;
/** Most challenges of a page. */
export const challengesPageMax = 100;
/** Challenges of a page where nobody says. */
export const challengesPageDefault = 20;
/** Most notifications of a page, and how many there are where nobody says. */
export const notificationsPageMax = 50;

/** A page of a list. */
export interface ListPage {
  readonly data: readonly unknown[];
  /** Null on the last page. */
  readonly lastEvaluatedKey: string | null;
  /** Of notifications: all unread ones, not only those of the page. */
  readonly unreadCount?: number;
}

function limitField(max: number, byDefault: number): LimitField {
  const detail = `Expected a whole number from 1 to ${max}`;
  return v.pipe(
    v.optional(v.string(), String(byDefault)),
    v.regex(/^\d{1,3}$/, detail),
    v.transform(Number),
    v.minValue(1, detail),
    v.maxValue(max, detail),
  );
}

/** A query parameter that says how many. */
export type LimitField = v.GenericSchema<string | undefined, number>;

const cursorField = v.exactOptional(v.string());

/** What narrows and continues a list of transactions. */
export const transactionsQuery: {
  readonly limit: LimitField;
  readonly type: OptionalText<"credit" | "debit">;
  readonly currency: OptionalText<string>;
  readonly lastEvaluatedKey: OptionalText<string>;
} = {
  limit: limitField(transactionsPageMax, transactionsPageDefault),
  type: v.exactOptional(v.picklist(["credit", "debit"])),
  currency: v.exactOptional(v.pipe(v.string(), v.minLength(1), v.maxLength(64))),
  lastEvaluatedKey: cursorField,
};

/** The statuses of the interface. A challenge that a user may still take up is in progress, with no time at which it was begun. */
const challengeStatuses = ["in_progress", "completed", "failed"] as const;

/** What narrows and continues a list of challenges. */
export const challengesQuery: {
  readonly limit: LimitField;
  readonly status: OptionalText<(typeof challengeStatuses)[number]>;
  readonly lastEvaluatedKey: OptionalText<string>;
} = {
  limit: limitField(challengesPageMax, challengesPageDefault),
  status: v.exactOptional(v.picklist(challengeStatuses)),
  lastEvaluatedKey: cursorField,
};

/** What narrows and continues a list of notifications. */
export const notificationsQuery: {
  readonly limit: LimitField;
  readonly unread: OptionalText<"true" | "false">;
  readonly lastEvaluatedKey: OptionalText<string>;
} = {
  limit: limitField(notificationsPageMax, notificationsPageMax),
  unread: v.exactOptional(v.picklist(["true", "false"])),
  lastEvaluatedKey: cursorField,
};

type Query<E extends v.ObjectEntries> = v.InferOutput<v.ObjectSchema<E, undefined>>;

/** What lists need. */
export interface ListContext {
  readonly loyalty: AudienceLoyalty;
  readonly cursors: Cursors;
}

/** A page of the user's transactions, newest first. Work is bounded, so a page may be short although there are more. */
export async function listTransactions(
  { loyalty, cursors }: ListContext,
  member: AudienceMember,
  { limit, type, currency, lastEvaluatedKey }: Query<typeof transactionsQuery>,
): Promise<ListPage> {
  const scope = scopeOf(member, "transactions", { type, currency });
  const place = cursors.open(scope, lastEvaluatedKey);
  const { items, end } = await loyalty.reader.ledger(member, {
    limit,
    type,
    metricId: currency,
    after: place === undefined ? undefined : ledgerEnd(place),
  });
  return {
    data: items.map(transactionDocument),
    lastEvaluatedKey: cursors.seal(scope, end === null ? null : `${end.recordId} ${end.taken}`),
  };
}

/**
 * A page of the user's challenges, those that are not over first, by when they end, and whether anything is known of the user. A page
 * goes on after the last challenge of the one before, wherever that has moved in the meantime.
 */
export async function listChallenges(
  { loyalty, cursors }: ListContext,
  member: AudienceMember,
  { limit, status, lastEvaluatedKey }: Query<typeof challengesQuery>,
): Promise<{ readonly page: ListPage; readonly isKnown: boolean }> {
  const scope = scopeOf(member, "challenges", { status });
  const place = cursors.open(scope, lastEvaluatedKey);
  const { view, isKnown, extraRecord } = await loyalty.reader.challenges(member, readProfileRecord);
  const rest = view
    .map(asListed)
    .filter(seen => status === undefined || seen.status === status)
    .map(seen => ({ seen, order: orderOf(seen) }))
    .filter(({ order }) => place === undefined || order > place)
    .sort((a, b) => (a.order < b.order ? -1 : 1));
  const shown = rest.slice(0, limit);
  const end = rest.length > limit ? (shown.at(-1)?.order ?? null) : null;
  const data = shown.map(({ seen }) => challengeDocument(seen));
  const page = { data, lastEvaluatedKey: cursors.seal(scope, end) };
  return { page, isKnown: isKnown || extraRecord !== null };
}

/** A page of the user's notifications, newest first. */
export async function listNotifications(
  { loyalty, cursors }: ListContext,
  member: AudienceMember,
  { limit, unread, lastEvaluatedKey }: Query<typeof notificationsQuery>,
): Promise<ListPage> {
  const isUnread = unread === "true";
  const scope = scopeOf(member, "notifications", { unread: isUnread });
  const cursor = cursors.open(scope, lastEvaluatedKey);
  const page = await loyalty.inbox.list(member, {
    limit,
    unread: isUnread,
    ...(cursor === undefined ? {} : { cursor }),
  });
  return {
    data: page.items.map(notificationDocument),
    lastEvaluatedKey: cursors.seal(scope, page.cursor),
    unreadCount: page.unreadCount,
  };
}

function asListed(seen: SeenChallenge): SeenChallenge {
  return seen.status === "not_started" ? { ...seen, status: "in_progress" } : seen;
}

function scopeOf(
  { organisationId, spaceId, userId }: AudienceMember,
  resource: string,
  filters: CursorScope["filters"],
): CursorScope {
  return { organisationId, spaceId, userId, resource, filters };
}

function ledgerEnd(place: string): LedgerEnd {
  const [recordId = "", taken = "0"] = place.split(" ");
  return { recordId, taken: Number(taken) };
}

const digits = 16;

/** Sorts challenges as text: what goes on before what is over, that by its end, this by how long it has been over. */
function orderOf({ status, challenge, endsAt, completedAt, failedAt }: SeenChallenge): string {
  const isOver = status === "completed" || status === "failed";
  const at = isOver
    ? Number.MAX_SAFE_INTEGER - (completedAt ?? failedAt ?? 0)
    : (endsAt ?? Number.MAX_SAFE_INTEGER);
  return `${isOver ? 1 : 0} ${String(at).padStart(digits, "0")} ${challenge.id}`;
}
