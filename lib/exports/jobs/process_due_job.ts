/**
 * What is done for a job that is due: build, tell, let it expire, remove.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Blobs } from "../../storage/mod.ts";
import { piecesOf } from "../file/parts.ts";
import { type BuildOptions, buildFile, Stopping } from "./build.ts";
import { type HeldJob, LeaseLost } from "./export_lease.ts";
import { expiredFault, lastFault, lastingFault, lostSecretFault } from "./faults.ts";
import { type ExportFault, type ExportJob, nextLook } from "./job.ts";
import type { Messenger } from "./messages.ts";
import { openSecret, type SecretSeal } from "./sealed_secret.ts";
import type { TrailEntry } from "./trail.ts";

/** How often a job is begun without getting on before it fails. */
export const exportTriesMax = 5;
/** Pause after the first try that failed, in ms; each further one is twice as long. */
export const exportPauseMs = 30_000;

/** What attending needs. */
export interface AttendOptions extends BuildOptions {
  readonly clock: Clock;
  readonly seal: Pick<SecretSeal, "key">;
  readonly messenger: Messenger;
  /** Told of what went wrong; the job is tried again, or failed. */
  readonly onFailed: (job: ExportJob, error: unknown) => void;
}

/** Does everything that is due for the job, and lets go of it. @throws {LeaseLost} */
export async function attend(held: HeldJob, options: AttendOptions): Promise<void> {
  try {
    while (nextLook(held.job) <= options.clock()) {
      if (options.stopping.aborted) throw new Stopping("The process ends");
      const isThere = await step(held, options);
      if (!isThere) return;
    }
    await held.release();
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    if (error instanceof Stopping) {
      // It was no failure of the job, and the next process begins at once.
      return await held.release({ tries: Math.max(0, held.job.tries - 1), nextAt: options.clock() });
    }
    options.onFailed(held.job, error);
    await afterFailure(held, options, error);
  }
}

/** The job is tried again after a pause, as often as it may be. */
async function afterFailure(held: HeldJob, options: AttendOptions, error: unknown): Promise<void> {
  const { status, tries } = held.job;
  if (status === "processing" && tries >= exportTriesMax) {
    await fail(held, options, lastFault(error));
    // Whoever is to be told need not wait.
    return await held.release();
  }
  await held.release({ nextAt: options.clock() + exportPauseMs * 2 ** Math.max(0, tries - 1) });
}

/** One step; false where the job is gone. */
async function step(held: HeldJob, options: AttendOptions): Promise<boolean> {
  const { job } = held;
  const now = options.clock();
  if (job.status === "processing") {
    if (now >= job.expiresAt) await fail(held, options, expiredFault);
    else if (job.tries > exportTriesMax) await fail(held, options, gaveUpFault);
    else await produce(held, options);
    return true;
  }
  if (job.status === "completed") {
    if (now >= job.expiresAt) {
      await held.save(
        { status: "expired", messages: [] },
        { entry: entryOf("expired", held.job, now), forgetSecret: true },
      );
    } else await options.messenger.send(held, passwordOf(held, options));
    return true;
  }
  await removeParts(held.job, options.blobs);
  if (now < job.removeAt) {
    await held.save({ head: null, progress: { ...job.progress, parts: [], before: null } });
    await options.messenger.send(held, null);
    return true;
  }
  await held.remove(entryOf("removed", held.job, now));
  return false;
}

async function produce(held: HeldJob, options: AttendOptions): Promise<void> {
  const secret = held.secret === null ? null : openSecret(options.seal, held.job, held.secret);
  if (held.job.request.encrypt && (secret === null || secret === undefined)) {
    return await fail(held, options, lostSecretFault);
  }
  try {
    const file = await buildFile(held, secret ?? null, options);
    await removeStrays(held.job, options.blobs);
    await complete(held, options, file);
  } catch (error) {
    const fault = lastingFault(error);
    if (fault === null) throw error;
    await fail(held, options, fault);
  }
}

async function complete(
  held: HeldJob,
  { clock, messenger }: AttendOptions,
  file: { readonly rowCount: number; readonly fileSize: number; readonly sha256: string },
): Promise<void> {
  const { organisationId, request, progress } = held.job;
  const messages = await messenger.messagesFor(organisationId, request.notify, request.encrypt);
  const completedAt = clock();
  await held.save(
    {
      status: "completed",
      result: { ...file, completedAt },
      messages,
      nextAt: completedAt,
      total: progress.examined,
      progress: { ...progress, before: null },
    },
    { entry: { ...entryOf("completed", held.job, completedAt), rowCount: file.rowCount } },
  );
}

/** Failing for good: what is stored is removed by the next step, which also tells whoever is to be told. */
async function fail(held: HeldJob, { clock, messenger }: AttendOptions, error: ExportFault): Promise<void> {
  const { organisationId, request } = held.job;
  const messages = await messenger.messagesFor(organisationId, request.notify, false);
  const now = clock();
  await held.save(
    { status: "failed", error, failedAt: now, messages, nextAt: now },
    { entry: { ...entryOf("failed", held.job, now), reason: error.code }, forgetSecret: true },
  );
}

function passwordOf(held: HeldJob, { seal }: AttendOptions): string | null {
  const secret = held.secret === null ? undefined : openSecret(seal, held.job, held.secret);
  return secret?.password ?? null;
}

async function removeParts(job: ExportJob, blobs: Blobs): Promise<void> {
  for (const { name } of piecesOf(job)) await blobs.remove(name);
  await removeStrays(job, blobs);
}

/** They stay on record until the job is removed, because whoever wrote them may have been asleep. */
async function removeStrays({ strays }: ExportJob, blobs: Blobs): Promise<void> {
  for (const name of strays) await blobs.remove(name);
}

function entryOf(event: TrailEntry["event"], job: ExportJob, at: number): TrailEntry {
  const { exportId, request } = job;
  return { at, event, exportId, format: request.format, encrypted: request.encrypt };
}

const gaveUpFault: ExportFault = {
  code: "internal_error",
  message: `Cannot finish the export: it was begun ${exportTriesMax} times without getting on`,
};
