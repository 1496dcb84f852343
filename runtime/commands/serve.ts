import { writeFile } from "node:fs/promises";
import { networkInterfaces } from "node:os";
import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import process from "node:process";
import { bytesToHex } from "@noble/hashes/utils.js";
import type { GeoFile } from "../../adapters/geo/mod.ts";
import { nativeExportKernels, nativeKernels } from "../../adapters/native/mod.ts";
import { createOutbound } from "../../adapters/outbound/mod.ts";
import { createWebhookSender } from "../../adapters/outbound/webhook.ts";
import { openTracer } from "../../adapters/tracing/mod.ts";
import { systemClock, systemRandom } from "../../lib/auth/crypto/mod.ts";
import { MasterSecret } from "../../lib/auth/mod.ts";
import { createControl } from "../../lib/authoring/control/mod.ts";
import { isLoopback } from "../../lib/base/text/mod.ts";
import type { GeoReader } from "../../lib/fans/location/mod.ts";
import { createHandler, type Handler, type Logger } from "../../lib/http/mod.ts";
import {
  createPlatform,
  type Demo,
  type DemoIds,
  demoWalk,
  describeDemo,
  type Platform,
  type PlatformHttpOptions,
  type PlatformOptions,
  publicUrlDefault,
  seedDemo,
  version,
} from "../../lib/mod.ts";
import { keptInDemo } from "../../lib/platform/demo.ts";
import { createMetrics, type PlatformMetrics } from "../../lib/platform/metrics/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { baseUrlOf, type Config, drainSecondsDefault } from "../config.ts";
import { hostDefault, type Server, senderOf, starting } from "../server/gate.ts";
import { serveHere } from "../server/serve_here.ts";
import { DemoShow } from "../services/demo_show.ts";
import { type MailService, openMail, outboxArea, outboxPath } from "../services/mail.ts";
import { openDocs, openShow, openStudio } from "../services/pages.ts";
import { readSeedFiles } from "../services/seed_files.ts";
import { closeStorage, hasStore, openStorage, type Storage, tryFolderOfFiles } from "../services/storage.ts";

