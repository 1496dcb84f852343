/**
 * What a request costs: spending the limits of its route, and telling of them in every answer of that route.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { LimitRule } from "../../storage/mod.ts";
import type { Exchange } from "../exchange.ts";
import type { Admitted, ClientInfo, ContentLimit, RateLimit } from "../routing/route.ts";
import { type Failover, rateLimitPolicy, rateLimitState, type Spending } from "./mod.ts";

/** How wrong credentials are counted on routes that have a limit. */
export interface FailureLimit {
  readonly rules: readonly LimitRule[];
  /** Who pays: the client, as far as it is known. */
  readonly subject: (info: ClientInfo) => string;
}

/** Codes that tell of credentials which are wrong, rather than missing, old or not enough. */
const wrongCredentials: ReadonlySet<AppError["code"]> = new Set(["invalid_token", "invalid_api_key"]);

/**
 * Spends one unit of a route's limit.
 *
 * @throws `rate_limited`, and `storage_unavailable` where the limit demands to be counted and cannot be.
 */
export async function count(
  limit: RateLimit<unknown>,
  call: Admitted<unknown>,
  to: { readonly exchange: Exchange; readonly counter: Failover },
): Promise<void> {
  const rules = typeof limit.rules === "function" ? limit.rules(call) : limit.rules;
  if (rules.length === 0) return;
  const { whenUncounted = "count here" } = limit;
  await spend({ subject: limit.subject(call), rules, whenUncounted }, to);
}

/**
 * Spends what the content of a request costs. Its fields are told only where they refuse: what is left of the limit of the route
 * is of use to more callers.
 *
 * @throws `rate_limited`; `payload_too_large` where one request asks for more than the limit ever allows.
 */
export async function countContent(
  { rules, subject, units }: ContentLimit<unknown>,
  call: Admitted<unknown> & { readonly body: unknown },
  to: { readonly exchange: Exchange; readonly counter: Failover },
): Promise<void> {
  const cost = rules.length === 0 ? 0 : units(call);
  if (cost === 0) return;
  const most = Math.min(...rules.map(({ limit }) => limit));
  if (cost > most) {
    throw new AppError(
      "payload_too_large",
      `Cannot accept ${cost} at once: send at most ${most} in a request`,
    );
  }
  const { extra } = to.exchange;
  await spend({ subject: subject(call), rules, whenUncounted: "count here", cost }, to);
  to.exchange.extra = extra;
}

/**
 * Counts a refusal by a guard: wrong credentials are spent by the client that sent them, and nothing by the user or key
 * whose they pretend to be. A client with right ones is never refused for what others of its network sent.
 *
 * @throws `rate_limited` in place of the refusal.
 */
export async function countRefusal(
  error: unknown,
  { rules, subject }: FailureLimit,
  to: { readonly exchange: Exchange; readonly counter: Failover },
): Promise<void> {
  if (rules.length === 0 || !(error instanceof AppError) || !wrongCredentials.has(error.code)) return;
  await spend({ subject: subject(to.exchange.info), rules, whenUncounted: "count here" }, to);
}

async function spend(
  spending: Spending,
  { exchange, counter }: { readonly exchange: Exchange; readonly counter: Failover },
): Promise<void> {
  const { rules } = spending;
  const verdicts = await counter.spend(spending);
  if (verdicts === null) return;
  exchange.extra = {
    ...exchange.extra,
    "ratelimit-policy": rateLimitPolicy(rules),
    ratelimit: rateLimitState(verdicts, rules),
  };
  const refused = verdicts.flatMap(({ allowed }, index) => (allowed ? [] : [rules[index]?.name ?? ""]));
  if (refused.length === 0) return;
  throw new AppError("rate_limited", "Cannot answer the request: too many were made; wait before the next", {
    retryAfterMs: Math.max(...verdicts.map(({ retryAfterMs }) => retryAfterMs)),
    details: { "violated-policies": refused },
  });
}
