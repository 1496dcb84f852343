/**
 * Exports of an organisation: asked for, looked up and listed.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { decide, type Read, type Store, type Stored } from "../../storage/mod.ts";
import type { ExportSecret } from "../file/mod.ts";
import { setDue } from "./export_lease.ts";
import { type ExportJob, nextLook, parseJob } from "./job.ts";
import { type ExportAddress, exportKeys, exportsPartition, jobKey, secretKey } from "./partitions.ts";
import { openSecret, type SecretSeal, sealSecret } from "./sealed_secret.ts";
import { appendEntry, type TrailEntry } from "./trail.ts";

/** Most exports of an organisation that are not finished, where nothing else is said. */
export const openExportsMaxDefault = 5;
/** After which time a request that found no room may come back, in ms. */
export const openExportsRetryMs = 60_000;
/** Exports of a page that asks for no other number. */
export const exportPageDefault = 20;
/** Most exports of a page. */
export const exportPageMax = 100;
/** Most exports that began in the same millisecond as the last of a page. */
const tiesMax = 100;

/** A job with its password, as long as there is one. */
export interface FoundExport {
  readonly job: ExportJob;
  /** Null where the file is not encrypted, and after the job has expired. */
  readonly password: string | null;
}

/** A new job. */
export interface NewExport {
  readonly job: ExportJob;
  /** Null where the file will not be encrypted. */
  readonly secret: ExportSecret | null;
  readonly entry: TrailEntry;
}

/** Keeps exports. */
export interface ExportJobs {
  /**
   * Stores a new job; one that is there under the same id is answered as it is.
   *
   * @throws {AppError} `rate_limited`: the organisation has as many as it may that are not finished;
   *   `idempotency_mismatch`: the one that is there was another request.
   */
  add(added: NewExport): Promise<ExportJob>;
  find(address: ExportAddress): Promise<FoundExport | null>;
  /** Newest first, beyond a cursor of an earlier page. */
  list(
    organisationId: string,
    page: { readonly limit?: number; readonly cursor?: string | undefined },
  ): Promise<{ readonly jobs: readonly ExportJob[]; readonly cursor: string | null }>;
  /** Adds an entry to the trail of the organisation. */
  record(organisationId: string, entry: TrailEntry): Promise<void>;
}

/** What keeping exports needs. */
export interface ExportJobsOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly seal: SecretSeal;
  /** Most exports of an organisation that are not finished. @default openExportsMaxDefault */
  readonly openMax?: number;
}

/** Creates the exports of a platform. */
export function createExportJobs(options: ExportJobsOptions): ExportJobs {
  const { store, clock, seal } = options;
  return {
    async add(added) {
      const { job } = added;
      // Before the job: an entry without a job is passed over, a job without an entry would never be begun.
      await setDue(store, job, nextLook(job));
      return await insert(options, added);
    },
    async find({ organisationId, exportId }) {
      const [stored, sealed] = await store.read(exportsPartition(organisationId), [
        { type: "record", key: jobKey(exportId) },
        { type: "record", key: secretKey(exportId) },
      ]);
      if (stored === null) return null;
      const job = parseJob(stored.value);
      if (clock() >= job.removeAt) return null;
      const secret = sealed === null ? undefined : openSecret(seal, job, sealed.value);
      return { job, password: secret?.password ?? null };
    },
    list: (organisationId, page) => listJobs(store, organisationId, page),
    async record(organisationId, entry) {
      await store.commit(exportsPartition(organisationId), { writes: [appendEntry(entry)] });
    },
  };
}

async function insert(
  { store, seal, openMax = openExportsMaxDefault }: ExportJobsOptions,
  { job, secret, entry }: NewExport,
): Promise<ExportJob> {
  const { organisationId, exportId, createdAt, expiresAt } = job;
  const sealed = secret === null ? null : sealSecret(seal, job, secret);
  return await decide(store, exportsPartition(organisationId), {
    reads: [
      { type: "record", key: jobKey(exportId) },
      { type: "record", key: exportKeys.open },
    ],
    idempotent: true,
    apply([stored, open]) {
      if (stored !== null) return { writes: [], answer: sameRequest(parseJob(stored.value), job) };
      const ids = open === null ? [] : (JSON.parse(open.value) as readonly string[]);
      if (ids.length >= openMax) throw tooMany(openMax);
      const secrets =
        sealed === null
          ? []
          : [{ type: "put", key: secretKey(exportId), value: sealed, expireAt: expiresAt } as const];
      return {
        writes: [
          { type: "put", key: jobKey(exportId), value: JSON.stringify(job) },
          ...secrets,
          { type: "put", key: exportKeys.open, value: JSON.stringify([...ids, exportId]) },
          { type: "score", op: "set", key: exportKeys.jobs, member: exportId, score: createdAt },
          appendEntry(entry),
        ],
        answer: job,
      };
    },
  });
}

function sameRequest(there: ExportJob, asked: ExportJob): ExportJob {
  if (JSON.stringify(there.request) === JSON.stringify(asked.request)) return there;
  throw new AppError("idempotency_mismatch", "Cannot use the idempotency key: another export had it");
}

function tooMany(openMax: number): AppError {
  return new AppError(
    "rate_limited",
    `Cannot begin another export: ${openMax} of the organisation are not finished`,
    { retryAfterMs: openExportsRetryMs },
  );
}

async function listJobs(
  store: Store,
  organisationId: string,
  { limit = exportPageDefault, cursor }: { readonly limit?: number; readonly cursor?: string | undefined },
): Promise<{ readonly jobs: readonly ExportJob[]; readonly cursor: string | null }> {
  const [at = 0, after = ""] = placeOf(cursor);
  const partition = exportsPartition(organisationId);
  const [{ entries }] = await store.read(partition, [
    {
      type: "board",
      key: exportKeys.jobs,
      limit: limit + 1 + (cursor === undefined ? 0 : tiesMax),
      reverse: true,
      ...(cursor === undefined ? {} : { max: at }),
    },
  ]);
  const rest = entries.filter(
    ({ score, member }) => cursor === undefined || score < at || (score === at && member < after),
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

function placeOf(cursor: string | undefined): readonly [at?: number, exportId?: string] {
  if (cursor === undefined) return [];
  const [, at, exportId] = /^(\d{1,15})-([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (at === undefined || exportId === undefined) {
    throw new AppError("validation_failed", "Cannot list exports from there", {
      fields: [{ pointer: "lastEvaluatedKey", detail: "Expected the lastEvaluatedKey of a page" }],
    });
  }
  return [Number(at), exportId];
}
