import { bucketAt, windowVerdict } from "../../lib/storage/limit_window.ts";
import type { Limiter, LimitRule, LimitVerdict } from "../../lib/storage/ports.ts";
import { validateTake } from "../../lib/storage/validate.ts";
import { expirySlackMs } from "./bounds.ts";
import { createClient } from "./client.ts";
import { RedisConnection } from "./connection.ts";
import { KeySpace, keyOf } from "./keys.ts";
import type { RedisAdapterOptions } from "./options.ts";
import { forgetScript, limitScript } from "./scripts.ts";

/**
 * Opens a limiter on Redis 6.2 or later, standalone or Cluster: one round trip per call, all rules of a subject in one
 * slot. It decides exactly as the one in memory does, by the clock of the server unless it is given one.
 *
 * @throws {TypeError} The server's URL or the prefix cannot be used.
 */
export function createRedisLimiter(options: RedisAdapterOptions): Limiter {
  return new RedisLimiter(options);
}

class RedisLimiter implements Limiter {
  readonly #connection: RedisConnection;
  readonly #keys: KeySpace;
  readonly #clock: (() => number) | undefined;

  constructor({ server, prefix, clock }: RedisAdapterOptions) {
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
    const args = [String(this.#clock?.() ?? ""), String(cost), String(expirySlackMs)];
    for (const { limit, windowMs } of rules) args.push(String(limit), String(windowMs));
    const reply = await this.#connection.run(limitScript, [this.#keysOf(subject, rules), args]);
    return verdicts(rules, String(reply).split(" "), cost);
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
    return rules.map(({ name, limit, windowMs }) => keyOf(root, "g", `window/${limit}/${windowMs}/${name}`));
  }
}

/** Reads the answer of the script: now, then units before, newest bucket and awaited bucket of each rule. */
function verdicts(
  rules: readonly LimitRule[],
  answer: readonly string[],
  cost: number,
): readonly LimitVerdict[] {
  const now = Number(answer[0]);
  const spends = rules.every((_, index) => answer[3 * index + 3] === "-");
  return rules.map((rule, index) => {
    const total = Number(answer[3 * index + 1]);
    const newest = Number(answer[3 * index + 2]);
    const awaited = answer[3 * index + 3];
    const use = {
      total: spends ? total + cost : total,
      newest: spends ? Math.max(newest, bucketAt(now, rule)) : newest,
      awaited: awaited === "-" ? null : Number(awaited),
    };
    return windowVerdict(rule, use, now);
  });
}
