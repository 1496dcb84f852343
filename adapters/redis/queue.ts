import { AppError } from "../../lib/base/errors/mod.ts";
import type { Queue, QueueLease, QueueMessage } from "../../lib/storage/ports.ts";
import { validateAck, validateLease, validatePush } from "../../lib/storage/validate.ts";
import { redisRetryMs } from "./bounds.ts";
import { createClient } from "./client.ts";
import { RedisConnection } from "./connection.ts";
import { KeySpace, keyOf } from "./keys.ts";
import type { RedisAdapterOptions } from "./options.ts";
import { ackScript, pushScript, releaseScript, takeScript } from "./scripts.ts";
import { ServerClock } from "./server_clock.ts";

/** Most unsettled messages of one topic by default. */
const queueDepthMax = 100_000;
/** Pattern of the id of a Redis stream entry. */
const idPattern = /^\d{1,16}-\d{1,19}$/;

/** Options of a Redis queue. */
export interface RedisQueueOptions extends RedisAdapterOptions {
  /** Most unsettled messages of one topic. @default queueDepthMax */
  readonly depthMax?: number;
}

/**
 * Opens a queue on Redis 6.2 or later, standalone or Cluster: a stream with one consumer group per topic.
 *
 * Leases are counted by the clock of the clients, not by that of the server. A message that was accepted is kept until
 * it is settled, as far as the server's persistence keeps what it acknowledges.
 *
 * @throws {TypeError} The server's URL or the prefix cannot be used.
 */
export function createRedisQueue(options: RedisQueueOptions): Queue {
  return new RedisQueue(options);
}

class RedisQueue implements Queue {
  readonly #connection: RedisConnection;
  readonly #keys: KeySpace;
  readonly #clock: () => number;
  /** Null where a clock is given: it is the time of the queue. */
  readonly #serverClock: ServerClock | null;
  readonly #depthMax: number;

  constructor({ server, prefix, clock, depthMax = queueDepthMax }: RedisQueueOptions) {
    this.#keys = new KeySpace(prefix);
    this.#connection = new RedisConnection(createClient(server));
    this.#clock = clock ?? Date.now;
    this.#serverClock = clock === undefined ? new ServerClock(this.#connection) : null;
    this.#depthMax = depthMax;
  }

  async push(topic: string, bodies: readonly string[]): Promise<readonly string[]> {
    validatePush(topic, bodies);
    if (bodies.length === 0) return [];
    await this.#serverClock?.admit(this.#clock());
    const [stream] = this.#keysOf(topic);
    const ids = await this.#connection.run(pushScript, [[stream], [String(this.#depthMax), ...bodies]]);
    if (ids === null) {
      const message = `Cannot push to ${topic}: it may hold at most ${this.#depthMax} unsettled messages`;
      throw new AppError("busy", message, { retryAfterMs: redisRetryMs });
    }
    return ids as readonly string[];
  }

  async take(topic: string, lease: QueueLease): Promise<readonly QueueMessage[]> {
    validateLease(topic, lease);
    const now = this.#clock();
    await this.#serverClock?.admit(now);
    const args = [String(now), String(now + lease.leaseMs), String(lease.limit), lease.consumer];
    const reply = await this.#connection.run(takeScript, [this.#keysOf(topic), args]);
    const taken = reply as readonly (readonly [id: string, body: string, attempts: number])[];
    return taken.map(([id, body, attempts]) => ({ id, body, attempts }));
  }

  async ack(topic: string, ids: readonly string[]): Promise<void> {
    validateAck(topic, ids);
    const possible = ids.filter(id => idPattern.test(id));
    if (possible.length > 0) await this.#connection.run(ackScript, [this.#keysOf(topic), possible]);
  }

  async release(topic: string): Promise<void> {
    validateAck(topic, []);
    const [, leases] = this.#keysOf(topic);
    await this.#connection.run(releaseScript, [[leases], []]);
  }

  async depth(topic: string): Promise<number> {
    validateAck(topic, []);
    const [stream] = this.#keysOf(topic);
    return Number(await this.#connection.ask("xlen", [stream]));
  }

  async oldest(topic: string): Promise<number | null> {
    validateAck(topic, []);
    const [stream] = this.#keysOf(topic);
    const [entry] = (await this.#connection.ask("xrange", [stream, "-", "+", "COUNT", "1"])) as [[string]?];
    return entry === undefined ? null : Number.parseInt(entry[0], 10);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }

  /** Returns the stream and the leases. */
  #keysOf(topic: string): [string, string] {
    const root = this.#keys.root(topic);
    return [keyOf(root, "q", ""), keyOf(root, "w", "")];
  }
}
