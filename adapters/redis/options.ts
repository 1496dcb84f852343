import type { RedisClient } from "./client.ts";

/** Where the server is and whose keys are whose. */
export interface RedisAdapterOptions {
  /**
   * One URL (`redis://`, `rediss://`, or `unix:///path` for a socket), several of them separated by commas for the
   * nodes of a Cluster, or an ioredis client. A given client is not used itself: its settings are, for a connection
   * of the adapter's own, on which a change is never sent twice.
   */
  readonly server: string | RedisClient;
  /** What every key begins with; it must have no braces. @default "gs:" */
  readonly prefix?: string;
  /** The current time, Unix ms. @default Date.now */
  readonly clock?: () => number;
}
