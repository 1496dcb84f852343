/**
 * Views of notifications, made from the log and the read marks.
 *
 * @module
 */

import { addDuration, type Duration } from "../../../base/calendar/mod.ts";
import type { LogEntry, Stored } from "../../../storage/mod.ts";
import type { Notification } from "./history.ts";

/** A notification of a user; times in Unix ms. */
export interface InboxNotification extends Notification {
  readonly id: string;
  readonly createdAt: number;
  readonly isRead: boolean;
  /** Null: unread. */
  readonly readAt: number | null;
}

/** A notification with its expiry. */
export interface InboxItem extends InboxNotification {
  /** Unix ms, exclusive. */
  readonly expiresAt: number;
}

/** The life of notifications. */
export interface InboxPolicy {
  readonly keepFor: Duration;
  readonly timeZone: string;
}

/** The notifications that a user has read. */
export interface ReadMarks {
  /** All up to this id were read at `at`, unless `ids` has an earlier time; null: none. */
  readonly through: { readonly id: string; readonly at: number } | null;
  readonly ids: Readonly<Record<string, number>>;
}

const noMarks: ReadMarks = { through: null, ids: {} };

export function parseReadMarks(stored: Stored | null): ReadMarks {
  return stored === null ? noMarks : (JSON.parse(stored.value) as ReadMarks);
}

/** Returns the marks of notifications that still exist. */
export function keepMarks({ ids }: ReadMarks, entries: readonly LogEntry[]): Record<string, number> {
  const present = new Set(entries.map(({ id }) => id));
  return Object.fromEntries(Object.entries(ids).filter(([id]) => present.has(id)));
}

/** The context of a view. */
export interface InboxContext {
  readonly marks: ReadMarks;
  readonly policy: InboxPolicy;
  readonly now: number;
}

/** Returns the notifications that have not expired, newest first. */
export function validNotifications(
  entries: readonly LogEntry[],
  { marks, policy, now }: InboxContext,
): InboxNotification[] {
  return entries.slice(0, aliveCount(entries, policy, now)).map(({ id, at, value }) => {
    const readAt = readAtOf(id, marks);
    const notification = JSON.parse(value) as Notification;
    return { ...notification, id, createdAt: at, isRead: readAt !== null, readAt };
  });
}

/** Counts the unread notifications that have not expired, without parsing them. */
export function countUnread(entries: readonly LogEntry[], { marks, policy, now }: InboxContext): number {
  const alive = entries.slice(0, aliveCount(entries, policy, now));
  return alive.filter(({ id }) => readAtOf(id, marks) === null).length;
}

/** Returns until when (Unix ms, exclusive) certainly none of the valid notifications expires. */
export function inboxValidUntil(
  entries: readonly LogEntry[],
  { policy, now }: Omit<InboxContext, "marks">,
): number {
  const oldest = entries[aliveCount(entries, policy, now) - 1];
  return oldest === undefined ? Number.POSITIVE_INFINITY : oldest.at + shortestMs(policy.keepFor);
}

/** Counts the entries, newest first, that have not expired. It halves the range, because calendar arithmetic is slow. */
function aliveCount(entries: readonly LogEntry[], policy: InboxPolicy, now: number): number {
  const certainMs = shortestMs(policy.keepFor);
  function isAlive(index: number): boolean {
    const entry = entries[index];
    if (entry !== undefined && now - entry.at < certainMs) return true;
    return entry !== undefined && addDuration(entry.at, policy.keepFor, policy.timeZone) > now;
  }
  if (isAlive(entries.length - 1)) return entries.length;
  let [alive, expired] = [0, Math.max(0, entries.length - 1)];
  while (alive < expired) {
    const middle = (alive + expired) >>> 1;
    if (isAlive(middle)) alive = middle + 1;
    else expired = middle;
  }
  return alive;
}

const dayMs = 86_400_000;

/** Returns the least length of a duration in ms. Clock changes cut calendar days short by less than a day in all. */
function shortestMs({
  minutes = 0,
  hours = 0,
  days = 0,
  weeks = 0,
  months = 0,
  years = 0,
}: Duration): number {
  const calendarDays = days + 7 * weeks + 28 * months + 365 * years;
  return minutes * 60_000 + hours * 3_600_000 + Math.max(0, calendarDays - 1) * dayMs;
}

/** Adds the expiry to a notification. */
export function withExpiry(item: InboxNotification, { keepFor, timeZone }: InboxPolicy): InboxItem {
  return { ...item, expiresAt: addDuration(item.createdAt, keepFor, timeZone) };
}

function readAtOf(id: string, { through, ids }: ReadMarks): number | null {
  const marked = Object.hasOwn(ids, id) ? ids[id] : undefined;
  if (marked !== undefined) return marked;
  return through !== null && compareIds(id, through.id) <= 0 ? through.at : null;
}

/** Orders ids of log entries by their milliseconds, then by their numbers within them. */
export function compareIds(a: string, b: string): number {
  const [aMs, aSequence] = parseEntryId(a);
  const [bMs, bSequence] = parseEntryId(b);
  return aMs - bMs || aSequence - bSequence;
}

function parseEntryId(id: string): [ms: number, sequence: number] {
  const hyphen = id.indexOf("-");
  return [Number(id.slice(0, hyphen)), Number(id.slice(hyphen + 1))];
}
