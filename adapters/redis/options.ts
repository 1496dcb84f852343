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
