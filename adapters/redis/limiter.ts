import type { Limiter, LimitRule, LimitVerdict } from "../../lib/storage/ports.ts";
import { validateTake } from "../../lib/storage/validate.ts";
import { expirySlackMs } from "./bounds.ts";
import type { RedisAdapterOptions } from "./client.ts";
import { createClient } from "./client.ts";
import { RedisConnection } from "./connection.ts";
import { KeySpace, keyOf } from "./keys.ts";
import { forgetScript, limitScript } from "./scripts.ts";

/**
 * Opens a limiter on Redis 6.2 or later, standalone or Cluster: one round trip per call, all rules of a subject in one
 * slot. It decides exactly as the one in memory does.
 *
 * @throws {TypeError} The server's URL or the prefix cannot be used.
 */
export function createRedisLimiter(options: RedisAdapterOptions): Limiter {
  return new RedisLimiter(options);
}

class RedisLimiter implements Limiter {
  readonly #connection: RedisConnection;
  readonly #keys: KeySpace;
  readonly #clock: () => number;

  constructor({ server, prefix, clock = Date.now }: RedisAdapterOptions) {
    this.#keys = new KeySpace(prefix);
    this.#connection = new RedisConnection(createClient(server));
    this.#clock = clock;
  }

  async take(
    subject: string,
    rules: readonly LimitRule[],
    cost: number = 1,
  ): Promise<readonly LimitVerdict[]> {
    validateTake(subject, rules, cost);
    if (rules.length === 0) return [];
    const args = [String(this.#clock()), String(cost), String(expirySlackMs)];
    for (const { limit, windowMs } of rules) args.push(String(limit), String(windowMs));
    const reply = await this.#connection.run(limitScript, [this.#keysOf(subject, rules), args]);
    return verdicts(rules, (reply as readonly string[]).map(Number), cost);
  }

  async reset(subject: string, rules: readonly LimitRule[]): Promise<void> {
    validateTake(subject, rules);
    if (rules.length > 0) await this.#connection.run(forgetScript, [this.#keysOf(subject, rules), []]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connection[Symbol.asyncDispose]();
  }

  #keysOf(subject: string, rules: readonly LimitRule[]): string[] {
    const root = this.#keys.root(subject);
    return rules.map(({ name, limit, windowMs }) => keyOf(root, "g", `${limit}/${windowMs}/${name}`));
  }
}

/** @param owed What each rule owed before, in ms times its limit. */
function verdicts(
  rules: readonly LimitRule[],
  owed: readonly number[],
  cost: number,
): readonly LimitVerdict[] {
  const states = rules.map(({ limit, windowMs }, index) => {
    const before = owed[index] ?? 0;
    return { limit, windowMs, before, excess: before + cost * windowMs - limit * windowMs };
  });
  const spends = states.every(({ excess }) => excess <= 0);
  return states.map(({ limit, windowMs, before, excess }) => {
    const after = spends ? before + cost * windowMs : before;
    return {
      allowed: excess <= 0,
      remaining: Math.floor((limit * windowMs - after) / windowMs),
      resetMs: Math.ceil(after / limit),
      retryAfterMs: excess <= 0 ? 0 : Math.ceil(excess / limit),
    };
  });
}
