import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import { answerMsMax, reconnectMsMax, serverSilenceMsMax } from "./bounds.ts";
import { isDisplaced } from "./tracked_command.ts";

/** Server and key prefix of an adapter. */
export interface RedisAdapterOptions {
  /**
   * One URL (`redis://`, `rediss://`, or `unix:///path` for a socket), several of them separated by commas for the
   * nodes of a Cluster, or an ioredis client. A given client is not used itself: its settings are, for a connection
   * of the adapter's own, on which a change is never sent twice.
   */
  readonly server: string | RedisClient;
  /** Prefix of every key, without braces. @default "gs:" */
  readonly prefix?: string;
  /** The current time, Unix ms. @default Date.now */
  readonly clock?: () => number;
}

/** A connected or connectable ioredis client. */
export type RedisClient = Redis | Cluster;

const reconnectMsMin = 20;

function reconnectDelay(attempt: number): number {
  return Math.min(reconnectMsMin * 2 ** Math.min(attempt - 1, 10), reconnectMsMax);
}

/** Settings that the adapter's guarantees depend on; all other settings of a given client are kept. */
const settings = {
  lazyConnect: true,
  protocol: 2,
  // A commit must never be sent twice, and what cannot be sent soon must not be sent later.
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: reconnectDelay,
  // After a failover the old primary is a replica: only a new connection finds the new one.
  reconnectOnError: isDisplaced,
  connectTimeout: answerMsMax,
  socketTimeout: serverSilenceMsMax,
  maxLoadingRetryTime: reconnectMsMax,
  // Measured slower than corking the socket for the turn of the event loop: see tracked_command.ts.
  enableAutoPipelining: false,
} satisfies RedisOptions;

const clusterSettings = {
  lazyConnect: true,
  enableAutoPipelining: false,
  scaleReads: "master",
  clusterRetryStrategy: reconnectDelay,
  slotsRefreshTimeout: answerMsMax,
  // Both would send a command again whose first sending may have had an effect, or would hold it back.
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  retryDelayOnTryAgain: 50,
} satisfies ClusterOptions;

/**
 * Makes a client of the adapter's own from a URL, a comma-separated list of URLs (a Cluster) or another client's settings.
 *
 * @throws {TypeError} A URL has another scheme than `redis:`, `rediss:` or `unix:`.
 */
export function createClient(source: string | RedisClient): RedisClient {
  if (typeof source !== "string") return copyOf(source);
  const urls = source.split(",").map(url => url.trim());
  if (urls.length > 1) return clusterOf(urls.map(parse));
  const [url = ""] = urls;
  if (url.startsWith("unix:") || url.startsWith("/")) return new Redis(socketPath(url), settings);
  return new Redis(parse(url).href, settings);
}

/** Returns true if the client speaks to a Cluster. */
export function isCluster(client: RedisClient): client is Cluster {
  return client instanceof Cluster;
}

function copyOf(client: RedisClient): RedisClient {
  if (client instanceof Redis) return client.duplicate({ ...settings, replyMapping: "legacy" });
  const redisOptions = { ...client.options.redisOptions, ...settings, replyMapping: "legacy" as const };
  return client.duplicate([], { ...clusterSettings, redisOptions });
}

function clusterOf(urls: readonly URL[]): Cluster {
  const [first] = urls;
  const credentials: Pick<RedisOptions, "username" | "password" | "tls"> = {};
  if (first?.username) credentials.username = decodeURIComponent(first.username);
  if (first?.password) credentials.password = decodeURIComponent(first.password);
  if (first?.protocol === "rediss:") credentials.tls = {};
  const nodes = urls.map(({ hostname, port }) => ({
    host: hostname.replace(/^\[|\]$/g, ""),
    port: Number(port || 6379),
  }));
  return new Cluster(nodes, { ...clusterSettings, redisOptions: { ...settings, ...credentials } });
}

function parse(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol === "redis:" || url?.protocol === "rediss:") return url;
  throw new TypeError("Cannot connect to Redis: the URL must begin with redis://, rediss:// or unix://");
}

function socketPath(url: string): string {
  return url.replace(/^unix:(?:\/\/)?/, "");
}
