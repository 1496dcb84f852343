/**
 * The trail of one user: a record in the user's partition. It is no log, because Redis reserves 4 KiB for a log with a
 * single entry, several times the rest of most users.
 *
 * @module
 */

import { decide, type Store, type Stored } from "../../../storage/mod.ts";
import { userAuditKey, userPartition } from "../users.ts";
import {
  type AuditEntry,
  type AuditPage,
  type AuditPageOptions,
  auditPageDefault,
  formatCursor,
  parseCursor,
  userEntriesMax,
} from "./entries.ts";

interface StoredTrail {
  /** Number of entries that were dropped before the first one. */
  readonly dropped: number;
  /** The oldest first. */
  readonly entries: readonly AuditEntry[];
}

const read = { type: "record", key: userAuditKey } as const;

/**
 * Adds entries, and drops the oldest beyond the bound.
 *
 * @throws {AppError} What `decide` throws.
 */
export async function extendUserTrail(
  store: Store,
  projectId: string,
  userId: string,
  added: readonly AuditEntry[],
): Promise<void> {
  await decide(store, userPartition(projectId, userId), {
    reads: [read],
    apply: ([stored]) => {
      const before = trailOf(stored);
      const all = [...before.entries, ...added];
      const excess = Math.max(0, all.length - userEntriesMax);
      const trail: StoredTrail = { dropped: before.dropped + excess, entries: all.slice(excess) };
      return {
        writes: [{ type: "put", key: userAuditKey, value: JSON.stringify(trail) }],
        answer: undefined,
      };
    },
  });
}

/** Reads a page of the trail of a user, newest first. */
export async function readUserTrail(
  store: Store,
  projectId: string,
  userId: string,
  { limit = auditPageDefault, cursor }: AuditPageOptions = {},
): Promise<AuditPage> {
  const [stored] = await store.read(userPartition(projectId, userId), [read]);
  const { dropped, entries } = trailOf(stored);
  const end = cursor === undefined ? entries.length : Math.max(0, parseCursor(cursor).sequence - dropped);
  const start = Math.max(0, end - limit);
  const page = entries.slice(start, end);
  const [oldest] = page;
  const isLast = start === 0 || oldest === undefined;
  return {
    entries: page.toReversed(),
    cursor: isLast ? null : formatCursor({ at: oldest.at, sequence: dropped + start, log: 0 }),
  };
}

function trailOf(stored: Stored | null): StoredTrail {
  return stored === null ? { dropped: 0, entries: [] } : (JSON.parse(stored.value) as StoredTrail);
}
