import type { GeoFile } from "../../adapters/geo/mod.ts";
import { nativeExportKernels, nativeKernels } from "../../adapters/native/mod.ts";
import { createWebhookSender } from "../../adapters/webhook/mod.ts";
import { createClientAddress, MasterSecret, systemClock, systemRandom } from "../../lib/auth/mod.ts";
import type { ExportOptions } from "../../lib/exports/mod.ts";
import type { Handler, Logger } from "../../lib/http/mod.ts";
import type { GeoReader } from "../../lib/location/mod.ts";
import {
  createPlatform,
  type DemoIds,
  type IdentityOptions,
  type Platform,
  type PlatformHttpOptions,
  type PlatformOptions,
  seedDemo,
  version,
} from "../../lib/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import type { Config } from "../config.ts";
import { overloaded, type Server } from "../server/gate.ts";
import { serveHere } from "../server/serve_here.ts";
import { demoSecret, reportDemo } from "../services/demo.ts";
import { type MailService, openMail, outboxArea } from "../services/mail.ts";
import { type Stoppable, startPeriodicWork } from "../services/periodic_work.ts";
import { loyaltyFromFile, seedFromFile } from "../services/seed_files.ts";
import { closeStorage, openStorage, type Storage } from "../services/storage.ts";

/** Options of {@linkcode runServe}. */
export interface ServeCommandOptions {
  readonly demo: boolean;
  readonly logger: Logger;
}

/** A running process. */
export interface Running {
  /** Printed once it runs: the address, and the credentials of a demo. */
  readonly announcement: string;
  /** Stops gracefully. Resolves with true if everything in flight finished in time. */
  stop(): Promise<boolean>;
}

type Ids = DemoIds & { readonly isNew: boolean };

/** Starts a server: opens the storage, listens, and creates the platform under the resulting address. */
export async function runServe(config: Config, options: ServeCommandOptions): Promise<Running> {
  const storage = await openStorage(config, options.logger);
  const { store } = storage;
  let handler: Handler = starting;
  const running: RunningParts = { storage, server: null, platform: null, workers: [], geo: null, mail: null };
  try {
    const geo = await openGeo(config, options.logger);
    running.geo = geo;
    const mail = await openMail(config, options);
    running.mail = mail;
    const server = await serveHere((request, info) => handler(request, info), {
      host: config.host,
      port: config.port,
      onError: error => options.logger.log("error", "background_work_failed", { error: String(error) }),
    });
    running.server = server;
    const ids = await fillStore(store, config, options);
    const baseUrl = baseUrlOf(config, server.url);
    const platform = await createPlatform(
      await platformOptions(config, { storage, geo, mail, baseUrl, ids, ...options }),
    );
    running.platform = platform;
    running.workers = startWorkers(platform, config, options.logger);
    handler = behindProxies(platform.fetch, config.trustedProxies ?? []);
    const address = `Grandstand ${version} listens on ${server.url} (${storage.description})`;
    const demo =
      ids &&
      (await reportDemo(platform, { ids, baseUrl, hasOutbox: mail.outbox !== null, file: config.demoFile }));
    return {
      announcement: demo === null ? address : `${address}\n${demo}`,
      stop: () => stopAll(running),
    };
  } catch (error) {
    await stopAll(running);
    throw error;
  }
}

/** Starts the background work of a process, and its worker for queued actions unless other processes do that. */
export function startWorkers(platform: Platform, { workers }: Config, logger: Logger): readonly Stoppable[] {
  const rounds = startPeriodicWork({
    work: () => platform.work(),
    onFailed: error => logger.log("warn", "work_failed", { error: String(error) }),
  });
  return workers === "off" ? [rounds] : [rounds, platform.startActionWorker()];
}

/** Writes the records that the settings demand. Returns the ids of the demo. */
async function fillStore(store: Store, config: Config, { demo }: ServeCommandOptions): Promise<Ids | null> {
  const clock = systemClock;
  if (config.seed !== undefined) {
    const configuredElsewhere = config.loyalty === undefined ? undefined : config.defaultSpaceId;
    await seedFromFile(store, config.seed, { configuredElsewhere });
  }
  const ids = demo ? await seedDemo({ store, random: systemRandom, clock }) : null;
  if (config.loyalty !== undefined) {
    const spaceId = config.defaultSpaceId ?? ids?.spaceId;
    await loyaltyFromFile(store, { path: config.loyalty, spaceId, clock });
  }
  return ids;
}

/** Answers requests before the platform is created. */
const starting: Handler = async () => {
  const { body, ...init } = overloaded();
  return new Response(body, init);
};

