/**
 * Attempts that a limit refused, on the trail once a minute.
 *
 * Whoever goes on trying against a limit would otherwise push everything else off the trail, which is what somebody who
 * has something to hide would do.
 *
 * @module
 */

import type { AuditEntry } from "./audit.ts";

/** For how long a refusal stands for those like it, in ms. */
export const refusalQuietMs = 60_000;
/** Most kinds of refusals that a process remembers. */
export const refusalKindsMax = 10_000;

/** Whether an entry is to be left out, because one like it was recorded within {@linkcode refusalQuietMs}. */
export type RefusalFilter = (projectId: string, entry: AuditEntry) => boolean;

/** Creates a filter with a memory of its own. Refusals are alike in event, outcome, network and user. */
export function createRefusalFilter(): RefusalFilter {
  const recorded = new Map<string, number>();
  return (projectId, { at, event, outcome, addressTag, userId }) => {
    if (outcome !== "rate_limited" && outcome !== "too_many_attempts") return false;
    const kind = JSON.stringify([projectId, event, outcome, addressTag, userId]);
    const last = recorded.get(kind);
    if (last !== undefined && at - last < refusalQuietMs) return true;
    // Set anew, so that the map stays in the order of time and the oldest kind goes first.
    recorded.delete(kind);
    recorded.set(kind, at);
    const [oldest] = recorded.keys();
    if (oldest !== undefined && recorded.size > refusalKindsMax) recorded.delete(oldest);
    return false;
  };
}
