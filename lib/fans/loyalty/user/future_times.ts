/**
 * Repair of users of whom a process wrote whose clock was far ahead: the state and the lists that it dated ahead are dated now, so that
 * nothing after them is dated by that clock. What a history record says of itself stays as it is.
 *
 * @module
 */

import {
  decide,
  type LogEntry,
  type ReadLog,
  type ReadRecord,
  type Rule,
  type Store,
  type Stored,
  type Write,
} from "../../../storage/mod.ts";
import type { ProgressByWebhook } from "../webhooks/progress.ts";
import { notificationsMax, parseReadMarks, type ReadMarks } from "./inbox.ts";
import { isAhead, type SpaceUser, spaceUserPartition } from "./state.ts";
import { parseState, printState, readState, reversalGenerationsRead } from "./stored_state.ts";

/** Longest history that is written anew: one commit carries it. */
const historyEntriesMax = 800;
const historyCharsMax = 2_000_000;

/** What became of a user; `left`: a list cannot be dated anew. */
type FutureTimes = "none" | "found" | "repaired" | "left";

const historyRead: ReadLog = { type: "log", key: "history", limit: historyEntriesMax + 1 };
const notificationsRead: ReadLog = { type: "log", key: "notifications", limit: notificationsMax };
const webhooksRead: ReadRecord = { type: "record", key: "webhooks" };
const inboxRead: ReadRecord = { type: "record", key: "inbox" };

/** Finds out if a user was dated ahead of now (Unix ms), and repairs it if asked to. */
export async function repairFutureTimes(
  store: Store,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  { now, repairs }: { readonly now: number; readonly repairs: boolean },
): Promise<FutureTimes> {
  const partition = spaceUserPartition(user);
  const [stored, [last], [lastNotification]] = await store.read(partition, [
    readState,
    { ...historyRead, limit: 1, reverse: true },
    { ...notificationsRead, limit: 1, reverse: true },
  ]);
  const times = [stored === null ? 0 : parseState(stored.value).changedAt, last?.at, lastNotification?.at];
  if (!times.some(at => at !== undefined && isAhead(at, now))) return "none";
  return repairs ? await decide(store, partition, repairRule(now)) : "found";
}

type RepairReads = readonly [ReadRecord, ReadLog, ReadLog, ReadRecord, ReadRecord, ReadRecord];

/** The checks of all records make sure that nothing is appended meanwhile: what appends writes the state too. */
function repairRule(now: number): Rule<RepairReads, FutureTimes> {
  return {
    reads: [
      readState,
      historyRead,
      notificationsRead,
      webhooksRead,
      inboxRead,
      reversalGenerationsRead,
    ] as const,
    idempotent: true,
    apply([stored, history, notifications, webhooks, inbox, reversed]) {
      const dated = datedNow(history, now);
      const chars = history.reduce((sum, { value }) => sum + value.length, 0);
      // Marks of reversed transactions name entries by their ids.
      const isFixed = reversed !== null || chars > historyCharsMax;
      const isLeft = dated === null || history.length > historyEntriesMax || (dated.ids.size > 0 && isFixed);
      const datedNotifications = datedNow(notifications, now);
      const writes = [
        ...stateWrites(stored, now),
        ...(isLeft ? [] : [...dated.writesOf(historyRead.key), ...cursorWrites(webhooks, dated.ids, now)]),
        ...(datedNotifications === null
          ? []
          : [
              ...datedNotifications.writesOf(notificationsRead.key),
              ...markWrites(inbox, datedNotifications.ids),
            ]),
      ];
      return { writes, answer: isLeft || datedNotifications === null ? "left" : "repaired" };
    },
  };
}

function stateWrites(stored: Stored | null, now: number): readonly Write[] {
  if (stored === null) return [];
  const state = parseState(stored.value);
  if (!isAhead(state.changedAt, now)) return [];
  return [{ type: "put", key: readState.key, value: printState({ ...state, changedAt: now }) }];
}

/** A log with the entries that are ahead dated now. */
interface DatedLog {
  /** The new ids of these entries by their old ones. */
  readonly ids: ReadonlyMap<string, string>;
  /** The writes that replace the log; none where nothing is ahead. */
  writesOf(key: string): readonly Write[];
}

const unchanged: DatedLog = { ids: new Map(), writesOf: () => [] };

/** Dates entries; null where the others would not keep their ids. */
function datedNow(entries: readonly LogEntry[], now: number): DatedLog | null {
  if (!isAhead(entries.at(-1)?.at ?? 0, now)) return unchanged;
  const ids = new Map<string, string>();
  const dated: { readonly at: number; readonly value: string }[] = [];
  let last = { at: 0, number: 0 };
  for (const { id, at: before, value } of entries) {
    const at = isAhead(before, now) ? now : before;
    last = at > last.at ? { at, number: 1 } : { at: last.at, number: last.number + 1 };
    const after = `${last.at}-${last.number}`;
    if (at !== before) ids.set(id, after);
    else if (after !== id) return null;
    dated.push({ at: last.at, value });
  }
  const maxLength = dated.length;
  return {
    ids,
    writesOf: key => [
      { type: "delete", shape: "log", key },
      ...dated.map(({ at, value }): Write => ({ type: "append", key, value, at, maxLength })),
    ],
  };
}

/** Lets webhooks continue behind the entries that they have sent. */
function cursorWrites(
  stored: Stored | null,
  ids: ReadonlyMap<string, string>,
  now: number,
): readonly Write[] {
  if (stored === null || ids.size === 0) return [];
  const before = JSON.parse(stored.value) as ProgressByWebhook;
  const after = Object.entries(before).map(([id, progress]) => {
    const { cursor, from } = progress;
    const moved = cursor === null ? null : (ids.get(cursor) ?? cursor);
    return [id, { ...progress, cursor: moved, from: isAhead(from, now) ? now : from }];
  });
  return [{ type: "put", key: webhooksRead.key, value: JSON.stringify(Object.fromEntries(after)) }];
}

/** Keeps read notifications read, and later ones unread. */
function markWrites(stored: Stored | null, ids: ReadonlyMap<string, string>): readonly Write[] {
  if (stored === null || ids.size === 0) return [];
  const { through, ids: read } = parseReadMarks(stored);
  const after: ReadMarks = {
    through: through === null ? null : { ...through, id: ids.get(through.id) ?? through.id },
    ids: Object.fromEntries(Object.entries(read).map(([id, at]) => [ids.get(id) ?? id, at])),
  };
  return [{ type: "put", key: inboxRead.key, value: JSON.stringify(after) }];
}
