import type { Limiter, LimitRule, LimitVerdict } from "../../lib/storage/ports.ts";
import { validateTake } from "../../lib/storage/validate.ts";
import { arrayOf, byteaArray, type Rows } from "./arrays.ts";
import { Gathering } from "./gathering.ts";
import { laneOf, lockOf, locksOf } from "./locks.ts";
import type { PostgresAdapterOptions } from "./options.ts";
import { Database, Session } from "./session.ts";
import { Sweeper } from "./sweeper.ts";

interface PendingTake {
  readonly subject: string;
  readonly lock: bigint;
  readonly rules: readonly LimitRule[];
  readonly cost: number;
}

const takesMax = 32;

/**
 * Opens a limiter on PostgreSQL 14 or later, over two connections. It decides exactly as the one in memory does, by the clock of the
 * server unless it is given one. A crash of the server forgets what was spent.
 *
 * Each decision is a write: where many requests are limited, a limiter in memory or in Redis beside the store costs less.
 *
 * @throws {TypeError} The URL or the schema cannot be used.
 */
export function createPostgresLimiter(options: PostgresAdapterOptions): Limiter {
  return new PostgresLimiter(options);
}

class PostgresLimiter implements Limiter {
  readonly #database: Database;
  readonly #sessions: readonly Session[];
  readonly #takes: readonly Gathering<PendingTake, readonly LimitVerdict[]>[];
  readonly #clock: (() => number) | undefined;
  readonly #sweeper: Sweeper;

  constructor(options: PostgresAdapterOptions) {
    this.#database = new Database(options);
    this.#clock = options.clock;
    const statement = this.#database.statement("spend_1", 8);
    const open = (): Session => new Session(this.#database);
    const [first, second] = [open(), open()];
    this.#sessions = [first, second];
    this.#sweeper = new Sweeper(this.#database, second, "limits", options.clock);
    this.#takes = this.#sessions.map(
      session =>
        new Gathering({
          sessions: [session],
          call: async (_, takes, deadline) =>
            verdicts(takes, await session.call(statement, this.#values(takes), { deadline })),
          keyOf: ({ subject }) => subject,
          unitsOf: () => 1,
          unitsMax: takesMax,
        }),
    );
  }

  async take(
    subject: string,
    rules: readonly LimitRule[],
    cost: number = 1,
  ): Promise<readonly LimitVerdict[]> {
    validateTake(subject, rules, cost);
    if (rules.length === 0) return [];
    const lock = this.#lockOf(subject);
    return (await laneOf(this.#takes, lock)?.ask({ subject, lock, rules, cost })) ?? [];
  }

  async reset(subject: string, rules: readonly LimitRule[]): Promise<void> {
    validateTake(subject, rules);
    if (rules.length === 0) return;
    const values = [this.#lockOf(subject), Buffer.from(subject), byteaArray(rules.map(ruleName))];
    await this.#sessions[0]?.call(this.#database.statement("forget_2", values.length), values);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#sweeper[Symbol.dispose]();
    await Promise.all(this.#sessions.map(session => session[Symbol.asyncDispose]()));
  }

  #lockOf(subject: string): bigint {
    return lockOf(`${this.#database.schema} limits`, subject);
  }

  #values(takes: readonly PendingTake[]): readonly unknown[] {
    const rules = takes.flatMap(take => take.rules);
    return [
      locksOf(takes),
      this.#clock?.() ?? null,
      byteaArray(takes.map(({ subject }) => subject)),
      arrayOf(takes.map(({ cost }) => cost)),
      arrayOf(takes.map(take => take.rules.length)),
      byteaArray(rules.map(ruleName)),
      arrayOf(rules.map(({ limit }) => limit)),
      arrayOf(rules.map(({ windowMs }) => windowMs)),
    ];
  }
}

function ruleName({ name, limit, windowMs }: LimitRule): string {
  return `${limit}/${windowMs}/${name}`;
}

/** Reads the rows of the function: units that count, ms until they do not, and ms to wait of each rule of each take. */
function verdicts(takes: readonly PendingTake[], rows: Rows): readonly (readonly LimitVerdict[])[] {
  let next = 0;
  return takes.map(({ rules }) =>
    rules.map(({ limit }) => {
      const [total, resetMs, wait] = rows[next++] ?? [];
      const retryAfterMs = Number(wait);
      return {
        allowed: retryAfterMs === 0,
        remaining: limit - Number(total),
        resetMs: Number(resetMs),
        retryAfterMs,
      };
    }),
  );
}
