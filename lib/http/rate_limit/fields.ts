/**
 * The header fields of rate limits (draft-ietf-httpapi-ratelimit-headers-10).
 *
 * @module
 */

import type { LimitRule, LimitVerdict } from "../../storage/mod.ts";

const policies = new WeakMap<readonly LimitRule[], string>();

/**
 * The value of `RateLimit-Policy`: `"minute";q=100;w=60`, with the window in seconds.
 *
 * @throws {TypeError} No rules, or a rule that cannot be written.
 */
export function rateLimitPolicy(rules: readonly LimitRule[]): string {
  const known = policies.get(rules);
  if (known !== undefined) return known;
  if (rules.length === 0) throw new TypeError("Cannot limit a route without rules");
  const written = rules.map(policyOf).join(", ");
  policies.set(rules, written);
  return written;
}

/** The value of `RateLimit`: `"minute";r=57;t=31`, with the time until all units are regained in seconds. */
export function rateLimitState(verdicts: readonly LimitVerdict[], rules: readonly LimitRule[]): string {
  return verdicts.map((verdict, index) => stateOf(verdict, rules[index])).join(", ");
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

function stateOf(verdict: LimitVerdict, rule: LimitRule | undefined): string {
  return `"${rule?.name}";r=${Math.max(0, verdict.remaining)};t=${Math.ceil(verdict.resetMs / 1000)}`;
}
