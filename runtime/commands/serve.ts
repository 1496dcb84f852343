import type { GeoFile } from "../../adapters/geo/mod.ts";
import { nativeExportKernels, nativeKernels } from "../../adapters/native/mod.ts";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { createWebhookSender } from "../../adapters/outbound/webhook.ts";
import { openTracer } from "../../adapters/tracing/mod.ts";
import { MasterSecret, systemClock, systemRandom } from "../../lib/auth/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import type { ExportOptions } from "../../lib/fans/exports/mod.ts";
import type { GeoReader } from "../../lib/fans/location/mod.ts";
import type { Handler, Logger } from "../../lib/http/mod.ts";
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
import type { PlatformMetrics } from "../../lib/platform/metrics/mod.ts";
import { baseUrlOf, type Config, drainSecondsDefault } from "../config.ts";
import { type Server, senderOf, starting } from "../server/gate.ts";
import { serveHere } from "../server/serve_here.ts";
import { demoSecret, reportDemo, requireWritable } from "../services/demo.ts";
import { openDocs } from "../services/docs.ts";
import { type MailService, openMail, outboxArea } from "../services/mail.ts";
import { openMetrics, serveMetrics } from "../services/metrics.ts";
import { type Stoppable, startPeriodicWork } from "../services/periodic_work.ts";
import { readSeedFiles } from "../services/seed_files.ts";
import { closeStorage, openStorage, type Storage, tryFolderOfFiles } from "../services/storage.ts";
import { openStudio } from "../services/studio.ts";

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

/**
 * Starts a server. Everything that can refuse the start comes before the seed is written, so that a refused start changes no
 * settings.
 */
export async function runServe(config: Config, options: ServeCommandOptions): Promise<Running> {
  const { logger } = options;
  const files = await readSeedFiles({ ...config, spaceId: config.defaultSpaceId });
  const storage = await openStorage(config, logger);
  const { store } = storage;
  let handler: Handler = answerStarting;
  const running: RunningParts = {
    ...{ storage, server: null, metricsServer: null, platform: null, workers: [], geo: null, mail: null },
  };
  try {
    await tryFolderOfFiles(config, storage);
    const geo = await openGeo(config, logger);
    running.geo = geo;
    const mail = await openMail(config, options);
    running.mail = mail;
    if (config.demoFile !== undefined) await requireWritable(config.demoFile);
    const server = await serveHere((request, info) => handler(request, info), {
      host: config.host,
      port: config.port,
      onError: error => logger.log("error", "background_work_failed", { error: String(error) }),
    });
    running.server = server;
    const ids = options.demo ? await seedDemo({ store, random: systemRandom, clock: systemClock }) : null;
    const baseUrl = baseUrlOf(config, server.url);
    const metrics = openMetrics(config);
    const platform = await createPlatform(
      await platformOptions(config, { storage, geo, mail, baseUrl, ids, logger, metrics }),
    );
    running.platform = platform;
    running.metricsServer = await serveMetrics(config, metrics, { platform, logger });
    await files.write(store, systemClock, ids?.spaceId);
    running.workers = startWorkers(platform, config, { logger, metrics });
    handler = platform.fetch;
    const lines = [`Grandstand ${version} listens on ${server.url} (${storage.description})`];
    if (!options.demo && config.redis === undefined && config.data === undefined) {
      const detail = "Nothing will outlast this process: set GRANDSTAND_REDIS or GRANDSTAND_DATA";
      logger.log("warn", "store_in_memory", { detail });
      lines.push(detail);
    }
    const demo =
      ids &&
      (await reportDemo(platform, { ids, baseUrl, hasOutbox: mail.outbox !== null, file: config.demoFile }));
    return {
      announcement: [...lines, ...(demo === null ? [] : [demo])].join("\n"),
      stop: () => stopAll(running, secondsOfDrain(config, options) * 1_000),
    };
  } catch (error) {
    await stopAll(running, 0);
    throw error;
  }
}

/** Returns the time for which a stopping server still answers: a demo has no load balancer that could take note. */
function secondsOfDrain({ drain }: Config, { demo }: ServeCommandOptions): number {
  return drain ?? (demo ? 0 : drainSecondsDefault);
}

/** Starts the background work of a process, and its worker for queued actions unless other processes do that. */
export function startWorkers(
  platform: Platform,
  { workers }: Config,
  { logger, metrics }: Pick<ServerResources, "logger" | "metrics">,
): readonly Stoppable[] {
  const rounds = startPeriodicWork({
    work: () => platform.work(),
    onFailed: error => logger.log("warn", "work_failed", { error: String(error) }),
    onRound: (ms, outcome) =>
      metrics?.histogram("grandstand_work_round_duration_seconds", { outcome }).record(ms / 1_000),
  });
  return workers === "off" ? [rounds] : [rounds, platform.startActionWorker()];
}

/** Answers requests before the platform is created. */
const answerStarting: Handler = async request => {
  const { body, ...init } = starting(senderOf(request));
  return new Response(body, init);
};

/** Resources that the server opened. */
export interface ServerResources {
  readonly storage: Storage;
  readonly geo: GeoReader | null;
  readonly mail: Pick<MailService, "mailer" | "outbox">;
  readonly logger: Logger;
  readonly metrics: PlatformMetrics | null;
  readonly baseUrl: string;
  readonly ids: DemoIds | null;
}

/** Networks in which a demo may call webhooks and read what authors name. */
const loopbackNetworks: readonly string[] = ["127.0.0.0/8", "::1"];

export async function platformOptions(
  config: Config,
  {
    storage: { store, limiter, localLimiter, queue, blobs },
    geo,
    mail,
    logger,
    metrics: registry,
    baseUrl,
    ids,
  }: ServerResources,
): Promise<PlatformOptions> {
  const {
    basePath,
    signatureAlgorithm,
    corsOrigins = "*",
    corsHeaders = [],
    rateLimits,
    metrics = false,
  } = config;
  const defaultSpaceId = config.defaultSpaceId ?? ids?.spaceId;
  const http: PlatformHttpOptions = {
    servesMetrics: metrics,
    cors: corsOrigins.length > 0 && { origins: corsOrigins, requestHeaders: corsHeaders },
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
    tracer: await openTracer(),
    ...(registry === null ? {} : { metrics: registry }),
    ...(config.publicUrl === undefined ? { localUrl: baseUrl } : { publicUrl: baseUrl }),
    passwordKernels: nativeKernels(),
    control: createControl,
    studio: openStudio(),
    docs: openDocs(),
    webhooks: createWebhookSender({
      networks: config.webhookNetworks ?? (ids === null ? [] : loopbackNetworks),
    }),
    outbound: createOutbound({
      networks: config.outboundNetworks ?? (ids === null ? [] : loopbackNetworks),
    }),
    clientAddress: { trustedProxies: config.trustedProxies ?? [] },
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

interface RunningParts {
  readonly storage: Storage;
  server: Server | null;
  metricsServer: Server | null;
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

async function stopAll(
  { server, metricsServer, platform, workers, geo, mail, storage }: RunningParts,
  drainMs: number,
): Promise<boolean> {
  platform?.drain();
  const finished = (await server?.stop({ drainMs })) ?? true;
  await Promise.all(workers.map(worker => worker.stop()));
  await platform?.close();
  await metricsServer?.stop();
  await geo?.[Symbol.asyncDispose]();
  await mail?.close();
  await closeStorage(storage);
  return finished;
}
