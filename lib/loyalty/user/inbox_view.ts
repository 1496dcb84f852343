/**
 * A user's notifications, as the log of them and the marks of what was read make them.
 *
 * @module
 */

import { addDuration, type Duration } from "../../calendar/mod.ts";
import type { LogEntry, Stored } from "../../storage/mod.ts";
import type { Notification } from "./history.ts";

/** A notification as a user has it; times in Unix ms. */
export interface InboxNotification extends Notification {
  readonly id: string;
  readonly createdAt: number;
  readonly isRead: boolean;
  /** Null while it is unread. */
  readonly readAt: number | null;
}

/** A notification with its end, in Unix ms. */
export interface InboxItem extends InboxNotification {
  /** From then on the user does not have it any more. */
  readonly expiresAt: number;
}

/** How long notifications last. */
export interface InboxPolicy {
  readonly keepFor: Duration;
  readonly timeZone: string;
}

/** What a user has read. */
export interface ReadMarks {
  /** Everything up to this id was read, at `at`, unless `ids` says an earlier time; null: nothing. */
  readonly through: { readonly id: string; readonly at: number } | null;
  readonly ids: Readonly<Record<string, number>>;
}

const noMarks: ReadMarks = { through: null, ids: {} };

/** The marks as they are stored. */
export function parseReadMarks(stored: Stored | null): ReadMarks {
  return stored === null ? noMarks : (JSON.parse(stored.value) as ReadMarks);
}

/** The marks of notifications that there still are. */
export function keepMarks({ ids }: ReadMarks, entries: readonly LogEntry[]): Record<string, number> {
  const present = new Set(entries.map(({ id }) => id));
  return Object.fromEntries(Object.entries(ids).filter(([id]) => present.has(id)));
}

/** What the entries of a log are seen with. */
export interface InboxContext {
  readonly marks: ReadMarks;
  readonly policy: InboxPolicy;
  readonly now: number;
}

/** The notifications that have not expired, newest first. */
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

/** How many notifications have neither expired nor been read. Counted without looking into them. */
export function countUnread(entries: readonly LogEntry[], { marks, policy, now }: InboxContext): number {
  const alive = entries.slice(0, aliveCount(entries, policy, now));
  return alive.filter(({ id }) => readAtOf(id, marks) === null).length;
}

/** Until when (Unix ms, exclusive) the same entries have surely not expired. */
export function inboxValidUntil(
  entries: readonly LogEntry[],
  { policy, now }: Omit<InboxContext, "marks">,
): number {
  const oldest = entries[aliveCount(entries, policy, now) - 1];
  return oldest === undefined ? Number.POSITIVE_INFINITY : oldest.at + shortestMs(policy.keepFor);
}

/** How many of the entries, newest first, have not expired. Found by halving, because the calendar is slow to ask. */
function aliveCount(entries: readonly LogEntry[], policy: InboxPolicy, now: number): number {
  const surely = shortestMs(policy.keepFor);
  function isAlive(index: number): boolean {
    const entry = entries[index];
    if (entry !== undefined && now - entry.at < surely) return true;
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

/** At least how long a duration is, in ms, whenever and wherever it begins: calendar days may be cut short by a day in all. */
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

/** The notification with its end. */
export function withExpiry(item: InboxNotification, { keepFor, timeZone }: InboxPolicy): InboxItem {
  return { ...item, expiresAt: addDuration(item.createdAt, keepFor, timeZone) };
}

function readAtOf(id: string, { through, ids }: ReadMarks): number | null {
  const marked = Object.hasOwn(ids, id) ? ids[id] : undefined;
  if (marked !== undefined) return marked;
  return through !== null && compareIds(id, through.id) <= 0 ? through.at : null;
}

/** The order of ids in a log: milliseconds, then the number within them. */
export function compareIds(a: string, b: string): number {
  const [aMs, aSequence] = placeOf(a);
  const [bMs, bSequence] = placeOf(b);
  return aMs - bMs || aSequence - bSequence;
}

function placeOf(id: string): [ms: number, sequence: number] {
  const hyphen = id.indexOf("-");
  return [Number(id.slice(0, hyphen)), Number(id.slice(hyphen + 1))];
}
