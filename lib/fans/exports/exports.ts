/** Exports of users: requested here, built in the background by whichever process finds them due. */

import { deriveKey, deriveKeys, fromBase64url, keyedTag, uuid } from "../../auth/crypto/mod.ts";
import type { Clock, Keys, MasterSecret, RandomBytes } from "../../auth/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import type { Announcer, Mailer, WebhookSender } from "../../base/outbound/outbound.ts";
import type { Logger } from "../../http/mod.ts";
import { type Blobs, decide, type Store } from "../../storage/mod.ts";
import type { UserSearch } from "../audience/mod.ts";
import type { Directory } from "../directory/mod.ts";
import type { ExportKernels } from "./file/kernels.ts";
import { newExportSecret } from "./file/secret.ts";
import { exportUsersMax } from "./jobs/build.ts";
import { createCapabilities, type DownloadCapabilities, downloadPath } from "./jobs/download_link.ts";
import { parseOpenIds, setDue } from "./jobs/export_lease.ts";
import {
  appendEntry,
  type ExportJob,
  type ExportRef,
  type ExportRequest,
  exportKeys,
  exportsPartition,
  invalidCursor,
  jobKey,
  nextDueAt,
  noProgress,
  openSecret,
  type PageRequest,
  parseJob,
  readTrail,
  type SecretSeal,
  sealSecret,
  secretKey,
  type TrailEntry,
  type TrailPage,
} from "./jobs/job.ts";
import { Notifier } from "./jobs/notifications.ts";
import { processDueJobs } from "./jobs/process_due_job.ts";
import { type ExportSettings, exportFaults, exportSettings } from "./jobs/settings.ts";

/** Default interval at which exports start, in ms: 5 minutes. */
export const exportIntervalMsDefault: number = 5 * 60_000;
/** Default lifetime of links and passwords, in ms: a day after the request. */
export const exportTtlMsDefault: number = 24 * 3_600_000;
/** Least lifetime of a file, in ms: two days after the request. */
const fileMs = 2 * 24 * 3_600_000;

const openExportsMaxDefault = 5;
/** Delay after which a request that exceeds the bound on open exports may be repeated, in ms. */
const retryAfterMs = 60_000;
const pageDefault = 20;
/** Most exports that share the millisecond of the last one of a page. */
const tiesMax = 100;

/** Options of an operator. */
export interface ExportOptions {
  /** Exports start at multiples of this, in ms since 1970; 0: at once. @default 300_000 */
  readonly intervalMs?: number | undefined;
  /** Lifetime of link and password after the request, in ms. @default 86_400_000 */
  readonly ttlMs?: number | undefined;
  /** Most users of an export. @default 1_000_000 */
  readonly usersMax?: number | undefined;
  /** Where exports are built: in this process, or in others that share store and files only. @default "inline" */
  readonly workers?: "inline" | "off" | undefined;
  /** Most unfinished exports of an organisation. @default 5 */
  readonly openMax?: number | undefined;
  /** Native functions: `nativeExportKernels()` of `grandstand/native`. @default portable code, which is slower */
  readonly kernels?: ExportKernels | undefined;
}

/** Dependencies of {@linkcode Exports}. */
export interface ExportsOptions extends ExportOptions {
  readonly store: Store;
  /** Undefined: requests are refused. */
  readonly blobs: Blobs | undefined;
  readonly search: UserSearch;
  readonly directory: Pick<Directory, "organisation">;
  readonly secret: MasterSecret;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly publicUrl: string;
  readonly mailer?: Mailer | undefined;
  readonly webhooks?: WebhookSender | undefined;
  readonly announcer?: Announcer | undefined;
  readonly logger: Logger;
}

/** A request for an export. */
export interface NewExportRequest extends Omit<ExportRequest, "fields"> {
  readonly organisationId: string;
  /** The API key of the caller. */
  readonly keyId: string;
  readonly requestId: string;
  /** Makes a repeated request the same export. */
  readonly idempotencyKey?: string | undefined;
  /** @default the fields of a search */
  readonly fields?: readonly string[] | undefined;
}

/** A job with its password. */
export interface FoundExport {
  readonly job: ExportJob;
  /** Null if the file is not encrypted, and after the export has expired. */
  readonly password: string | null;
}

/** A page of exports, newest first. */
interface ExportPage {
  readonly jobs: readonly ExportJob[];
  /** Cursor of the next page; null at the end. */
  readonly cursor: string | null;
}

/** The exports of a process. */
export class Exports {
  readonly #options: ExportsOptions;
  readonly #seal: SecretSeal;
  readonly #notifier: Notifier;
  readonly #idKey: Uint8Array;
  readonly #holder: string;
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  #isRequestedAgain = false;
  /** Issues and verifies the secret part of links. */
  readonly capabilities: DownloadCapabilities;

