/**
 * Exports of users: requested here, built in the background by whichever process finds them due.
 *
 * @module
 */

import { deriveKey, fromBase64url, keyedTag, uuid } from "../../auth/crypto/mod.ts";
import type { Clock, MasterSecret, RandomBytes } from "../../auth/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import type { Announcer, Mailer, WebhookSender } from "../../base/outbound/outbound.ts";
import type { Logger } from "../../http/mod.ts";
import type { Blobs, Store } from "../../storage/mod.ts";
import type { UserSearch } from "../audience/mod.ts";
import type { Directory } from "../directory/mod.ts";
import type { ExportKernels } from "./file/kernels.ts";
import { newExportSecret } from "./file/secret.ts";
import { exportUsersMax } from "./jobs/build.ts";
import { createCapabilities, type DownloadCapabilities, downloadPath } from "./jobs/download_link.ts";
import { ExportJobs, type ExportPage, type FoundExport } from "./jobs/export_jobs.ts";
import { type ExportJob, type ExportRequest, noProgress } from "./jobs/job.ts";
import { Notifier } from "./jobs/notifications.ts";
import type { ExportRef } from "./jobs/partitions.ts";
import { processDueJobs } from "./jobs/process_due_job.ts";
import type { SecretSeal } from "./jobs/sealed_secret.ts";
import { type ExportSettings, exportFaults, exportSettings } from "./jobs/settings.ts";
import { type PageRequest, readTrail, type TrailEntry, type TrailPage } from "./jobs/trail.ts";

/** Default interval at which exports start, in ms: 5 minutes. */
export const exportIntervalMsDefault: number = 5 * 60_000;
/** Default lifetime of links and passwords, in ms: a day after the request. */
export const exportTtlMsDefault: number = 24 * 3_600_000;
/** Least lifetime of a file, in ms: two days after the request. */
const fileMs = 2 * 24 * 3_600_000;

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

/** The exports of a process. */
export class Exports {
  readonly #options: ExportsOptions;
  readonly #seal: SecretSeal;
  readonly #jobs: ExportJobs;
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
    this.#seal = { key: deriveKey(secret, "export_secret"), random };
    this.#jobs = new ExportJobs({ ...options, seal: this.#seal });
    this.#notifier = new Notifier({
      ...options,
      webhookKey: organisationId => this.webhookKey(organisationId),
      settings: organisationId => this.settings(organisationId),
      linkOf: job => this.linkOf(job, job.expiresAt, job.origin),
    });
    this.#idKey = deriveKey(secret, "export_id");
    this.#holder = uuid(random);
    this.capabilities = createCapabilities(deriveKey(secret, "export_download"), clock, random);
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
    const added = await this.#jobs.add({
      job,
      secret: encrypt ? newExportSecret(random) : null,
      entry: { at, event: "requested", exportId, actor: keyId, requestId, format, encrypted: encrypt },
    });
    if (added.nextAt <= clock()) this.start();
    return added;
  }

  /** Returns an export with its password, or null. */
  find(ref: ExportRef): Promise<FoundExport | null> {
    return this.#jobs.find(ref);
  }

  /** Lists the exports of an organisation, newest first. */
  list(organisationId: string, page: PageRequest): Promise<ExportPage> {
    return this.#jobs.list(organisationId, page);
  }

  /** Adds an entry to the audit trail. */
  record(organisationId: string, entry: TrailEntry): Promise<void> {
    return this.#jobs.record(organisationId, entry);
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

  /** Returns the key that signs an organisation's events. */
  webhookKey(organisationId: string): Uint8Array {
    return deriveKey(this.#options.secret, "export_webhook", organisationId);
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