/** Resources that the server opened. */
export interface ServerResources {
  readonly storage: Storage;
  readonly geo: GeoReader | null;
  readonly mail: Pick<MailService, "mailer" | "outbox">;
  readonly logger: Logger;
  readonly baseUrl: string;
  readonly ids: DemoIds | null;
}

/** Networks in which a demo may call webhooks. */
const loopbackNetworks: readonly string[] = ["127.0.0.0/8", "::1"];

/** Returns the address under which clients reach the platform, with the base path at its end. */
export function baseUrlOf({ publicUrl, basePath = "" }: Config, address: string): string {
  const url = publicUrl ?? address;
  return url.endsWith(basePath) ? url : url + basePath;
}

/** Returns the options of the platform. */
export async function platformOptions(
  config: Config,
  {
    storage: { store, limiter, localLimiter, queue, blobs },
    geo,
    mail,
    logger,
    baseUrl,
    ids,
  }: ServerResources,
): Promise<PlatformOptions> {
  const { basePath, signatureAlgorithm, corsOrigins, rateLimits, metrics = false } = config;
  const defaultSpaceId = config.defaultSpaceId ?? ids?.spaceId;
  const http: PlatformHttpOptions = {
    metrics,
    ...(corsOrigins === undefined ? {} : { cors: corsOrigins.length > 0 && { origins: corsOrigins } }),
  };
  return {
    store,
    queue,
    blobs,
    limiter,
    ...(localLimiter === null ? {} : { localLimiter }),
    exports: exportOptions(config),
    logger,
    http,
    ...(config.publicUrl === undefined ? { localUrl: baseUrl } : { publicUrl: baseUrl }),
    passwordKernels: nativeKernels(),
    webhooks: createWebhookSender({
      networks: config.webhookNetworks ?? (ids === null ? [] : loopbackNetworks),
    }),
    secret: new MasterSecret(config.secret ?? (await demoSecret(store))),
    ...(basePath === undefined ? {} : { basePath }),
    ...(geo === null ? {} : { geo }),
    ...(mail.mailer === null ? {} : { mailer: mail.mailer }),
    ...(mail.outbox === null ? {} : { areas: [outboxArea(mail.outbox)] }),
    ...(defaultSpaceId === undefined ? {} : { defaultSpaceId }),
    ...(signatureAlgorithm === undefined ? {} : { signatureAlgorithm }),
    ...(rateLimits === undefined ? {} : { rateLimits }),
    identity: identityOptions(config),
  };
}

function exportOptions({ exports: workers, exportInterval, exportTtl }: Config): ExportOptions {
  return {
    kernels: nativeExportKernels(),
    ...(workers === undefined ? {} : { workers }),
    ...(exportInterval === undefined ? {} : { intervalMs: exportInterval * 1_000 }),
    ...(exportTtl === undefined ? {} : { ttlMs: exportTtl * 1_000 }),
  };
}

function identityOptions({ identityLimits, passwordHash }: Config): IdentityOptions {
  return {
    ...(identityLimits === "off" ? { limits: "off" } : {}),
    ...(passwordHash === undefined ? {} : { passwordHash }),
  };
}

/** Replaces the address of the last proxy by that of the client. */
function behindProxies(handler: Handler, trustedProxies: readonly string[]): Handler {
  if (trustedProxies.length === 0) return handler;
  const clientAddress = createClientAddress({ trustedProxies });
  return (request, info) => {
    if (info?.address === undefined) return handler(request, info);
    const forwardedFor = request.headers.get("x-forwarded-for");
    return handler(request, {
      ...info,
      address: clientAddress({ socketAddress: info.address, forwardedFor }),
    });
  };
}

interface RunningParts {
  readonly storage: Storage;
  server: Server | null;
  platform: Platform | null;
  workers: readonly Stoppable[];
  geo: GeoFile | null;
  mail: MailService | null;
}

/** Opens the country database that the settings name. The adapter is loaded only if one is named. */
async function openGeo({ geoip }: Config, logger: Logger): Promise<GeoFile | null> {
  if (geoip === undefined) return null;
  const { openGeoFile } = await import("../../adapters/geo/mod.ts");
  return await openGeoFile(geoip, {
    onReload: ({ type, builtAt }) =>
      logger.log("info", "geo_database_reloaded", { type, builtAt: new Date(builtAt).toISOString() }),
    onRefuse: error => logger.log("error", "geo_database_refused", { error: String(error) }),
  });
}

async function stopAll({ server, platform, workers, geo, mail, storage }: RunningParts): Promise<boolean> {
  const finished = (await server?.stop()) ?? true;
  await Promise.all(workers.map(worker => worker.stop()));
  await platform?.close();
  await geo?.[Symbol.asyncDispose]();
  await mail?.close();
  await closeStorage(storage);
  return finished;
}
