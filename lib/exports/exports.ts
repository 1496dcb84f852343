/**
 * Exports of users: asked for here, built in the background by whichever process comes to it.
 *
 * @module
 */

import { fromBase64url, keyedTag, uuid } from "../auth/crypto/mod.ts";
import { type Clock, deriveKey, type MasterSecret, type RandomBytes } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import type { Logger } from "../http/mod.ts";
import type { Announcer } from "../outbound/announcer.ts";
import type { Mailer } from "../outbound/mailer.ts";
import type { WebhookSender } from "../outbound/webhook_sender.ts";
import type { Blobs, Store } from "../storage/mod.ts";
import type { ExportKernels } from "./file/kernels.ts";
import { type ExportFormat, newExportSecret } from "./file/mod.ts";
import { type Capabilities, createCapabilities } from "./http/capability.ts";
import { exportUsersMax } from "./jobs/build.ts";
import { type ExportJob, type ExportNotice, noProgress } from "./jobs/job.ts";
import { createExportJobs, type ExportJobs } from "./jobs/jobs.ts";
import { createMessenger, type Messenger } from "./jobs/messages.ts";
import type { ExportAddress } from "./jobs/partitions.ts";
import { runExports } from "./jobs/runner.ts";
import { type ExportSettings, exportFaults, exportSettings } from "./jobs/settings.ts";
import type { CompiledSource, ExportSource } from "./jobs/source.ts";
import { readTrail, type TrailPage } from "./jobs/trail.ts";

/** How often exports are begun where nothing else is said, in ms: every 5 minutes. */
export const exportIntervalMsDefault: number = 5 * 60_000;
/** How long a link and a password are there where nothing else is said, in ms: a day from when the export was asked for. */
export const exportTtlMsDefault: number = 24 * 3_600_000;
/** How long a file is kept at least, in ms: two days from when the export was asked for. */
export const exportFileMs: number = 2 * 24 * 3_600_000;
/** The path of downloads, before the capability. */
export const downloadPath = "/v1/api/audience/exports/download/";

/** What an operator may choose. */
export interface ExportOptions {
  /** Exports begin at the multiples of this, in ms since 1970; 0: at once. @default exportIntervalMsDefault */
  readonly intervalMs?: number;
  /** From when an export was asked for until its link and password end, in ms. @default exportTtlMsDefault */
  readonly ttlMs?: number;
  /** Most users of an export. @default exportUsersMax */
  readonly usersMax?: number;
  /** Most exports of an organisation that are not finished. @default openExportsMaxDefault */
  readonly openMax?: number;
  /** Native functions: `nativeExportKernels()` of `grandstand/native`. Omitted: portable ones take their place. */
  readonly kernels?: ExportKernels;
}

