import type { GeoFile } from "../adapters/geo/mod.ts";
import { nativeExportKernels, nativeKernels } from "../adapters/native/mod.ts";
import { createWebhookSender } from "../adapters/webhook/mod.ts";
import { createClientAddress, MasterSecret, systemClock, systemRandom } from "../lib/auth/mod.ts";
import type { ExportOptions } from "../lib/exports/mod.ts";
import type { Handler, Logger } from "../lib/http/mod.ts";
import type { GeoReader } from "../lib/location/mod.ts";
import {
  createPlatform,
  type DemoIds,
  type IdentityOptions,
  type Platform,
  type PlatformHttpOptions,
  type PlatformOptions,
  seedDemo,
  version,
} from "../lib/mod.ts";
import type { Store } from "../lib/storage/mod.ts";
import { demoSecret, reportDemo } from "./_demo.ts";
import { overloaded, type Server } from "./_gate.ts";
import { openGeo } from "./_geo.ts";
import { loyaltyFromFile } from "./_loyalty_file.ts";
import { type MailWay, openMail } from "./_mail.ts";
import { outboxArea } from "./_outbox.ts";
import { serveHere } from "./_runtime.ts";
import { seedFromFile } from "./_seed.ts";
import { closeStorage, openStorage, type Storage } from "./_stores.ts";
import { startWorker } from "./_worker.ts";
import type { Config } from "./config.ts";

/** What a server is started with beside its settings. */
export interface ServeCommandOptions {
  readonly demo: boolean;
  readonly logger: Logger;
}

/** A running server with everything behind it. */
export interface Running {
  /** What people are told: the address, and the demo. */
  readonly announcement: string;
  /** Stops gracefully; resolves with whether everything in flight finished in time. */
  stop(): Promise<boolean>;
}

/** Something that goes on until it is stopped. */
export interface Stoppable {
  stop(): Promise<void>;
}

type Ids = DemoIds & { readonly isNew: boolean };

/** Opens the store, listens, builds the platform under the address that it got, and says where it is. */
export async function runServe(config: Config, options: ServeCommandOptions): Promise<Running> {
  const storage = await openStorage(config, options.logger);
  const { store } = storage;
  let handler: Handler = starting;
  const running: Parts = { storage, server: null, platform: null, workers: [], geo: null, mail: null };
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
    const baseUrl = config.publicUrl ?? server.url;
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

/** Starts what a process does beside answering requests: the work of every few seconds, and actions unless others do them. */
export function startWorkers(platform: Platform, { workers }: Config, logger: Logger): readonly Stoppable[] {
  const rounds = startWorker({
    work: () => platform.work(),
    onFailed: error => logger.log("warn", "work_failed", { error: String(error) }),
  });
  return workers === "off" ? [rounds] : [rounds, platform.startActionWorker()];
}

/** Writes what the settings say should be there, and answers the ids of the demo. */
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

/** Requests that arrive before the platform is built may come back. */
const starting: Handler = async () => {
  const { body, ...init } = overloaded();
  return new Response(body, init);
};

/** What a platform is made of beside the settings. */
export interface Surroundings {
  readonly storage: Storage;
  readonly geo: GeoReader | null;
  readonly mail: Pick<MailWay, "mailer" | "outbox">;
  readonly logger: Logger;
  readonly baseUrl: string;
  readonly ids: DemoIds | null;
}

/** Where the services of whoever tries a demo are. */
const thisMachine: readonly string[] = ["127.0.0.0/8", "::1"];

/** What a platform is made of, from the settings. */
export async function platformOptions(
  config: Config,
  { storage: { store, limiter, localLimiter, queue, blobs }, geo, mail, logger, baseUrl, ids }: Surroundings,
): Promise<PlatformOptions> {
  const { signatureAlgorithm, corsOrigins, rateLimits, metrics = false } = config;
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
    publicUrl: baseUrl,
    passwordKernels: nativeKernels(),
    webhooks: createWebhookSender({ networks: config.webhookNetworks ?? (ids === null ? [] : thisMachine) }),
    secret: new MasterSecret(config.secret ?? (await demoSecret(store))),
    ...(geo === null ? {} : { geo }),
    ...(mail.mailer === null ? {} : { mailer: mail.mailer }),
    ...(mail.outbox === null ? {} : { areas: [outboxArea(mail.outbox)] }),
    ...(defaultSpaceId === undefined ? {} : { defaultSpaceId }),
    ...(signatureAlgorithm === undefined ? {} : { signatureAlgorithm }),
    ...(rateLimits === undefined ? {} : { rateLimits }),
    identity: identityOptions(config),
  };
}

function exportOptions({ exportInterval, exportTtl }: Config): ExportOptions {
  return {
    kernels: nativeExportKernels(),
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

/** Tells the handler the address of the client in place of that of the last proxy. */
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

interface Parts {
  readonly storage: Storage;
  server: Server | null;
  platform: Platform | null;
  workers: readonly Stoppable[];
  geo: GeoFile | null;
  mail: MailWay | null;
}

async function stopAll({ server, platform, workers, geo, mail, storage }: Parts): Promise<boolean> {
  const finished = (await server?.stop()) ?? true;
  await Promise.all(workers.map(worker => worker.stop()));
  await platform?.close();
  await geo?.[Symbol.asyncDispose]();
  await mail?.close();
  await closeStorage(storage);
  return finished;
}
