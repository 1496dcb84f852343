/** A user's lists in pages: transactions, challenges and notifications. */

import type { CursorScope, Cursors } from "../../../auth/mod.ts";
import { invalidField } from "../../../base/errors/mod.ts";
import type { Loyalty, SpaceUser } from "../../loyalty/mod.ts";
import type { ChallengeView, LedgerCursor } from "../../loyalty/views/loyalty_reader.ts";
import { readProfileRecord } from "../profile/record.ts";
import {
  type ChallengeDocument,
  challengeDocument,
  type NotificationDocument,
  notificationDocument,
  type TransactionDocument,
  transactionDocument,
} from "./documents.ts";

interface ListPage<T> {
  readonly data: readonly T[];
  /** Continues the list; null on the last page. */
  readonly lastEvaluatedKey: string | null;
}

interface ListPageQuery {
  readonly limit: number;
  readonly lastEvaluatedKey?: string;
}

export interface ListContext {
  readonly loyalty: Pick<Loyalty, "config" | "inbox" | "reader">;
  readonly cursors: Cursors;
}

/** Currencies of the interface: clients filter by them in every space, whether it has them or not. */
const commonCurrencies: readonly string[] = ["points", "xp", "coins"];

/**
 * Returns a page of the user's transactions, newest first. A page may be short although more follow.
 *
 * @throws {AppError} `validation_failed` for a currency that is neither a metric of the space nor one of the interface.
 */
export async function listTransactions(
  { loyalty, cursors }: ListContext,
  user: SpaceUser,
  query: ListPageQuery & { readonly type?: "credit" | "debit"; readonly currency?: string },
): Promise<ListPage<TransactionDocument>> {
  const { limit, type, currency } = query;
  const { metrics } = await loyalty.config(user.spaceId);
  if (currency !== undefined && !metrics.has(currency) && !commonCurrencies.includes(currency)) {
    const message = "Cannot list the transactions of a currency that the space does not have";
    throw invalidField(message, "currency", "Is not a metric of the space");
  }
  const scope = scopeOf(user, "transactions", { type, currency });
  const position = cursors.open(scope, query.lastEvaluatedKey);
  const after = position === undefined ? undefined : parseLedgerPosition(position);
  const { items, end } = await loyalty.reader.ledger(user, { limit, type, metricId: currency, after });
  return {
    data: items.map(transactionDocument),
    lastEvaluatedKey: cursors.seal(scope, end === null ? null : `${end.recordId} ${end.taken}`),
  };
}

/**
 * Returns a page of the user's challenges: unfinished ones first, by their end, then finished ones, newest first. A page continues
 * after the last challenge of the one before, wherever that has moved since. `isKnown` is true if the store has loyalty or a profile of the user.
 */
export async function listChallenges(
  { loyalty, cursors }: ListContext,
  user: SpaceUser,
  { limit, status, lastEvaluatedKey }: ListPageQuery & { readonly status?: ChallengeDocument["status"] },
): Promise<{ readonly page: ListPage<ChallengeDocument>; readonly isKnown: boolean }> {
  const scope = scopeOf(user, "challenges", { status });
  const position = cursors.open(scope, lastEvaluatedKey);
  const { view, isKnown, extraRecord } = await loyalty.reader.challenges(user, readProfileRecord);
  const rest = view
    .map(challenge => ({ document: challengeDocument(challenge), order: sortKeyOf(challenge) }))
    .filter(({ document }) => status === undefined || document.status === status)
    .filter(({ order }) => position === undefined || order > position)
    .sort((a, b) => (a.order < b.order ? -1 : 1));
  const shown = rest.slice(0, limit);
  const end = rest.length > limit ? (shown.at(-1)?.order ?? null) : null;
  const data = shown.map(({ document }) => document);
  const page = { data, lastEvaluatedKey: cursors.seal(scope, end) };
  return { page, isKnown: isKnown || extraRecord !== null };
}

/** Returns a page of the user's notifications, newest first. `unreadCount` is of all notifications, not only those of the page. */
export async function listNotifications(
  { loyalty, cursors }: ListContext,
  user: SpaceUser,
  { limit, unread, lastEvaluatedKey }: ListPageQuery & { readonly unread: boolean },
): Promise<ListPage<NotificationDocument> & { readonly unreadCount: number }> {
  const scope = scopeOf(user, "notifications", { unread });
  const cursor = cursors.open(scope, lastEvaluatedKey);
  const page = await loyalty.inbox.list(user, {
    limit,
    unread,
    ...(cursor === undefined ? {} : { cursor }),
  });
  return {
    data: page.items.map(notificationDocument),
    lastEvaluatedKey: cursors.seal(scope, page.cursor),
    unreadCount: page.unreadCount,
  };
}

function scopeOf(
  { organisationId, spaceId, userId }: SpaceUser,
  resource: string,
  filters: CursorScope["filters"],
): CursorScope {
  return { organisationId, spaceId, userId, resource, filters };
}

function parseLedgerPosition(position: string): LedgerCursor {
  const [recordId = "", taken = "0"] = position.split(" ");
  return { recordId, taken: Number(taken) };
}

const digits = 16;

function sortKeyOf({ status, challenge, endsAt, completedAt, failedAt }: ChallengeView): string {
  const isOver = status === "completed" || status === "failed";
  const at = isOver
    ? Number.MAX_SAFE_INTEGER - (completedAt ?? failedAt ?? 0)
    : (endsAt ?? Number.MAX_SAFE_INTEGER);
  return `${isOver ? 1 : 0} ${String(at).padStart(digits, "0")} ${challenge.id}`;
}
