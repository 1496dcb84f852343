/** The life of a due job: build the file, send notifications, expire, remove. */

import type { Logger } from "../../../http/mod.ts";
import { LeaseLost } from "../../../storage/background/due_queue.ts";
import type { Blobs } from "../../../storage/mod.ts";
import { type BuildOptions, type BuiltFile, buildFile, ProcessStopping } from "./build.ts";
import { acquireExport, type ExportLease, type ExportLeaseOptions, setDue } from "./export_lease.ts";
import type { TrailEntry } from "./job.ts";
import {
  duePartition,
  type ExportFault,
  type ExportJob,
  type ExportRef,
  exportKeys,
  faultOf,
  nextDueAt,
  openSecret,
  parseDueMember,
  permanentFault,
  type SecretSeal,
} from "./job.ts";
import type { Notifier } from "./notifications.ts";
import { fileParts } from "./stored_file.ts";

/** Most attempts without progress before a job fails. */
const triesMax = 5;
/** Pause after the first failed attempt, in ms; it doubles with each. */
const firstPauseMs = 30_000;
/** Most entries of the due queue that are read at a time. */
const duePageMax = 100;
/** Time for which an entry of the due queue may precede its job, in ms. */
const orphanMs = 600_000;

const expiredFault: ExportFault = {
  code: "not_available",
  message: "Cannot finish the export as it expired before its file was complete",
};
const lostSecretFault: ExportFault = {
  code: "internal_error",
  message: "Cannot finish the export: its password cannot be read under the current master secret",
};
const gaveUpFault: ExportFault = {
  code: "internal_error",
  message: `Cannot finish the export: it was started ${triesMax} times without progress`,
};

export interface ProcessOptions extends BuildOptions, ExportLeaseOptions {
  readonly seal: Pick<SecretSeal, "keys">;
  readonly notifier: Notifier;
  readonly logger: Logger;
}

/** Processes every due export, one after the other. Several processes may do so at once. */
export async function processDueJobs(options: ProcessOptions): Promise<void> {
  const seen = new Set<string>();
  for (let offset = 0; ; ) {
    const now = options.clock();
    const [{ entries }] = await options.store.read(duePartition(), [
      { type: "board", key: exportKeys.due, max: now, offset, limit: duePageMax },
    ]);
    if (entries.length === 0) return;
    // An export that stays due waits for the next run, so that it does not hold up the others.
    const fresh = entries.filter(({ member }) => !seen.has(member));
    offset = fresh.length === 0 ? offset + entries.length : 0;
    for (const { member, score } of fresh) {
      if (options.stopping.aborted) return;
      seen.add(member);
      await processEntry(options, parseDueMember(member), now - score);
    }
  }
}

async function processEntry(options: ProcessOptions, ref: ExportRef, overdueMs: number): Promise<void> {
  try {
    const lease = await acquireExport(options, ref);
    if (lease === "missing") {
      if (overdueMs > orphanMs) await setDue(options.store, ref, null);
    } else if (lease !== "busy") {
      await processJob(lease, options);
    }
  } catch (error) {
    if (!(error instanceof LeaseLost)) logFailure(options.logger, ref, error);
  }
}

/** Does everything that is due for a job, and releases it. @throws {LeaseLost} */
async function processJob(lease: ExportLease, options: ProcessOptions): Promise<void> {
  try {
    while (nextDueAt(lease.job) <= options.clock()) {
      if (options.stopping.aborted) throw new ProcessStopping();
      if ((await takeStep(lease, options)) === "removed") return;
    }
    await lease.release();
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    if (error instanceof ProcessStopping) {
      // The job did not fail, and the next process may continue at once.
      return await lease.release({ tries: Math.max(0, lease.job.tries - 1), nextAt: options.clock() });
    }
    const failure = await retryOrFail(lease, options, error).catch((other: unknown) => other);
    // The process that took the job over may have removed what this one was reading.
    if (failure instanceof LeaseLost) throw failure;
    logFailure(options.logger, lease.job, error);
    if (failure !== undefined) throw failure;
  }
}

