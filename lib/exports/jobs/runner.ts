/**
 * Goes through the exports that are due, one after the other.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { HeldJob, LeaseLost, setDue, takeJob } from "./export_lease.ts";
import { dueAddress, duePartition, type ExportAddress, exportKeys } from "./partitions.ts";
import { type AttendOptions, attend } from "./process_due_job.ts";

/** Most exports that are looked through at a time. */
export const dueExportsMax = 100;
/** How long an entry of the list may be without its job, which is stored after it, in ms. */
export const orphanMs = 600_000;

/** What a run needs. */
export interface RunOptions extends Omit<AttendOptions, "onFailed"> {
  readonly store: Store;
  readonly clock: Clock;
  readonly holder: string;
  /** Told of exports that could not be attended; they are looked at again. */
  readonly onFailed: (address: ExportAddress, error: unknown) => void;
}

/** Attends every export that is due, and says how many there were. Runs that overlap, in several processes, do no harm. */
export async function runExports(options: RunOptions): Promise<number> {
  let attended = 0;
  const seen = new Set<string>();
  for (let offset = 0; ; ) {
    const now = options.clock();
    const [{ entries }] = await options.store.read(duePartition(), [
      { type: "board", key: exportKeys.due, max: now, offset, limit: dueExportsMax },
    ]);
    if (entries.length === 0) return attended;
    // An export that is still due after it was attended waits for the next run, and none behind it does.
    const fresh = entries.filter(({ member }) => !seen.has(member));
    offset = fresh.length === 0 ? offset + entries.length : 0;
    for (const { member, score } of fresh) {
      if (options.stopping.aborted) return attended;
      seen.add(member);
      if (await attendOne(options, dueAddress(member), now - score)) attended += 1;
    }
  }
}

async function attendOne(options: RunOptions, address: ExportAddress, overdueMs: number): Promise<boolean> {
  try {
    const held = await takeJob(options, address);
    if (held instanceof HeldJob) {
      await attend(held, options);
      return true;
    }
    if (held.isGone && overdueMs > orphanMs) await setDue(options.store, address, null);
  } catch (error) {
    // Whoever has the job now goes on with it.
    if (!(error instanceof LeaseLost)) options.onFailed(address, error);
  }
  return false;
}
