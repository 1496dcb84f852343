/**
 * The notifications of users.
 *
 * They are a log that commands append to. One record beside it has what was read, so that commands never write it and reading never
 * delays a command.
 */

import { addDuration, type Duration } from "../../../base/calendar/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import {
  decide,
  type LogEntry,
  type ReadLog,
  type ReadRecord,
  type Rule,
  type Stored,
} from "../../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { LoyaltyServices } from "../services.ts";
import type { Notification } from "./history.ts";
import { type SpaceUser, spaceUserPartition } from "./state.ts";

/** A user has this many notifications at most; the oldest is dropped first. */
export const notificationsMax = 100;
/** Length of a page by default. */
export const notificationsPageDefault = 20;

export const inboxReads: readonly [ReadRecord, ReadLog] = [
  { type: "record", key: "inbox" },
  { type: "log", key: "notifications", limit: notificationsMax, reverse: true },
];

const idShape = /^\d{1,15}-\d{1,15}$/;

type Settled = <T>(user: SpaceUser, read: () => Promise<T>) => Promise<T>;

/** Reads the notifications of users and marks them as read. */
export class Inbox {
  readonly #services: Pick<LoyaltyServices, "store" | "clock" | "configOf">;
  readonly #settled: Settled;

  /** @param settled Stores the due effects of time, with their notifications, before a list is read. */
  constructor(
    services: Pick<LoyaltyServices, "store" | "clock" | "configOf">,
    settled: Settled = (_, read) => read(),
  ) {
    this.#services = services;
    this.#settled = settled;
  }

  /**
   * Returns a page of the notifications, newest first. The count is of all that are unread; the cursor is that
   * of the next page, or null on the last one.
   *
   * @throws {AppError} `validation_failed`: the limit is out of bounds, or the cursor is of no page.
   */
  async list(
    user: SpaceUser,
    {
      unread = false,
      limit = notificationsPageDefault,
      cursor,
    }: {
      /** Only unread ones. */
      readonly unread?: boolean;
      /** 1 to {@linkcode notificationsMax}. */
      readonly limit?: number;
      /** Of the page before. */
      readonly cursor?: string;
    } = {},
  ): Promise<{
    readonly items: readonly InboxItem[];
    readonly cursor: string | null;
    readonly unreadCount: number;
  }> {
    if (!Number.isInteger(limit) || limit < 1 || limit > notificationsMax) {
      throw invalid("limit", `Expected a whole number from 1 to ${notificationsMax}`);
    }
    if (cursor !== undefined && !idShape.test(cursor)) {
      throw invalid("cursor", "Expected the cursor of a page");
    }
    const { items, policy } = await this.#settled(user, () => this.#read(user));
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
  }

  /** Returns every unread notification, oldest first. */
  async unread(user: SpaceUser): Promise<readonly InboxNotification[]> {
    const { items } = await this.#settled(user, () => this.#read(user));
    return unreadOf(items).toReversed();
  }

  /**
   * Marks a notification as read. One that is read already keeps its time.
   *
   * @throws {AppError} `not_found`: the user does not have such a notification, or not any more.
   */
  async markRead(user: SpaceUser, id: string): Promise<InboxItem> {
    const { store, clock, configOf } = this.#services;
    const policy = inboxPolicy(await configOf(user.spaceId));
    return await decide(store, spaceUserPartition(user), markRule(id, { policy, now: clock() }));
  }

  async #read(
    user: SpaceUser,
  ): Promise<{ readonly items: InboxNotification[]; readonly policy: InboxPolicy }> {
    const { store, clock, configOf } = this.#services;
    const [config, [stored, entries]] = await Promise.all([
      configOf(user.spaceId),
      store.read(spaceUserPartition(user), inboxReads),
    ]);
    const policy = inboxPolicy(config);
    const marks = parseReadMarks(stored);
    return { items: validNotifications(entries, { marks, policy, now: clock() }), policy };
  }
}

interface InboxPolicy {
  readonly keepFor: Duration;
  readonly timeZone: string;
}

export function inboxPolicy({ config: { notifications, timeZone } }: CompiledConfig): InboxPolicy {
  return { keepFor: notifications.keepFor, timeZone };
}

function markRule(id: string, context: Omit<InboxContext, "marks">): Rule<typeof inboxReads, InboxItem> {
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
      return { writes: [{ type: "put", key: "inbox", value: JSON.stringify({ ids }) }], answer };
    },
  };
}

function unreadOf(items: readonly InboxNotification[]): InboxNotification[] {
  return items.filter(({ isRead }) => !isRead);
}

function invalid(pointer: string, detail: string): AppError {
  return new AppError("validation_failed", "Cannot list the notifications as the query is not valid", {
    fields: [{ pointer, detail }],
  });
}

/** A notification of a user; times in Unix ms. */
export interface InboxNotification extends Notification {
  readonly id: string;
  readonly createdAt: number;
  readonly isRead: boolean;
  /** Null: unread. */
  readonly readAt: number | null;
}

export interface InboxItem extends InboxNotification {
  /** Unix ms, exclusive. */
  readonly expiresAt: number;
}

/** The notifications that a user has read. */
export interface ReadMarks {
  /** When each was read, by its id. */
  readonly ids: Readonly<Record<string, number>>;
}

const noMarks: ReadMarks = { ids: {} };

export function parseReadMarks(stored: Stored | null): ReadMarks {
  return stored === null ? noMarks : (JSON.parse(stored.value) as ReadMarks);
}

/** Returns the marks of notifications that still exist. */
function keepMarks({ ids }: ReadMarks, entries: readonly LogEntry[]): Record<string, number> {
  const present = new Set(entries.map(({ id }) => id));
  return Object.fromEntries(Object.entries(ids).filter(([id]) => present.has(id)));
}

interface InboxContext {
  readonly marks: ReadMarks;
  readonly policy: InboxPolicy;
  readonly now: number;
}

/** Returns the notifications that have not expired, newest first. */
function validNotifications(
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

function withExpiry(item: InboxNotification, { keepFor, timeZone }: InboxPolicy): InboxItem {
  return { ...item, expiresAt: addDuration(item.createdAt, keepFor, timeZone) };
}

function readAtOf(id: string, { ids }: ReadMarks): number | null {
  return (Object.hasOwn(ids, id) ? ids[id] : null) ?? null;
}

/** Orders ids of log entries by their milliseconds, then by their numbers within them. */
function compareIds(a: string, b: string): number {
  const [aMs, aSequence] = parseEntryId(a);
  const [bMs, bSequence] = parseEntryId(b);
  return aMs - bMs || aSequence - bSequence;
}

function parseEntryId(id: string): [ms: number, sequence: number] {
  const hyphen = id.indexOf("-");
  return [Number(id.slice(0, hyphen)), Number(id.slice(hyphen + 1))];
}
