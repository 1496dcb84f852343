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
import type { Partition, Store, Write } from "../../storage/mod.ts";
import { userPartition } from "../users.ts";
import type { Audit, AuditEntry } from "./audit.ts";
import { auditKey, auditLogs, projectEntriesMax, projectLog, userEntriesMax } from "./places.ts";

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

interface Waiting {
  readonly projectId: string;
  readonly entry: AuditEntry;
  readonly isGone: boolean;
}

/** Creates a writer over a store. */
export function createAuditWriter({ store, onLost }: AuditWriterOptions): AuditWriter {
  const waiting: Waiting[] = [];
  let running: Promise<void> | null = null;
  let lost = 0;
  let shard = 0;

  async function run(): Promise<void> {
    while (waiting.length > 0) {
      const batch = waiting.splice(0, auditBatchMax);
      shard = (shard + 1) % auditLogs;
      await Promise.all([...partsOf(batch, shard)].map(([partition, writes]) => commit(partition, writes)));
      if (lost > 0) onLost(lost, "too many were waiting");
      lost = 0;
    }
    running = null;
  }

  async function commit(partition: Partition, writes: readonly Write[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await store.commit(partition, { writes });
        return;
      } catch (error) {
        // Where the outcome is unknown another attempt could write the entries twice.
        const isFinal = !(error instanceof AppError) || error.code === "outcome_unknown";
        if (!isFinal && attempt < auditAttemptsMax) continue;
        onLost(writes.length, String(error));
        return;
      }
    }
  }

  return {
    write(projectId, entry, { isGone = false } = {}) {
      if (waiting.length >= auditWaitingMax) {
        lost += 1;
        return;
      }
      waiting.push({ projectId, entry, isGone });
      // Started in a microtask, so that whoever acts in the same turn shares the first batch too.
      running ??= Promise.resolve().then(run);
    },
    async idle() {
      while (running !== null) await running;
    },
  };
}

/** What a batch writes to each partition, in order. Each batch takes the next of a project's logs, so that all are used. */
function partsOf(batch: readonly Waiting[], shard: number): ReadonlyMap<Partition, Write[]> {
  const parts = new Map<Partition, Write[]>();
  function append(partition: Partition, entry: AuditEntry, maxLength: number): void {
    const writes = parts.get(partition) ?? [];
    parts.set(partition, writes);
    writes.push({ type: "append", key: auditKey, at: entry.at, value: JSON.stringify(entry), maxLength });
  }
  for (const { projectId, entry, isGone } of batch) {
    append(projectLog(projectId, shard), entry, projectEntriesMax);
    const { userId } = entry;
    if (userId !== undefined && !isGone) append(userPartition(projectId, userId), entry, userEntriesMax);
  }
  return parts;
}
