/**
 * The lease of an export, which is a member of its job: a change of the job and the check of its fencing token are one commit.
 *
 * Each acquisition raises the token and each write checks it. A process that was suspended for longer than its lease can
 * therefore change nothing any more, whatever its clock says.
 *
 * The due queue only tells where to look; the job decides. So an entry may be early, late or orphaned, and it needs no lease of
 * its own, unlike those of `DueQueue` in lib/storage/background.
 */

import type { Clock } from "../../../auth/mod.ts";
import { claimLease, LeaseLost } from "../../../storage/background/due_queue.ts";
import { decide, type Store, type Write } from "../../../storage/mod.ts";
import {
  appendEntry,
  dueMember,
  duePartition,
  type ExportJob,
  type ExportRef,
  exportKeys,
  exportsPartition,
  jobKey,
  nextDueAt,
  parseJob,
  secretKey,
  type TrailEntry,
} from "./job.ts";

/** Time for which other processes leave a job alone after its last renewal, in ms. */
const leaseMs = 60_000;
/** Time between two writes of the progress, in ms. */
const progressMs = 2_000;

export interface ExportLeaseOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly holder: string;
}

/** A job that this process works on. Calls must not overlap. Each rejects with {@linkcode LeaseLost} after a takeover. */
export class ExportLease {
  readonly #options: ExportLeaseOptions;
  #job: ExportJob;
  /** The sealed password; null if the file is not encrypted, and after the export has expired. */
  readonly sealedSecret: string | null;

  constructor(options: ExportLeaseOptions, job: ExportJob, sealedSecret: string | null) {
    this.#options = options;
    this.#job = job;
    this.sealedSecret = sealedSecret;
  }

  get job(): ExportJob {
    return this.#job;
  }

  /** Changes the job and renews the lease. The same commit may add an entry to the trail, and delete the password. */
  async save(
    change: Partial<ExportJob>,
    { entry, deleteSecret = false }: { readonly entry?: TrailEntry; readonly deleteSecret?: boolean } = {},
  ): Promise<void> {
    const { clock, holder } = this.#options;
    const lease = { holder, until: clock() + leaseMs };
    const next: ExportJob = { ...this.#job, lease, ...change, revision: this.#job.revision + 1 };
    await this.#commit(next, [
      { type: "put", key: jobKey(next.exportId), value: JSON.stringify(next) },
      ...(entry === undefined ? [] : [appendEntry(entry)]),
      ...(deleteSecret ? [{ type: "delete", shape: "record", key: secretKey(next.exportId) } as const] : []),
    ]);
    this.#job = next;
  }

  /** Renews the lease once a third of it is over, and every two seconds if more users were examined, to show the progress. */
  async renew(examined: number = this.#job.examined ?? 0): Promise<void> {
    const left = (this.#job.lease?.until ?? 0) - this.#options.clock();
    const isProgress = examined > (this.#job.examined ?? 0) && left <= leaseMs - progressMs;
    if (left > (leaseMs * 2) / 3 && !isProgress) return;
    await this.save({ examined });
    await postpone(this.#options.store, this.#job);
  }

  async release(change: Partial<ExportJob> = {}): Promise<void> {
    await this.save({ ...change, lease: null });
    await setDue(this.#options.store, this.#job, nextDueAt(this.#job));
  }

  async remove(entry: TrailEntry): Promise<void> {
    const { exportId } = this.#job;
    await this.#commit({ ...this.#job, revision: this.#job.revision + 1 }, [
      { type: "delete", shape: "record", key: jobKey(exportId) },
      { type: "delete", shape: "record", key: secretKey(exportId) },
      { type: "unscore", key: exportKeys.jobs, member: exportId },
      appendEntry(entry),
    ]);
    await setDue(this.#options.store, this.#job, null);
  }

  async #commit(next: ExportJob, writes: readonly Write[]): Promise<void> {
    const { organisationId, exportId, fence, revision, status } = next;
    await decide(this.#options.store, exportsPartition(organisationId), {
      reads: [
        { type: "record", key: jobKey(exportId) },
        { type: "record", key: exportKeys.open },
      ],
      idempotent: true,
      apply([stored, open]) {
        const current = stored === null ? null : parseJob(stored.value);
        if (current?.fence !== fence) throw new LeaseLost("Another process holds the export");
        // An earlier attempt of this very write took effect.
        if (current.revision === revision) return { writes: [], answer: null };
        const ids = parseOpenIds(open?.value);
        if (status === "processing" || !ids.includes(exportId)) return { writes, answer: null };
        const value = JSON.stringify(ids.filter(id => id !== exportId));
        return { writes: [...writes, { type: "put", key: exportKeys.open, value }], answer: null };
      },
    });
  }
}

/** Acquires a due job. Returns `busy` if it is not due or another process holds it, and `missing` if there is none. */
export async function acquireExport(
  options: ExportLeaseOptions,
  ref: ExportRef,
): Promise<ExportLease | "busy" | "missing"> {
  const { store, clock, holder } = options;
  const { organisationId, exportId } = ref;
  let written: ExportJob | undefined;
  const found = await decide(store, exportsPartition(organisationId), {
    reads: [
      { type: "record", key: jobKey(exportId) },
      { type: "record", key: secretKey(exportId) },
    ],
    idempotent: true,
    apply([stored, secret]) {
      if (stored === null) return { writes: [], answer: null };
      const job = parseJob(stored.value);
      const leaseOf = (held: ExportJob): ExportLease => new ExportLease(options, held, secret?.value ?? null);
      // An earlier attempt of this very acquisition took effect: counted again, lost answers would use up the tries.
      if (job.revision === written?.revision && job.lease?.holder === holder)
        return { writes: [], answer: { job, lease: leaseOf(job) } };
      const now = clock();
      const current = { holder: "", until: 0, ...job.lease, token: job.fence };
      const claimed = nextDueAt(job) > now ? null : claimLease(current, { holder, durationMs: leaseMs, now });
      if (claimed === null) return { writes: [], answer: { job, lease: null as ExportLease | null } };
      const { token: fence, ...lease } = claimed;
      const tries = job.status === "processing" ? job.tries + 1 : job.tries;
      const next: ExportJob = { ...job, fence, revision: job.revision + 1, tries, lease };
      written = next;
      return {
        writes: [{ type: "put", key: jobKey(exportId), value: JSON.stringify(next) }],
        answer: { job: next, lease: leaseOf(next) },
      };
    },
  });
  if (found === null) return "missing";
  const { job, lease } = found;
  // The process that released the job may have died before it scheduled it.
  const scheduled = job.lease === null ? setDue(store, job, nextDueAt(job)) : postpone(store, job);
  // An early entry does no harm, and a lease that nobody uses would count as a try.
  await (lease === null ? scheduled : scheduled.catch(() => undefined));
  return lease ?? "busy";
}

export function parseOpenIds(text: string | undefined): readonly string[] {
  return text === undefined ? [] : (JSON.parse(text) as readonly string[]);
}

/** Schedules an export; null removes it from the due queue. */
export async function setDue(store: Store, ref: ExportRef, at: number | null): Promise<void> {
  const entry = { key: exportKeys.due, member: dueMember(ref) };
  await store.commit(duePartition(), {
    writes: [
      at === null
        ? { type: "unscore", ...entry }
        : { type: "score", op: "set", ...entry, score: Math.max(0, at) },
    ],
  });
}

/** Schedules a leased job for the end of its lease, which keeps the head of the due queue short. */
async function postpone(store: Store, job: ExportJob): Promise<void> {
  if (job.lease !== null) await setDue(store, job, job.lease.until);
}
