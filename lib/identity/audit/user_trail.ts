/**
 * The trail of one user: one record beside the user's other ones. A log would be the shape for it, but Redis reserves 4 KiB
 * for a log with a single entry, several times what is kept of most users altogether.
 *
 * @module
 */

import { decide, type Store, type Stored } from "../../storage/mod.ts";
import { userPartition } from "../users.ts";
import type { AuditEntry, AuditPage, AuditPageOptions } from "./audit.ts";
import { cursorOf, placeOf } from "./cursor.ts";
import { auditKey, auditPageDefault, userEntriesMax } from "./places.ts";

/** Whose trail it is. */
export interface TrailOwner {
  readonly projectId: string;
  readonly userId: string;
}

interface Kept {
  /** Number of entries before the first that is kept. */
  readonly dropped: number;
  /** The oldest first. */
  readonly entries: readonly AuditEntry[];
}

/**
 * Adds entries, and drops the oldest beyond {@linkcode userEntriesMax}.
 *
 * @throws {AppError} What `decide` throws.
 */
export async function extendUserTrail(
  store: Store,
  { projectId, userId }: TrailOwner,
  entries: readonly AuditEntry[],
): Promise<void> {
  await decide(store, userPartition(projectId, userId), {
    reads: [{ type: "record", key: auditKey }],
    apply: ([stored]) => {
      const before = keptOf(stored);
      const all = [...before.entries, ...entries];
      const excess = Math.max(0, all.length - userEntriesMax);
      const kept: Kept = { dropped: before.dropped + excess, entries: all.slice(excess) };
      return { writes: [{ type: "put", key: auditKey, value: JSON.stringify(kept) }], answer: undefined };
    },
  });
}

/** A page of the trail of a user, newest first. */
export async function userTrail(
  store: Store,
  { projectId, userId }: TrailOwner,
  { limit = auditPageDefault, cursor }: AuditPageOptions = {},
): Promise<AuditPage> {
  const [stored] = await store.read(userPartition(projectId, userId), [{ type: "record", key: auditKey }]);
  const { dropped, entries } = keptOf(stored);
  const end = cursor === undefined ? entries.length : Math.max(0, placeOf(cursor).sequence - dropped);
  const start = Math.max(0, end - limit);
  const shown = entries.slice(start, end);
  const [oldest] = shown;
  return {
    entries: shown.toReversed(),
    cursor:
      start === 0 || oldest === undefined
        ? null
        : cursorOf({ at: oldest.at, sequence: dropped + start, log: 0 }),
  };
}

function keptOf(stored: Stored | null): Kept {
  return stored === null ? { dropped: 0, entries: [] } : (JSON.parse(stored.value) as Kept);
}
