/**
 * A job in the hands of one process.
 *
 * Whoever takes a job raises its fencing token, and every write of the holder checks that the token is still its own. So a process
 * that was away for longer than its lease can change nothing any more, whatever its clock says.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { decide, type Store, type Write } from "../../storage/mod.ts";
import { type ExportJob, nextLook, parseJob } from "./job.ts";
import {
  dueMember,
  duePartition,
  type ExportAddress,
  exportKeys,
  exportsPartition,
  jobKey,
  secretKey,
} from "./partitions.ts";
import { appendEntry, type TrailEntry } from "./trail.ts";

/** How long a process has a job for itself without telling that it lives, in ms. */
export const exportLeaseMs = 60_000;

/** What taking a job needs. */
export interface HoldOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Names this process among those that work on exports. */
  readonly holder: string;
}

/** Somebody else has taken the job. */
export class LeaseLost extends Error {
  override readonly name = "LeaseLost";
}

/** What else happens with a change. */
export interface SaveOptions {
  readonly entry?: TrailEntry;
  /** Whether the password goes with it. @default false */
  readonly forgetSecret?: boolean;
}

/** A job that this process works on. */
export class HeldJob {
  readonly #options: HoldOptions;
  #job: ExportJob;
  readonly #secret: string | null;

  constructor(options: HoldOptions, job: ExportJob, secret: string | null) {
    this.#options = options;
    this.#job = job;
    this.#secret = secret;
  }

  get job(): ExportJob {
    return this.#job;
  }

  /** The sealed password; null where the file is not encrypted, and after the job has expired. */
  get secret(): string | null {
    return this.#secret;
  }

  /**
   * Changes the job and renews the lease. Calls must not overlap.
   *
   * @throws {LeaseLost} Another process has the job.
   */
  async save(change: Partial<ExportJob>, { entry, forgetSecret = false }: SaveOptions = {}): Promise<void> {
    const { clock, holder } = this.#options;
    const lease = { holder, until: clock() + exportLeaseMs };
    const next: ExportJob = { ...this.#job, lease, ...change, revision: this.#job.revision + 1 };
    await this.#write(next, [
      { type: "put", key: jobKey(next.exportId), value: JSON.stringify(next) },
      ...(entry === undefined ? [] : [appendEntry(entry)]),
      ...(forgetSecret ? [{ type: "delete", shape: "record", key: secretKey(next.exportId) } as const] : []),
    ]);
    this.#job = next;
  }

  /** Renews the lease once a third of it is over, so that others stay away. @throws {LeaseLost} */
  async keep(): Promise<void> {
    const { lease } = this.#job;
    const left = (lease?.until ?? 0) - this.#options.clock();
    if (left > (exportLeaseMs * 2) / 3) return;
    await this.save({});
    await hide(this.#options, this.#job);
  }

  /** Lets others have the job, and says when. @throws {LeaseLost} */
  async release(change: Partial<ExportJob> = {}): Promise<void> {
    await this.save({ ...change, lease: null });
    await setDue(this.#options.store, this.#job, nextLook(this.#job));
  }

  /** Removes the record of the job for good. @throws {LeaseLost} */
  async remove(entry: TrailEntry): Promise<void> {
    const { exportId } = this.#job;
    await this.#write({ ...this.#job, revision: this.#job.revision + 1 }, [
      { type: "delete", shape: "record", key: jobKey(exportId) },
      { type: "delete", shape: "record", key: secretKey(exportId) },
      { type: "unscore", key: exportKeys.jobs, member: exportId },
      appendEntry(entry),
    ]);
    await setDue(this.#options.store, this.#job, null);
  }

  async #write(next: ExportJob, writes: readonly Write[]): Promise<void> {
    const { organisationId, exportId } = next;
    const isOver = next.status !== "processing";
    await decide(this.#options.store, exportsPartition(organisationId), {
      reads: [
        { type: "record", key: jobKey(exportId) },
        { type: "record", key: exportKeys.open },
      ],
      idempotent: true,
      apply([stored, open]) {
        const there = stored === null ? null : parseJob(stored.value);
        if (there?.fence !== next.fence) throw new LeaseLost("Another process has the export");
        // This very write, of which it was not known whether it took effect.
        if (there.revision === next.revision) return { writes: [], answer: null };
        const ids = open === null ? [] : (JSON.parse(open.value) as readonly string[]);
        if (!isOver || !ids.includes(exportId)) return { writes, answer: null };
        const value = JSON.stringify(ids.filter(id => id !== exportId));
        return { writes: [...writes, { type: "put", key: exportKeys.open, value }], answer: null };
      },
    });
  }
}

/** Takes a job that nobody else holds; null where somebody does, or where there is none (`isGone`). */
export async function takeJob(
  options: HoldOptions,
  address: ExportAddress,
): Promise<HeldJob | { readonly isGone: boolean }> {
  const { store, clock, holder } = options;
  const { organisationId, exportId } = address;
  const taken = await decide(store, exportsPartition(organisationId), {
    reads: [
      { type: "record", key: jobKey(exportId) },
      { type: "record", key: secretKey(exportId) },
    ],
    idempotent: true,
    apply([stored, secret]) {
      if (stored === null) return { writes: [], answer: null };
      const job = parseJob(stored.value);
      const now = clock();
      const isHeld = job.lease !== null && job.lease.holder !== holder && job.lease.until > now;
      if (isHeld || nextLook(job) > now) return { writes: [], answer: { job, secret: null, isHeld: true } };
      const next: ExportJob = {
        ...job,
        fence: job.fence + 1,
        revision: job.revision + 1,
        tries: job.status === "processing" ? job.tries + 1 : job.tries,
        lease: { holder, until: now + exportLeaseMs },
      };
      return {
        writes: [{ type: "put", key: jobKey(exportId), value: JSON.stringify(next) }],
        answer: { job: next, secret: secret?.value ?? null, isHeld: false },
      };
    },
  });
  if (taken === null) return { isGone: true };
  if (taken.isHeld) {
    // The list may be older than the job: whoever released it had no time to say when it is due.
    if (taken.job.lease === null) await setDue(store, taken.job, nextLook(taken.job));
    else await hide(options, taken.job);
    return { isGone: false };
  }
  await hide(options, taken.job);
  return new HeldJob(options, taken.job, taken.secret);
}

/** Says when somebody has to look at an export; null for never. */
export async function setDue(store: Store, address: ExportAddress, at: number | null): Promise<void> {
  const entry = { key: exportKeys.due, member: dueMember(address) };
  await store.commit(duePartition(), {
    writes: [
      at === null
        ? { type: "unscore", ...entry }
        : { type: "score", op: "set", ...entry, score: Math.max(0, at) },
    ],
  });
}

/** As long as somebody holds the job, it is due when the lease ends: what others look through stays short. */
async function hide({ store }: HoldOptions, job: ExportJob): Promise<void> {
  if (job.lease !== null) await setDue(store, job, job.lease.until);
}
