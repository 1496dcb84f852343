/** Names of the Redis keys of a partition: `<prefix>{<partition>}<shape><key>`. */

const defaultPrefix = "gs:";

/** One letter per kind of Redis key, so that equal names of two shapes never meet. */
type KeyKind =
  /** STRING of a record. */
  | "r"
  /** HASH of a tally. */
  | "t"
  /** ZSET of a board. */
  | "b"
  /** HASH of those members of a board that have a tie or a version. */
  | "m"
  /** LIST of a log. */
  | "l"
  /** STRING of a limiter's rule. */
  | "g"
  /** STREAM of a queue. */
  | "q"
  /** ZSET of a queue's leases. */
  | "w"
  /** STRING of a blob: which upload it is, and its size. */
  | "a"
  /** HASH of the chunks of one upload of a blob. */
  | "d";

const globCharacter = /[\\*?[\]]/g;
const escapedCharacter = /%(25|7B|7D)/g;

const tagCharacter = /[%{}]/;
const escapes: Readonly<Record<string, string>> = { "%": "%25", "{": "%7B", "}": "%7D" };

export class KeySpace {
  readonly #prefix: string;

  /** @throws {TypeError} The prefix contains a brace, which would move the hash tag. */
  constructor(prefix: string = defaultPrefix) {
    if (/[{}]/.test(prefix)) throw new TypeError(`Cannot use the prefix ${prefix}: it must have no braces`);
    this.#prefix = prefix;
  }

  /** Returns the beginning of all keys of a partition. The braces make it their hash tag, hence one Cluster slot. */
  root(partition: string): string {
    return `${this.#prefix}{${tagOf(partition)}}`;
  }

  /** Returns a glob-style pattern for the keys of one name in partitions whose names begin so. */
  pattern(partitionPrefix: string, kind: KeyKind, name: string): string {
    return `${literal(`${this.#prefix}{${tagOf(partitionPrefix)}`)}*}${literal(kind + name)}`;
  }

  partitionOf(key: string): string {
    const begin = this.#prefix.length + 1;
    const tag = key.slice(begin, key.indexOf("}", begin));
    return tag.replace(escapedCharacter, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  }
}

function tagOf(partition: string): string {
  return tagCharacter.test(partition)
    ? partition.replace(/[%{}]/g, found => escapes[found] ?? found)
    : partition;
}

function literal(text: string): string {
  return text.replace(globCharacter, "\\$&");
}

export function keyOf(root: string, kind: KeyKind, name: string): string {
  return root + kind + name;
}

/** Bounds of the Redis adapter, in addition to those of the storage contract. */

/** Longest time in which a call is answered or fails, in ms; once more after the server lacked its script. */
export const answerMsMax = 1_000;
/** Most calls of one store, limiter or queue that may wait for an answer at a time. */
export const pendingCallsMax = 20_000;
/** Longest silence of a server that owes an answer before its connection is given up, in ms. */
export const serverSilenceMsMax = 3_000;
/** Longest pause between two attempts to connect, in ms. */
export const reconnectMsMax = 500;
/** Time in ms after which a client may try again when Redis cannot be used. */
export const redisRetryMs = 1_000;
/** Time in ms for which Redis keeps an expired key: the adapter's clock decides expiry, Redis only collects garbage. */
export const expirySlackMs = 60_000;

/** What the users of the adapter give. */

/** Server and key prefix of an adapter. */
export interface RedisAdapterOptions {
  /**
   * One URL (`redis://`, `rediss://`, or `unix:///path` for a socket) of a server or of a node of a Cluster, several of
   * them separated by commas, or an ioredis client without `keyPrefix`. A given client is not used itself: its settings
   * are, for a connection of the adapter's own, on which a change is never sent twice.
   */
  readonly server: string | RedisClient;
  /** Prefix of every key, without braces. @default "gs:" */
  readonly prefix?: string;
  /** The current time, Unix ms. @default Date.now */
  readonly clock?: () => number;
}

/** A client of ioredis, for one server or a Cluster, connected or not. */
export interface RedisClient {
  readonly status: string;
  readonly options: { readonly keyPrefix?: string | undefined };
  duplicate(...settings: never[]): unknown;
}