async function retryOrFail(lease: ExportLease, options: ProcessOptions, error: unknown): Promise<void> {
  const { status, tries } = lease.job;
  if (status === "processing" && tries >= triesMax) {
    await fail(lease, options, faultOf(error));
    return await lease.release();
  }
  await lease.release({ nextAt: options.clock() + firstPauseMs * 2 ** Math.max(0, tries - 1) });
}

async function takeStep(lease: ExportLease, options: ProcessOptions): Promise<"done" | "removed"> {
  const { job } = lease;
  const now = options.clock();
  if (job.status === "processing") {
    if (now >= job.expiresAt) await fail(lease, options, expiredFault);
    else if (job.tries > triesMax) await fail(lease, options, gaveUpFault);
    else await produceFile(lease, options);
    return "done";
  }
  if (job.status === "completed") {
    if (now < job.expiresAt) {
      const secret = await secretOf(lease, options);
      await options.notifier.send(lease, secret?.password ?? null);
    } else {
      const change = { status: "expired", messages: [] } as const;
      await lease.save(change, { entry: entryOf("expired", job, now), deleteSecret: true });
    }
    return "done";
  }
  await removeBlobs(options.blobs, [...fileParts(job).map(({ name }) => name), ...job.strays]);
  if (now < job.removeAt) {
    await lease.save({ head: null, progress: { ...job.progress, parts: [], before: null } });
    await options.notifier.send(lease, null);
    return "done";
  }
  await lease.remove(entryOf("removed", job, now));
  return "removed";
}

async function produceFile(lease: ExportLease, options: ProcessOptions): Promise<void> {
  const secret = await secretOf(lease, options);
  if (lease.job.request.encrypt && secret === null) return await fail(lease, options, lostSecretFault);
  try {
    const file = await buildFile(lease, secret, options);
    // Strays stay on record until the job is removed, because a stale process may still write them.
    await removeBlobs(options.blobs, lease.job.strays);
    await complete(lease, options, file);
  } catch (error) {
    const fault = permanentFault(error);
    if (fault === null) throw error;
    await fail(lease, options, fault);
  }
}

async function complete(
  lease: ExportLease,
  { clock, notifier, logger }: ProcessOptions,
  file: BuiltFile,
): Promise<void> {
  const { job } = lease;
  const messages = await notifier.notificationsFor(job, { hasPassword: job.request.encrypt });
  const completedAt = clock();
  await lease.save(
    {
      status: "completed",
      result: { ...file, completedAt },
      messages,
      nextAt: completedAt,
      total: job.progress.examined,
      progress: { ...job.progress, before: null },
    },
    { entry: { ...entryOf("completed", job, completedAt), rowCount: file.rowCount } },
  );
  logger.log("info", "export_completed", { exportId: job.exportId, rowCount: file.rowCount });
}

/** Fails a job. The next step removes its parts and sends its notifications. */
async function fail(
  lease: ExportLease,
  { clock, notifier, logger }: ProcessOptions,
  error: ExportFault,
): Promise<void> {
  const messages = await notifier.notificationsFor(lease.job, { hasPassword: false });
  const now = clock();
  await lease.save(
    { status: "failed", error, failedAt: now, messages, nextAt: now },
    { entry: { ...entryOf("failed", lease.job, now), reason: error.code }, deleteSecret: true },
  );
  logger.log("warn", "export_failed", { exportId: lease.job.exportId, reason: error.code });
}

function secretOf(lease: ExportLease, { seal }: ProcessOptions): ReturnType<typeof openSecret> {
  return openSecret(seal, lease.job, lease.sealedSecret);
}

async function removeBlobs(blobs: Blobs, names: readonly string[]): Promise<void> {
  for (const name of names) await blobs.remove(name);
}

function entryOf(event: TrailEntry["event"], job: ExportJob, at: number): TrailEntry {
  const { exportId, request } = job;
  return { at, event, exportId, format: request.format, encrypted: request.encrypt };
}

function logFailure(logger: Logger, { exportId }: ExportRef, error: unknown): void {
  logger.log("error", "export_attempt_failed", { exportId, error: String(error) });
}
