/**
 * Rate limits of routes and their header fields (draft-ietf-httpapi-ratelimit-headers-10).
 *
 * @module
 */

import type { Limiter, LimitRule, LimitVerdict } from "../storage/ports.ts";
import type { Logger } from "./logger.ts";

/** What counting needs. */
export interface SpendOptions {
  readonly limiter: Limiter;
  readonly logger: Logger;
  readonly requestId: string;
}

/** What spending came to. */
export interface Spent {
  /** The value of `RateLimit`: `"minute";r=57;t=31`, with the time until all units are regained in seconds. */
  readonly remaining: string;
  /** Until the request would be allowed, in ms; null when it is. */
  readonly retryAfterMs: number | null;
}

/**
 * The value of `RateLimit-Policy`: `"minute";q=100;w=60`, with the window in seconds.
 *
 * @throws `TypeError` for no rules or a rule that cannot be written.
 */
export function rateLimitPolicy(rules: readonly LimitRule[]): string {
  if (rules.length === 0) throw new TypeError("Cannot limit a route without rules");
  return rules.map(policyOf).join(", ");
}

/**
 * Spends one unit of every rule.
 *
 * A limiter that fails is logged and answers null, which lets the request through: a limit protects against too much use,
 * and an outage of its counters must not become an outage of everything behind it.
 */
export async function spend(
  subject: string,
  rules: readonly LimitRule[],
  options: SpendOptions,
): Promise<Spent | null> {
  let verdicts: readonly LimitVerdict[];
  try {
    verdicts = await options.limiter.take(subject, rules);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    options.logger.log("error", "rate_limiter_failed", { requestId: options.requestId, reason });
    return null;
  }
  let retryAfterMs: number | null = null;
  for (const verdict of verdicts) {
    if (!verdict.allowed) retryAfterMs = Math.max(retryAfterMs ?? 0, verdict.retryAfterMs);
  }
  return { remaining: verdicts.map((verdict, i) => remaining(verdict, rules[i])).join(", "), retryAfterMs };
}

function policyOf(rule: LimitRule): string {
  if (!/^[A-Za-z0-9._-]{1,64}$/.test(rule.name)) {
    throw new TypeError(`Cannot limit by "${rule.name}": a rule's name must match [A-Za-z0-9._-]+`);
  }
  if (!Number.isSafeInteger(rule.limit) || rule.limit < 1 || !(rule.windowMs > 0)) {
    throw new TypeError(`Cannot limit by "${rule.name}": limit and windowMs must be positive`);
  }
  return `"${rule.name}";q=${rule.limit};w=${Math.ceil(rule.windowMs / 1000)}`;
}

function remaining(verdict: LimitVerdict, rule: LimitRule | undefined): string {
  return `"${rule?.name}";r=${Math.max(0, verdict.remaining)};t=${Math.ceil(verdict.resetMs / 1000)}`;
}
