/**
 * The stored exports of an organisation: created, looked up and listed.
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { decide, type Read, type Store, type Stored } from "../../../storage/mod.ts";
import type { ExportSecret } from "../file/secret.ts";
import { parseOpenIds, setDue } from "./export_lease.ts";
import { type ExportJob, nextDueAt, parseJob } from "./job.ts";
import { type ExportRef, exportKeys, exportsPartition, jobKey, secretKey } from "./partitions.ts";
import { openSecret, type SecretSeal, sealSecret } from "./sealed_secret.ts";
import { appendEntry, invalidCursor, type PageRequest, type TrailEntry } from "./trail.ts";

const openExportsMaxDefault = 5;
/** Delay after which a request that exceeds the bound on open exports may be repeated, in ms. */
const retryAfterMs = 60_000;
const pageDefault = 20;
/** Most exports that share the millisecond of the last one of a page. */
const tiesMax = 100;

/** A job with its password. */
export interface FoundExport {
  readonly job: ExportJob;
  /** Null if the file is not encrypted, and after the export has expired. */
  readonly password: string | null;
}

interface NewExport {
  readonly job: ExportJob;
  /** Null if the file is not to be encrypted. */
  readonly secret: ExportSecret | null;
  readonly entry: TrailEntry;
}

/** A page of exports, newest first. */
export interface ExportPage {
  readonly jobs: readonly ExportJob[];
  /** Cursor of the next page; null at the end. */
  readonly cursor: string | null;
}

interface ExportJobsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly seal: SecretSeal;
  /** Most unfinished exports of an organisation. @default 5 */
  readonly openMax?: number | undefined;
}

export class ExportJobs {
  readonly #options: ExportJobsOptions;

  constructor(options: ExportJobsOptions) {
    this.#options = options;
  }

  /**
   * Stores a new job, or returns the one that has its id.
   *
   * @throws {AppError} `rate_limited`: the organisation has too many unfinished exports; `idempotency_mismatch`: the stored
   *   job has another request.
   */
  async add(added: NewExport): Promise<ExportJob> {
    const { job, entry } = added;
    const { store, openMax = openExportsMaxDefault } = this.#options;
    const { organisationId, exportId, createdAt } = job;
    // Before the job: an entry without a job is skipped, but a job without an entry would never be processed.
    await setDue(store, job, nextDueAt(job));
    const secretWrites = await this.#secretWrites(added);
    return await decide(store, exportsPartition(organisationId), {
      reads: [
        { type: "record", key: jobKey(exportId) },
        { type: "record", key: exportKeys.open },
      ],
      idempotent: true,
      apply([stored, open]) {
        if (stored !== null) return { writes: [], answer: sameRequest(parseJob(stored.value), job) };
        const ids = parseOpenIds(open?.value);
        if (ids.length >= openMax) throw tooManyOpen(openMax);
        return {
          writes: [
            { type: "put", key: jobKey(exportId), value: JSON.stringify(job) },
            ...secretWrites,
            { type: "put", key: exportKeys.open, value: JSON.stringify([...ids, exportId]) },
            { type: "score", op: "set", key: exportKeys.jobs, member: exportId, score: createdAt },
            appendEntry(entry),
          ],
          answer: job,
        };
      },
    });
  }

  /** Returns an export with its password, or null. */
  async find({ organisationId, exportId }: ExportRef): Promise<FoundExport | null> {
    const { store, clock, seal } = this.#options;
    const [stored, sealed] = await store.read(exportsPartition(organisationId), [
      { type: "record", key: jobKey(exportId) },
      { type: "record", key: secretKey(exportId) },
    ]);
    const job = stored === null ? null : parseJob(stored.value);
    if (job === null || clock() >= job.removeAt) return null;
    const secret = await openSecret(seal, job, sealed?.value ?? null);
    return { job, password: secret?.password ?? null };
  }

  /** Lists exports. @throws {AppError} `validation_failed`: the cursor is of no page. */
  async list(organisationId: string, { limit = pageDefault, cursor }: PageRequest): Promise<ExportPage> {
    const { store } = this.#options;
    const partition = exportsPartition(organisationId);
    const after = cursor === undefined ? null : parseCursor(cursor);
    const [{ entries }] = await store.read(partition, [
      {
        type: "board",
        key: exportKeys.jobs,
        limit: limit + 1 + (after === null ? 0 : tiesMax),
        reverse: true,
        ...(after === null ? {} : { max: after.createdAt }),
      },
    ]);
    const rest = entries.filter(
      ({ score, member }) =>
        after === null || score < after.createdAt || (score === after.createdAt && member < after.exportId),
    );
    const shown = rest.slice(0, limit);
    const last = shown.at(-1);
    if (last === undefined) return { jobs: [], cursor: null };
    const reads = shown.map(({ member }): Read => ({ type: "record", key: jobKey(member) }));
    const found = (await store.read(partition, reads)) as readonly (Stored | null)[];
    return {
      jobs: found.flatMap(stored => (stored === null ? [] : [parseJob(stored.value)])),
      cursor: rest.length > limit ? `${last.score}-${last.member}` : null,
    };
  }

  /** Adds an entry to the trail of the organisation. */
  async record(organisationId: string, entry: TrailEntry): Promise<void> {
    await this.#options.store.commit(exportsPartition(organisationId), { writes: [appendEntry(entry)] });
  }

  async #secretWrites({ job, secret }: NewExport) {
    if (secret === null) return [];
    const value = await sealSecret(this.#options.seal, job, secret);
    return [{ type: "put", key: secretKey(job.exportId), value, expireAt: job.expiresAt } as const];
  }
}

function sameRequest(stored: ExportJob, requested: ExportJob): ExportJob {
  if (JSON.stringify(stored.request) === JSON.stringify(requested.request)) return stored;
  throw new AppError("idempotency_mismatch", "Cannot use the idempotency key: another export had it");
}

function tooManyOpen(openMax: number): AppError {
  return new AppError(
    "rate_limited",
    `Cannot begin another export: ${openMax} of the organisation are not finished`,
    { retryAfterMs },
  );
}

function parseCursor(cursor: string): { readonly createdAt: number; readonly exportId: string } {
  const [, createdAt, exportId] = /^(\d{1,15})-([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (createdAt === undefined || exportId === undefined)
    throw invalidCursor("Cannot list exports from there");
  return { createdAt: Number(createdAt), exportId };
}