  constructor(options: ExportsOptions) {
    const { secret, clock, random } = options;
    this.#options = options;
    this.#seal = { keys: deriveKeys(secret, "export_secret"), random };
    this.#notifier = new Notifier({
      ...options,
      webhookKeys: organisationId => this.webhookKeys(organisationId),
      settings: organisationId => this.settings(organisationId),
      linkOf: job => this.linkOf(job, job.expiresAt, job.origin),
    });
    this.#idKey = deriveKey(secret, "export_id");
    this.#holder = uuid(random);
    this.capabilities = createCapabilities(deriveKeys(secret, "export_download"), clock, random);
  }

  /** The storage of files; undefined if there is none. */
  get blobs(): Blobs | undefined {
    return this.#options.blobs;
  }

  get clock(): Clock {
    return this.#options.clock;
  }

  /**
   * Accepts a request for an export.
   *
   * @throws {AppError} `validation_failed`: filter or fields are invalid; `limit_reached`: too many users; `not_available`: there
   *   is no storage for files; `rate_limited`: the organisation has too many unfinished exports; `idempotency_mismatch`: another
   *   request used the key.
   */
  async request(request: NewExportRequest): Promise<ExportJob> {
    const { organisationId, keyId, requestId, idempotencyKey, format, encrypt } = request;
    const { random, clock } = this.#options;
    const { fields, total } = await this.#check(request);
    const exportId =
      idempotencyKey === undefined ? uuid(random) : this.#idOf([organisationId, keyId, idempotencyKey]);
    const job = newJob(request, { exportId, fields, total }, this.#options);
    const { createdAt: at } = job;
    const requested = { at, event: "requested", exportId, actor: keyId, requestId } as const;
    const added = await this.#add(job, { ...requested, format, encrypted: encrypt });
    if (added.nextAt <= clock()) this.start();
    return added;
  }

  /** Returns an export with its password, or null. */
  async find({ organisationId, exportId }: ExportRef): Promise<FoundExport | null> {
    const { store, clock } = this.#options;
    const [stored, sealed] = await store.read(exportsPartition(organisationId), [
      { type: "record", key: jobKey(exportId) },
      { type: "record", key: secretKey(exportId) },
    ]);
    const job = stored === null ? null : parseJob(stored.value);
    if (job === null || clock() >= job.removeAt) return null;
    const secret = await openSecret(this.#seal, job, sealed?.value ?? null);
    return { job, password: secret?.password ?? null };
  }

  /**
   * Lists the exports of an organisation, newest first.
   *
   * @throws {AppError} `validation_failed`: the cursor is of no page.
   */
  async list(organisationId: string, { limit = pageDefault, cursor }: PageRequest): Promise<ExportPage> {
    const { store } = this.#options;
    const partition = exportsPartition(organisationId);
    const after =
      cursor === undefined ? { createdAt: Number.POSITIVE_INFINITY, exportId: "" } : parseCursor(cursor);
    const [{ entries }] = await store.read(partition, [
      {
        type: "board",
        key: exportKeys.jobs,
        limit: limit + 1 + (cursor === undefined ? 0 : tiesMax),
        reverse: true,
        max: after.createdAt,
      },
    ]);
    const rest = entries.filter(
      ({ score, member }) =>
        score < after.createdAt || (score === after.createdAt && member < after.exportId),
    );
    const shown = rest.slice(0, limit);
    const last = shown.at(-1);
    if (last === undefined) return { jobs: [], cursor: null };
    const reads = shown.map(({ member }) => ({ type: "record", key: jobKey(member) }) as const);
    const found = await store.read(partition, reads);
    return {
      jobs: found.flatMap(stored => (stored === null ? [] : [parseJob(stored.value)])),
      cursor: rest.length > limit ? `${last.score}-${last.member}` : null,
    };
  }

  /** Adds an entry to the audit trail. */
  async record(organisationId: string, entry: TrailEntry): Promise<void> {
    await this.#options.store.commit(exportsPartition(organisationId), { writes: [appendEntry(entry)] });
  }

  /** Lists the audit trail of an organisation, newest first. */
  trail(organisationId: string, page: PageRequest): Promise<TrailPage> {
    return readTrail(this.#options.store, organisationId, page);
  }

  /** Returns the settings of an organisation, and logs what is invalid in them. */
  async settings(organisationId: string): Promise<ExportSettings> {
    const { directory, logger } = this.#options;
    const organisation = await directory.organisation(organisationId);
    const faults = exportFaults(organisation?.settings, "/settings");
    if (faults.length > 0) {
      const details = faults.map(({ pointer, detail }) => `${pointer}: ${detail}`).join("; ");
      logger.log("warn", "export_settings_invalid", { organisationId, faults: details });
    }
    return exportSettings(organisation);
  }

  /** Returns the keys that sign an organisation's events, the one that receivers are told first. */
  webhookKeys(organisationId: string): Keys {
    return deriveKeys(this.#options.secret, "export_webhook", organisationId);
  }

  /** Returns a link to a file until a time, Unix ms. */
  linkOf(ref: ExportRef, until: number, origin: string = this.#options.publicUrl): string {
    return `${origin}${downloadPath}${this.capabilities.grant(ref, until)}`;
  }

  /** Starts to process due exports, unless this process already does or leaves them to others. */
  start(): void {
    if (this.#options.workers === "off") return;
    this.#isRequestedAgain = true;
    if (this.#stopping.signal.aborted || this.#running !== null) return;
    this.#running = this.#run().finally(() => {
      this.#running = null;
      // A request that came after the last look at the due queue.
      if (this.#isRequestedAgain) this.start();
    });
  }

  /** Resolves when no export is being processed. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Stops processing for good. Another process continues what is unfinished. */
  async close(): Promise<void> {
    this.#stopping.abort();
    await this.idle();
  }

  async #run(): Promise<void> {
    this.#isRequestedAgain = false;
    const { blobs, logger } = this.#options;
    if (blobs === undefined) return;
    try {
      await processDueJobs({
        ...this.#options,
        blobs,
        seal: this.#seal,
        notifier: this.#notifier,
        holder: this.#holder,
        stopping: this.#stopping.signal,
      });
    } catch (error) {
      logger.log("warn", "exports_not_processed", { error: String(error) });
    }
  }

  async #check({
    organisationId,
    spaceId,
    filter,
    fields,
    format,
  }: NewExportRequest): Promise<{ readonly fields: readonly string[]; readonly total: number }> {
    const { blobs, search, usersMax = exportUsersMax } = this.#options;
    if (blobs === undefined) {
      throw new AppError("not_available", "Cannot export users as the platform has no storage for files");
    }
    const compiled = await search.compile(organisationId, {
      spaceId,
      filter,
      fields,
      isFlat: format === "csv",
    });
    const total = await compiled.estimate();
    // A filter may leave fewer users, which is known only after they are counted.
    if (filter === undefined && total > usersMax) {
      throw new AppError(
        "limit_reached",
        `Cannot export ${total} users: an export has at most ${usersMax}, narrow it by a filter`,
      );
    }
    return { fields: compiled.fields.map(({ name }) => name), total };
  }

  /** Stores a new job, or returns the one that has its id. */
  async #add(job: ExportJob, entry: TrailEntry): Promise<ExportJob> {
    const { store, random, openMax = openExportsMaxDefault } = this.#options;
    const { organisationId, exportId, createdAt, expiresAt: expireAt, request } = job;
    // Before the job: an entry without a job is skipped, but a job without an entry would never be processed.
    await setDue(store, job, nextDueAt(job));
    const sealed = request.encrypt ? await sealSecret(this.#seal, job, newExportSecret(random)) : null;
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
        const secret = { type: "put", key: secretKey(exportId), expireAt } as const;
        return {
          writes: [
            { type: "put", key: jobKey(exportId), value: JSON.stringify(job) },
            ...(sealed === null ? [] : [{ ...secret, value: sealed }]),
            { type: "put", key: exportKeys.open, value: JSON.stringify([...ids, exportId]) },
            { type: "score", op: "set", key: exportKeys.jobs, member: exportId, score: createdAt },
            appendEntry(entry),
          ],
          answer: job,
        };
      },
    });
  }

  /** Derives the same id from the same key, so that a repeated request finds its export. */
  #idOf(parts: readonly string[]): string {
    const digest = fromBase64url(keyedTag(this.#idKey, parts)) ?? new Uint8Array(0);
    return uuid(length => digest.subarray(0, length));
  }
}

function newJob(
  { organisationId, spaceId, keyId, filter, format, encrypt, notify }: NewExportRequest,
  { exportId, fields, total }: Pick<ExportJob, "exportId" | "total"> & Pick<ExportRequest, "fields">,
  options: ExportsOptions,
): ExportJob {
  const { clock, intervalMs = exportIntervalMsDefault, ttlMs = exportTtlMsDefault } = options;
  const createdAt = clock();
  return {
    organisationId,
    exportId,
    request: { spaceId, ...(filter === undefined ? {} : { filter }), fields, format, encrypt, notify },
    keyId,
    origin: options.publicUrl,
    createdAt,
    expiresAt: createdAt + ttlMs,
    removeAt: createdAt + Math.max(fileMs, ttlMs),
    status: "processing",
    fence: 0,
    revision: 0,
    lease: null,
    tries: 0,
    nextAt: intervalMs === 0 ? createdAt : (Math.floor(createdAt / intervalMs) + 1) * intervalMs,
    total,
    progress: noProgress,
    head: null,
    strays: [],
    result: null,
    error: null,
    messages: [],
  };
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
