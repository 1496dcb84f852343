import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import { answerMsMax, reconnectMsMax, serverSilenceMsMax } from "./bounds.ts";
import type { RedisClient } from "./options.ts";
import { isDisplaced } from "./tracked_command.ts";

/** A client of the adapter's own. */
export type OwnClient = Redis | Cluster;

const reconnectMsMin = 20;

function reconnectDelay(attempt: number): number {
  return Math.min(reconnectMsMin * 2 ** Math.min(attempt - 1, 10), reconnectMsMax);
}

/** Settings that the adapter's guarantees depend on; all other settings of a given client are kept. */
const settings = {
  lazyConnect: true,
  protocol: 2,
  replyMapping: "legacy",
  // A commit must never be sent twice, and what cannot be sent soon must not be sent later.
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  retryStrategy: reconnectDelay,
  // After a failover the old primary is a replica: only a new connection finds the new one.
  reconnectOnError: isDisplaced,
  connectTimeout: answerMsMax,
  socketTimeout: serverSilenceMsMax,
  maxLoadingRetryTime: reconnectMsMax,
  // Commands wait for it, and so never reach the wrong database or a server that still loads.
  enableReadyCheck: true,
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

/** Keeps the names of nodes: a certificate for names is valid for none of their addresses. */
const byName: ClusterOptions["dnsLookup"] = (name, found) => found(null, name);

/**
 * Makes a client of the adapter's own from a URL, a comma-separated list of URLs (a Cluster) or another client's settings.
 *
 * @throws {TypeError} A URL or a setting of the client cannot be used.
 */
export function createClient(source: string | RedisClient): OwnClient {
  if (typeof source !== "string") return copyOf(source);
  const [first = {}, ...others] = source.split(",").map(url => addressOf(url.trim()));
  if (others.length === 0) return new Redis({ ...first, ...settings });
  const nodes = [first, ...others];
  if (nodes.some(({ db = 0 }) => db !== 0)) throw unusable("a Cluster has no database but 0");
  if (nodes.some(({ path }) => path !== undefined))
    throw unusable("a Cluster is reached by redis:// or rediss:// alone");
  return clusterOf(
    nodes.map(({ host = "127.0.0.1", port = 6379 }) => ({ host, port })),
    first,
  );
}

/** Returns true if the client speaks to a Cluster. */
export function isCluster(client: OwnClient): client is Cluster {
  return client instanceof Cluster;
}

/** Makes a client of the Cluster of which a client's server is a node; null where that server is reached by a socket or Sentinel. */
export function clusterAround({ options }: Redis): Cluster | null {
  const { host, port, path, sentinels } = options;
  if (host === undefined || port === undefined || path || sentinels) return null;
  return clusterOf([{ host, port }], options);
}

/** Tries a node (`host:port`) of a Cluster alone: the client of the Cluster does not tell why it cannot reach one. */
export async function whyUnreachable({ options }: Cluster, node: string): Promise<Error | undefined> {
  const end = node.lastIndexOf(":");
  const [host, port] = [node.slice(0, end), Number(node.slice(end + 1))];
  const client = new Redis({ ...options.redisOptions, ...settings, host, port, retryStrategy: () => null });
  let reason: Error | undefined;
  client.on("error", (error: Error) => {
    reason ??= error;
  });
  await client.connect().catch(() => undefined);
  client.disconnect();
  return reason;
}

function copyOf(client: RedisClient): OwnClient {
  if (client.options.keyPrefix) {
    throw new TypeError(
      "Cannot use an ioredis client with a keyPrefix: give the option prefix of the adapter instead",
    );
  }
  if (client instanceof Redis) return client.duplicate(settings);
  const cluster = client as Cluster;
  const redisOptions = { ...cluster.options.redisOptions, ...settings };
  return cluster.duplicate([], { ...clusterSettings, redisOptions });
}

function clusterOf(
  nodes: readonly { readonly host: string; readonly port: number }[],
  shared: RedisOptions,
): Cluster {
  const { host: _host, port: _port, path: _path, db: _db, ...redisOptions } = shared;
  return new Cluster([...nodes], {
    ...clusterSettings,
    dnsLookup: byName,
    redisOptions: { ...redisOptions, ...settings },
  });
}

/** Reads one URL, or the path of a socket. */
function addressOf(text: string): RedisOptions {
  const address = text.startsWith("/") ? `unix://${text}` : text;
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !schemes.includes(url.protocol)) {
    throw unusable("the URL must begin with redis://, rediss:// or unix://");
  }
  const isSocket = url.protocol === "unix:";
  const {
    db = isSocket ? "0" : url.pathname.slice(1) || "0",
    family,
    ...unknown
  } = Object.fromEntries(url.searchParams);
  const [name] = Object.keys(unknown);
  if (name !== undefined)
    throw unusable(`the URL has the parameter ${name}; db and family are the ones it may have`);
  if (!/^\d{1,9}$/.test(db)) {
    throw unusable("the database in the URL must be a number, as in redis://127.0.0.1:6379/1");
  }
  if (family !== undefined && !/^[046]$/.test(family))
    throw unusable("family in the URL must be 4, 6 or 0 for both");
  const options: RedisOptions = { db: Number(db) };
  if (url.username) options.username = decoded(url.username);
  if (url.password) options.password = decoded(url.password);
  if (family !== undefined) options.family = Number(family);
  if (isSocket) return { ...options, path: decoded(url.pathname) };
  if (url.protocol === "rediss:") options.tls = {};
  const host = url.hostname.replace(/^\[|\]$/g, "") || "127.0.0.1";
  return { ...options, host, port: Number(url.port || 6379) };
}

const schemes: readonly string[] = ["redis:", "rediss:", "unix:"];

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw unusable("a percent sign in the URL must be written as %25");
  }
}

function unusable(reason: string): TypeError {
  return new TypeError(`Cannot connect to Redis: ${reason}`);
}