/** What exports are made of. */
export interface ExportsOptions extends ExportOptions {
  readonly store: Store;
  /** Undefined: exports are refused. */
  readonly blobs: Blobs | undefined;
  readonly source: ExportSource;
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

/** What a back end asks for. */
export interface ExportOrder {
  readonly organisationId: string;
  readonly spaceId: string;
  /** The API key that asks. */
  readonly keyId: string;
  readonly requestId: string;
  /** Makes the same order the same export. */
  readonly idempotencyKey?: string | undefined;
  readonly filter?: unknown;
  readonly fields?: readonly string[] | undefined;
  readonly format: ExportFormat;
  readonly encrypt: boolean;
  readonly notify: ExportNotice | null;
}

/** Exports of a platform. */
export interface Exports extends Pick<ExportJobs, "find" | "list" | "record"> {
  /**
   * Accepts an export.
   *
   * @throws {AppError} `validation_failed`: filter or fields are wrong; `limit_reached`: more users than an export may have;
   *   `not_available`: there is no place for files; `rate_limited`: too many exports of the organisation are not finished;
   *   `idempotency_mismatch`: another order had the key.
   */
  request(order: ExportOrder): Promise<ExportJob>;
  trail(
    organisationId: string,
    page: { readonly limit?: number; readonly cursor?: string | undefined },
  ): Promise<TrailPage>;
  settings(organisationId: string): Promise<ExportSettings>;
  /** The bytes that an organisation's events are signed with. */
  webhookKey(organisationId: string): Uint8Array;
  readonly capabilities: Capabilities;
  /** The link to a file until a time, Unix ms. `origin` is where it begins. @default the public URL */
  linkOf(address: ExportAddress, until: number, origin?: string): string;
  readonly blobs: Blobs | undefined;
  readonly clock: Clock;
  /** Begins to do what is due, unless this process does already. */
  start(): void;
  /** Resolves when nothing is done any more. */
  idle(): Promise<void>;
  /** Lets go of what is under way, so that another process goes on with it, and begins nothing any more. */
  close(): Promise<void>;
}

/** Creates the exports of a process. */
export function createExports(options: ExportsOptions): Exports {
  const { store, secret, clock, random, publicUrl, directory, blobs } = options;
  const seal = { key: deriveKey(secret, "export_secret"), random };
  const jobs = createExportJobs({ ...options, seal });
  const capabilities = createCapabilities({ key: deriveKey(secret, "export_download"), clock, random });
  const idKey = deriveKey(secret, "export_id");
  const settings = async (organisationId: string): Promise<ExportSettings> => {
    const organisation = await directory.organisation(organisationId);
    const faults = exportFaults(organisation?.settings, "/settings");
    if (faults.length > 0) {
      const details = faults.map(({ pointer, detail }) => `${pointer}: ${detail}`).join("; ");
      options.logger.log("warn", "export_settings_not_valid", { organisationId, faults: details });
    }
    return exportSettings(organisation);
  };
  const webhookKey = (organisationId: string): Uint8Array =>
    deriveKey(secret, "export_webhook", organisationId);
  const linkOf: Exports["linkOf"] = (address, until, origin = publicUrl) =>
    `${origin}${downloadPath}${capabilities.grant(address, until)}`;
  const messenger = createMessenger({
    ...options,
    webhookKey,
    settings,
    linkOf: job => linkOf(job, job.expiresAt, job.origin),
    onFailed: ({ exportId }, kind, error) =>
      options.logger.log("warn", "export_message_not_sent", { exportId, kind, error: String(error) }),
  });
  const runs = createRuns(options, { seal, messenger });
  return {
    find: jobs.find,
    list: jobs.list,
    record: jobs.record,
    trail: (organisationId, page) => readTrail(store, organisationId, page),
    settings,
    webhookKey,
    capabilities,
    linkOf,
    blobs,
    clock,
    async request(order) {
      const { organisationId, keyId, idempotencyKey: key, encrypt } = order;
      const { source, total } = await checked(order, options);
      const exportId = key === undefined ? uuid(random) : idOf(idKey, [organisationId, keyId, key]);
      const job = newJob(order, { exportId, source, total }, options);
      const entry = {
        at: job.createdAt,
        event: "requested",
        exportId,
        actor: keyId,
        requestId: order.requestId,
        format: order.format,
        encrypted: encrypt,
      } as const;
      const added = await jobs.add({ job, secret: encrypt ? newExportSecret(random) : null, entry });
      if (added.nextAt <= clock()) runs.start();
      return added;
    },
    ...runs,
  };
}

/** The order's criteria, where they can be carried out. */
async function checked(
  { organisationId, spaceId, filter, fields }: ExportOrder,
  { source, blobs, usersMax = exportUsersMax }: ExportsOptions,
): Promise<{ readonly source: CompiledSource; readonly total: number }> {
  if (blobs === undefined) {
    throw new AppError("not_available", "Cannot export users as the platform has no place for files");
  }
  const compiled = await source.compile(organisationId, { spaceId, filter, fields });
  const total = await compiled.estimate();
  // A filter may leave fewer: that is known only once they have been counted.
  if (filter === undefined && total > usersMax) {
    throw new AppError(
      "limit_reached",
      `Cannot export ${total} users: an export has at most ${usersMax}, narrow it by a filter`,
    );
  }
  return { source: compiled, total };
}

/** The same id for the same key, so that an order which was cut off finds its export again. */
function idOf(key: Uint8Array, parts: readonly string[]): string {
  const digest = fromBase64url(keyedTag(key, parts)) ?? new Uint8Array(0);
  return uuid(length => digest.subarray(0, length));
}

interface Accepted {
  readonly exportId: string;
  readonly source: CompiledSource;
  readonly total: number;
}

function newJob(
  { organisationId, spaceId, keyId, filter, format, encrypt, notify }: ExportOrder,
  { exportId, source, total }: Accepted,
  options: ExportsOptions,
): ExportJob {
  const { clock, intervalMs = exportIntervalMsDefault, ttlMs = exportTtlMsDefault } = options;
  const createdAt = clock();
  const fields = source.fields.map(({ name }) => name);
  return {
    organisationId,
    exportId,
    request: { spaceId, ...(filter === undefined ? {} : { filter }), fields, format, encrypt, notify },
    keyId,
    origin: options.publicUrl,
    createdAt,
    expiresAt: createdAt + ttlMs,
    removeAt: createdAt + Math.max(exportFileMs, ttlMs),
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

/** One run at a time. */
function createRuns(
  options: ExportsOptions,
  parts: { readonly seal: { readonly key: Uint8Array }; readonly messenger: Messenger },
): Pick<Exports, "start" | "idle" | "close"> {
  const { blobs, random, logger } = options;
  const holder = uuid(random);
  const end = new AbortController();
  let running: Promise<void> | null = null;
  let isAskedAgain = false;

  async function run(): Promise<void> {
    isAskedAgain = false;
    if (blobs === undefined) return;
    try {
      await runExports({
        ...options,
        ...parts,
        blobs,
        holder,
        stopping: end.signal,
        onFailed: ({ exportId }, error) =>
          logger.log("error", "export_attempt_failed", { exportId, error: String(error) }),
      });
    } catch (error) {
      logger.log("warn", "exports_not_run", { error: String(error) });
    }
  }

  function start(): void {
    isAskedAgain = true;
    if (end.signal.aborted || running !== null) return;
    running = run().finally(() => {
      running = null;
      // What was asked for while the last look was over would wait for the next round.
      if (isAskedAgain) start();
    });
  }

  return {
    start,
    async idle() {
      while (running !== null) await running;
    },
    async close() {
      end.abort();
      while (running !== null) await running;
    },
  };
}
