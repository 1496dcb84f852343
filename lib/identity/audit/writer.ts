/**
 * Writes audit entries in the background.
 *
 * Entries wait in one list. While a batch is written more arrive, and all of them go with the next one: one commit for
 * each project in it and one for each user, however many entries they have. What cannot be written after the last
 * attempt is given up and counted, for a trail must never hold up what it tells of.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Store, Write } from "../../storage/mod.ts";
import type { Audit, AuditEntry } from "./audit.ts";
import { auditKey, auditLogs, projectEntriesMax, projectLog } from "./places.ts";
import { extendUserTrail } from "./user_trail.ts";

/** Most entries that wait in a process; beyond it new ones are lost. */
export const auditWaitingMax = 10_000;
/** Most entries that are written at once. */
export const auditBatchMax = 500;
/** Attempts to write a batch's part before it is given up. */
export const auditAttemptsMax = 3;

/** What a writer needs. */
export interface AuditWriterOptions {
  readonly store: Store;
  /** Told of entries that are lost, and why. */
  readonly onLost: (count: number, reason: string) => void;
}

/** Writes entries. */
export interface AuditWriter {
  write: Audit["record"];
  idle(): Promise<void>;
}

/** Entries for one trail: a user's, or where there is no user the project's. */
interface Part {
  readonly projectId: string;
  readonly userId: string | null;
  readonly entries: AuditEntry[];
}

interface Waiting {
  readonly projectId: string;
  readonly entry: AuditEntry;
  readonly isOfProjectAlone: boolean;
}

/** Creates a writer over a store. */
export function createAuditWriter({ store, onLost }: AuditWriterOptions): AuditWriter {
  const waiting: Waiting[] = [];
  let isRunning = false;
  let step: Promise<unknown> = Promise.resolve();
  let accepted = 0;
  let settled = 0;
  let lost = 0;
  let shard = 0;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, auditBatchMax);
      // Each batch takes the next of a project's logs, so that all are used.
      shard = (shard + 1) % auditLogs;
      step = Promise.all(partsOf(batch).map(commit));
      await step;
      settled += batch.length;
      if (lost > 0) onLost(lost, "too many were waiting");
      lost = 0;
    }
    isRunning = false;
  }

  async function commit({ projectId, userId, entries }: Part): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        if (userId === null)
          await store.commit(projectLog(projectId, shard), { writes: entries.map(append) });
        else await extendUserTrail(store, { projectId, userId }, entries);
        return;
      } catch (error) {
        // Where the outcome is unknown another attempt could write the entries twice.
        const isFinal = !(error instanceof AppError) || error.code === "outcome_unknown";
        if (!isFinal && attempt < auditAttemptsMax) continue;
        onLost(entries.length, String(error));
        return;
      }
    }
  }

  return {
    write(projectId, entry, { isOfProjectAlone = false } = {}) {
      if (waiting.length >= auditWaitingMax) {
        lost += 1;
        return;
      }
      waiting.push({ projectId, entry, isOfProjectAlone });
      accepted += 1;
      if (isRunning) return;
      isRunning = true;
      // Started in a microtask, so that whoever acts in the same turn shares the first batch too.
      step = Promise.resolve().then(() => void run());
    },
    async idle() {
      // Not until nothing waits at all: under steady load that may never come, and every request may wait for its entry.
      const target = accepted;
      while (settled < target) await step;
    },
  };
}

/** The entries of a batch, by trail. */
function partsOf(batch: readonly Waiting[]): Part[] {
  const parts = new Map<string, Part>();
  function add(projectId: string, userId: string | null, entry: AuditEntry): void {
    const name = JSON.stringify([projectId, userId]);
    const part = parts.get(name) ?? { projectId, userId, entries: [] };
    parts.set(name, part);
    part.entries.push(entry);
  }
  for (const { projectId, entry, isOfProjectAlone } of batch) {
    add(projectId, null, entry);
    if (entry.userId !== undefined && !isOfProjectAlone) add(projectId, entry.userId, entry);
  }
  return [...parts.values()];
}

function append(entry: AuditEntry): Write {
  const value = JSON.stringify(entry);
  return { type: "append", key: auditKey, at: entry.at, value, maxLength: projectEntriesMax };
}
