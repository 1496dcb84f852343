import { AppError } from "../../lib/base/errors/mod.ts";
import type { Queue, QueueLease, QueueMessage } from "../../lib/storage/ports.ts";
import { ServerClock } from "../../lib/storage/server_clock.ts";
import { validateAck, validateLease, validatePush } from "../../lib/storage/validate.ts";
import { arrayOf, byteaArray, type Rows } from "./arrays.ts";
import { type PostgresAdapterOptions, postgresRetryMs } from "./options.ts";
import { Database, readTime, Session } from "./session.ts";

/** Most unsettled messages of one topic by default. */
const queueDepthMax = 100_000;
const idPattern = /^\d{1,18}$/;

/** Options of a PostgreSQL queue. */
export interface PostgresQueueOptions extends PostgresAdapterOptions {
  /** Most unsettled messages of one topic. @default queueDepthMax */
  readonly depthMax?: number;
}

/**
 * Opens a queue on PostgreSQL 14 or later, over two connections. Leases are counted by the clock of the clients. A message that was
 * accepted is kept until it is settled.
 *
 * @throws {TypeError} The URL or the schema cannot be used.
 */
export function createPostgresQueue(options: PostgresQueueOptions): Queue {
  return new PostgresQueue(options);
}

class PostgresQueue implements Queue {
  readonly #database: Database;
  /** Takes and what follows them go over a connection of their own, as pushes of one topic wait for each other. */
  readonly #pushes: Session;
  readonly #session: Session;
  readonly #clock: () => number;
  /** Null where a clock is given: it is the time of the queue. */
  readonly #serverClock: ServerClock | null;
  readonly #depthMax: number;

  constructor({ depthMax = queueDepthMax, ...options }: PostgresQueueOptions) {
    this.#database = new Database(options);
    this.#pushes = new Session(this.#database);
    this.#session = new Session(this.#database);
    this.#clock = options.clock ?? Date.now;
    const server = { name: "PostgreSQL", time: () => readTime(this.#session) };
    this.#serverClock = options.clock === undefined ? new ServerClock(server) : null;
    this.#depthMax = depthMax;
  }

  async push(topic: string, bodies: readonly string[]): Promise<readonly string[]> {
    validatePush(topic, bodies);
    if (bodies.length === 0) return [];
    const now = this.#clock();
    await this.#serverClock?.admit(now);
    const statement = this.#database.statement("push_1", 4);
    const values = [Buffer.from(topic), byteaArray(bodies), this.#depthMax, now];
    const rows = await this.#pushes.call(statement, values);
    if (rows.length > 0) return rows.map(([id]) => id ?? "");
    const message = `Cannot push to ${topic}: it may hold at most ${this.#depthMax} unsettled messages`;
    throw new AppError("busy", message, { retryAfterMs: postgresRetryMs });
  }

  async take(topic: string, lease: QueueLease): Promise<readonly QueueMessage[]> {
    validateLease(topic, lease);
    const now = this.#clock();
    await this.#serverClock?.admit(now);
    const statement = this.#database.statement("take_1", 4, { isText: true });
    const rows = await this.#session.call(statement, [
      Buffer.from(topic),
      now,
      now + lease.leaseMs,
      lease.limit,
    ]);
    return rows.map(([id, body, attempts]) => ({
      id: id ?? "",
      body: body ?? "",
      attempts: Number(attempts),
    }));
  }

  async ack(topic: string, ids: readonly string[]): Promise<void> {
    validateAck(topic, ids);
    const possible = ids.filter(id => idPattern.test(id));
    if (possible.length > 0) await this.#run("ack_1", topic, arrayOf(possible));
  }

  async release(topic: string): Promise<void> {
    validateAck(topic, []);
    await this.#run("release_1", topic);
  }

  async depth(topic: string): Promise<number> {
    validateAck(topic, []);
    const text = `select depth from ${this.#database.schema}.topics where topic = $1`;
    const [[depth = 0] = []] = await this.#ask("depth", text, topic);
    return Number(depth);
  }

  async oldest(topic: string): Promise<number | null> {
    validateAck(topic, []);
    const text = `select accepted_at from ${this.#database.schema}.messages where topic = $1 order by id limit 1`;
    const [[acceptedAt = null] = []] = await this.#ask("oldest", text, topic);
    return acceptedAt === null ? null : Number(acceptedAt);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#pushes[Symbol.asyncDispose](), this.#session[Symbol.asyncDispose]()]);
  }

  async #run(name: string, topic: string, ...values: readonly string[]): Promise<void> {
    const statement = this.#database.statement(name, values.length + 1);
    await this.#session.call(statement, [Buffer.from(topic), ...values]);
  }

  #ask(name: string, text: string, topic: string): Promise<Rows> {
    return this.#session.call({ name, text }, [Buffer.from(topic)], { isRead: true });
  }
}