interface ServeCommandOptions {
  readonly demo: boolean;
  readonly logger: Logger;
}

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
  const running = runningParts(storage);
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
    if (!options.demo && !hasStore(config)) {
      const detail =
        "Nothing will outlast this process: set GRANDSTAND_REDIS, GRANDSTAND_POSTGRES or GRANDSTAND_DATA";
      logger.log("warn", "store_in_memory", { detail });
      lines.push(detail);
    }
    const demo =
      ids &&
      (await reportDemo(platform, { ids, baseUrl, hasOutbox: mail.outbox !== null, file: config.demoFile }));
    if (demo !== null && config.workers !== "off") {
      const show = { store, ids: demo.ids, url: baseUrl, token: demo.producerToken };
      running.workers = [...running.workers, startDemoShow(platform, show, logger)];
    }
    return {
      announcement: [...lines, ...(demo === null ? [] : [demo.text])].join("\n"),
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
function startWorkers(
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

interface ServerResources {
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

async function platformOptions(
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
  const http: PlatformHttpOptions = {
    servesMetrics: metrics,
    cors: corsOrigins.length > 0 && { origins: corsOrigins, requestHeaders: corsHeaders },
  };
  return {
    store,
    queue,
    blobs,
    limiter,
    localLimiter: localLimiter ?? undefined,
    exports: {
      kernels: nativeExportKernels(),
      workers: config.exports,
      intervalMs: msOf(config.exportInterval),
      ttlMs: msOf(config.exportTtl),
    },
    logger,
    http,
    tracer: await openTracer(),
    metrics: registry ?? undefined,
    ...(config.publicUrl === undefined ? { localUrl: baseUrl } : { publicUrl: baseUrl }),
    passwordKernels: nativeKernels(),
    control: createControl,
    studio: openStudio(),
    show: openShow(),
    docs: openDocs(),
    webhooks: createWebhookSender({
      networks: config.webhookNetworks ?? (ids === null ? [] : loopbackNetworks),
    }),
    outbound: createOutbound({
      networks: config.outboundNetworks ?? (ids === null ? [] : loopbackNetworks),
    }),
    clientAddress: { trustedProxies: config.trustedProxies ?? [] },
    secret: new MasterSecret(config.secret ?? (await demoSecret(store))),
    basePath,
    geo: geo ?? undefined,
    mailer: mail.mailer ?? undefined,
    areas: mail.outbox === null ? [] : [outboxArea(mail.outbox)],
    defaultSpaceId: config.defaultSpaceId ?? ids?.spaceId,
    signatureAlgorithm,
    rateLimits,
    identity: {
      limits: config.identityLimits === "off" ? "off" : undefined,
      passwordHash: config.passwordHash,
      accountIssuer: config.accountIssuer,
      clientSecret: ({ issuer, clientId }) =>
        config.openIdSecrets?.find(([at, id]) => at === issuer && id === clientId)?.[2],
    },
  };
}

function msOf(seconds: number | undefined): number | undefined {
  return seconds === undefined ? undefined : seconds * 1_000;
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

function runningParts(storage: Storage): RunningParts {
  return { storage, server: null, metricsServer: null, platform: null, workers: [], geo: null, mail: null };
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

export async function runWorker(config: Config, { logger }: { readonly logger: Logger }): Promise<Running> {
  if ((config.redis ?? config.postgres ?? config.store) === undefined) {
    throw new Error(
      "GRANDSTAND_REDIS, GRANDSTAND_POSTGRES or GRANDSTAND_STORE must name the store of the servers, as memory is not shared between processes.",
    );
  }
  const storage = await openStorage({ ...config, workers: "off" }, logger);
  const running = runningParts(storage);
  try {
    const mail = await openMail(config, { demo: false, logger });
    running.mail = mail;
    const metrics = openMetrics(config);
    await tryFolderOfFiles(config, storage);
    const baseUrl = baseUrlOf(config, publicUrlDefault);
    const services = { storage, logger, metrics, geo: null, mail, ids: null, baseUrl };
    const platform = await createPlatform(await platformOptions({ ...config, exports: "inline" }, services));
    running.platform = platform;
    running.metricsServer = await serveMetrics(config, metrics, { platform, logger });
    running.workers = startWorkers(platform, { ...config, workers: "inline" }, services);
    return {
      announcement: `Grandstand ${version} works on queued actions (${storage.description})`,
      stop: () => stopAll(running, 0),
    };
  } catch (error) {
    await stopAll(running, 0);
    throw error;
  }
}

const pauseMsDefault = 5_000;

/** Calls a function after a time in ms. Returns the function that cancels the call. */
export type StartTimer = (ms: number, act: () => void) => () => void;

interface PeriodicWorkOptions {
  readonly work: () => Promise<unknown>;
  /** Receives the error of a failed round; the next one runs all the same. */
  readonly onFailed: (error: unknown) => void;
  /** Receives the duration of a round in ms, and its outcome. @default nothing */
  readonly onRound?: (ms: number, outcome: "ok" | "failed") => void;
  /** @default 5_000 */
  readonly pauseMs?: number;
  /** @default the timer of the process, which does not keep it alive */
  readonly startTimer?: StartTimer;
}

/** A part of the process that runs until it is stopped. */
interface Stoppable {
  /** Resolves when the current round is over; no further one begins. */
  stop(): Promise<void>;
}

/** Repeats work after a pause. The first round follows the first pause, and rounds never overlap. */
export function startPeriodicWork(options: PeriodicWorkOptions): Stoppable {
  const { work, onFailed, onRound, pauseMs = pauseMsDefault, startTimer = processTimer } = options;
  let isStopped = false;
  let round: Promise<void> = Promise.resolve();
  let cancel = startTimer(pauseMs, begin);

  function begin(): void {
    round = run();
  }

  async function run(): Promise<void> {
    const startedAt = performance.now();
    try {
      await work();
      onRound?.(performance.now() - startedAt, "ok");
    } catch (error) {
      onRound?.(performance.now() - startedAt, "failed");
      onFailed(error);
    }
    if (!isStopped) cancel = startTimer(pauseMs, begin);
  }

  return {
    async stop() {
      isStopped = true;
      cancel();
      await round;
    },
  };
}

function processTimer(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  timer.unref();
  return () => clearTimeout(timer);
}

const secretBytes = 48;

/**
 * Returns the master secret of a demo. The first start stores it with the data, so that later starts and other processes
 * on the same store use it too. For trying out only: anyone who can read the store can read the secret.
 */
async function demoSecret(store: Store): Promise<string> {
  return await keptInDemo(store, "secret", bytesToHex(systemRandom(secretBytes)));
}

/** Creates the file of the report unless it exists. @throws {Error} It cannot be written. */
async function requireWritable(path: string): Promise<void> {
  await writeFile(path, "", { flag: "a", mode: 0o600 });
}

interface DemoReport {
  readonly ids: DemoIds & { readonly isNew: boolean };
  readonly baseUrl: string;
  /** True if mails are kept where developers can read them. */
  readonly hasOutbox: boolean;
  /** A file for the report as JSON, readable by its owner only. */
  readonly file: string | undefined;
}

interface ReportedDemo {
  readonly ids: DemoIds;
  /** The login of the demo's producer, of whom the latest few are valid. */
  readonly producerToken: string;
  /** What the terminal shows. */
  readonly text: string;
}

/** Issues the credentials of the demo, and writes them to the file if one is named. */
async function reportDemo(platform: Platform, report: DemoReport): Promise<ReportedDemo> {
  const { ids, baseUrl, hasOutbox, file } = report;
  const demo = await describeDemo(platform, { ids, baseUrl });
  if (file !== undefined) await writeFile(file, `${JSON.stringify(demo, null, 2)}\n`, { mode: 0o600 });
  const { authors } = platform;
  const producer = await authors.findOrCreate(demoProducer, { name: "Demo producer", operator: true });
  const { token } = await authors.createToken({ userId: producer.id, name: "Login", isLogin: true });
  const outbox = hasOutbox ? `\noutbox       ${baseUrl}${outboxPath} (keeps mail for everyone to read)` : "";
  // A terminal shows the end: what to open first stands there.
  const text = `\n${demoWalk(demo)}\n\n${credentials(demo)}${outbox}\n\n${pages(demo, token)}`;
  return { ids, producerToken: token, text };
}

const demoProducer = "producer@demo.example";

/** The pages to open first. Only on this machine does an address sign in: elsewhere it would stay in logs of proxies. */
function pages({ baseUrl, eventId }: Demo, token: string): string {
  const isLocal = isLoopback(new URL(baseUrl).hostname);
  const login = isLocal ? `#token=${token}` : ` (sign in with the access token ${token})`;
  return [
    ...(isLocal ? wayForPhones(baseUrl) : []),
    "For a show of your own, choose “All events” and “New event” in the studio.",
    "Open the show as a fan, and as its producer:",
    `fans         ${baseUrl}/show?event=${eventId}`,
    `studio       ${baseUrl}/studio?event=${eventId}${login}`,
  ].join("\n");
}

/** Says how phones reach this machine, if it has an address in a network. */
function wayForPhones(baseUrl: string): readonly string[] {
  const addresses = Object.values(networkInterfaces()).flat();
  const found = addresses.find(each => each?.family === "IPv4" && !each.internal);
  if (found === undefined) return [];
  const { port, pathname } = new URL(baseUrl);
  const publicUrl = `http://${found.address}:${port}${pathname}`.replace(/\/$/, "");
  return [`For phones in your network, start it with --host 0.0.0.0 --public-url ${publicUrl}`];
}

function credentials(demo: Demo): string {
  const { baseUrl, organisationId, spaceId, projectId, eventId, apiKey, operatorToken, clientToken } = demo;
  const lines = [
    `organisation ${organisationId}`,
    `space        ${spaceId}`,
    `project      ${projectId}`,
    `event        ${eventId}`,
  ];
  if (apiKey !== null) lines.push(`API key      ${apiKey.key}`, `API secret   ${apiKey.secret} (shown once)`);
  if (operatorToken !== null) lines.push(`operator     ${operatorToken}`);
  lines.push(`docs         ${baseUrl}/docs`);
  if (clientToken !== null) lines.push(`client token ${clientToken}`);
  return lines.join("\n");
}

function startDemoShow(
  platform: Platform,
  options: Omit<ConstructorParameters<typeof DemoShow>[1], "clock" | "chance">,
  logger: Logger,
): Stoppable {
  const show = new DemoShow(platform, { ...options, clock: systemClock, chance: Math.random });
  return startPeriodicWork({
    work: () => show.work(),
    onFailed: error => logger.log("warn", "demo_show_failed", { error: String(error) }),
    pauseMs: 1_000,
  });
}

/** Time over which delays of the event loop are collected, in ms: longer than the pause between two scrapes. */
const delayWindowMs = 30_000;

function openMetrics({ metrics, metricsPort }: Config): PlatformMetrics | null {
  if (metrics !== true && metricsPort === undefined) return null;
  const registry = createMetrics();
  measureProcess(registry);
  return registry;
}

/** Serves `/metrics`, `/healthz` and `/readyz` on a port of their own; null: the settings name none. */
async function serveMetrics(
  { metricsPort: port, host = hostDefault }: Config,
  registry: PlatformMetrics | null,
  { platform, logger }: { readonly platform: Platform; readonly logger: Logger },
): Promise<Server | null> {
  if (port === undefined || registry === null) return null;
  const handler = createHandler([], {
    metrics: registry,
    servesMetrics: true,
    ready: () => platform.ready(),
  });
  const onError = (error: unknown): void =>
    logger.log("error", "background_work_failed", { error: String(error) });
  const server = await serveHere(handler, { host, port, onError });
  logger.log("info", "metrics_served", { url: `${server.url}/metrics` });
  return server;
}

/** Reads processor time, memory and the delay of the event loop before each scrape. */
function measureProcess(metrics: PlatformMetrics): void {
  const processor = metrics.counter("process_cpu_seconds_total", {});
  const memory = metrics.gauge("process_resident_memory_bytes", {});
  const heap = metrics.gauge("v8js_memory_heap_used_bytes", {});
  metrics.gauge("process_start_time_seconds", {}).set(Math.round(Date.now() / 1_000 - process.uptime()));
  let spent = 0;
  metrics.beforeScrape(() => {
    const { user, system } = process.cpuUsage();
    const seconds = (user + system) / 1e6;
    processor.add(seconds - spent);
    spent = seconds;
    const { rss, heapUsed } = process.memoryUsage();
    memory.set(rss);
    heap.set(heapUsed);
  });
  const delays = watchEventLoop();
  if (delays === null) return;
  const p99 = metrics.gauge("nodejs_eventloop_delay_p99_seconds", {});
  const longest = metrics.gauge("nodejs_eventloop_delay_max_seconds", {});
  const read = () =>
    delays.count === 0 ? { p99: 0, max: 0 } : { p99: delays.percentile(99) / 1e9, max: delays.max / 1e9 };
  let before = { p99: 0, max: 0 };
  // By time, as several readers must not take peaks away from each other.
  setInterval(() => {
    before = read();
    delays.reset();
  }, delayWindowMs).unref();
  metrics.beforeScrape(() => {
    const now = read();
    p99.set(Math.max(before.p99, now.p99));
    longest.set(Math.max(before.max, now.max));
  });
}

/** Null: the runtime cannot measure it. */
function watchEventLoop(): IntervalHistogram | null {
  try {
    const delays = monitorEventLoopDelay({ resolution: 10 });
    delays.enable();
    return delays;
  } catch {
    return null;
  }
}
