/** The cost of a request: spends the limits of its route and writes their state into the header fields of the answer. */

import { AppError } from "../../base/errors/mod.ts";
import { chain } from "../../storage/background/mod.ts";
import type { LimitRule, LimitVerdict } from "../../storage/mod.ts";
import type { Failover, Spending } from "../rate_limit/failover.ts";
import { rateLimitPolicy, rateLimitState } from "../rate_limit/policies.ts";
import type { LimitFields } from "../replies/replies.ts";
import type { Authorized, ClientInfo, ContentLimit, RateLimit } from "../route.ts";

/** The limit of wrong credentials on routes that have a limit. */
export interface FailureLimit {
  readonly rules: readonly LimitRule[];
  /** Names the client that pays. */
  readonly subject: (info: ClientInfo) => string;
}

interface Account {
  readonly exchange: {
    readonly info: ClientInfo;
    limits: LimitFields | null;
  };
  readonly counter: Failover;
}

/** Codes of wrong credentials, as opposed to missing, expired or insufficient ones. */
const wrongCredentials: ReadonlySet<AppError["code"]> = new Set(["invalid_token", "invalid_api_key"]);

/**
 * Spends one unit of a route's limit, without a promise if the limiter counts in memory.
 *
 * @throws `rate_limited`; `storage_unavailable` where the limiter fails and the limit rejects requests then.
 */
export function countRequest(
  limit: RateLimit<unknown>,
  call: Authorized<unknown>,
  account: Account,
): void | Promise<void> {
  const rules = typeof limit.rules === "function" ? limit.rules(call) : limit.rules;
  if (rules.length === 0) return;
  const { onLimiterFailure = "local" } = limit;
  return spend({ subject: limit.subject(call), rules, onLimiterFailure }, account);
}

/**
 * Spends the cost of a request's content. The answer shows it only where it refuses: the rest of the route's limit is of
 * use to more callers.
 *
 * @throws `rate_limited`; `payload_too_large` where one request asks for more than the limit ever allows.
 */
export async function countContent(
  { rules: given, subject, units }: ContentLimit<unknown>,
  call: Authorized<unknown> & { readonly body: unknown },
  account: Account,
): Promise<void> {
  const rules = typeof given === "function" ? given(call) : given;
  const cost = rules.length === 0 ? 0 : units(call);
  if (cost === 0) return;
  const most = Math.min(...rules.map(({ limit }) => limit));
  if (cost > most) {
    const message = `Cannot accept ${cost} at once: send at most ${most} in a request`;
    throw new AppError("payload_too_large", message);
  }
  const { limits } = account.exchange;
  await spend({ subject: subject(call), rules, onLimiterFailure: "local", cost }, account);
  account.exchange.limits = limits;
}

/**
 * Counts a refusal by a guard. The network of the client pays for wrong credentials, never the user or key that they
 * name; right credentials from the same network are never refused for it.
 *
 * @throws `rate_limited` in place of the refusal.
 */
export async function countRefusal(
  error: unknown,
  { rules, subject }: FailureLimit,
  account: Account,
): Promise<void> {
  if (rules.length === 0 || !(error instanceof AppError) || !wrongCredentials.has(error.code)) return;
  await spend({ subject: subject(account.exchange.info), rules, onLimiterFailure: "local" }, account);
}

function spend(spending: Spending, { exchange, counter }: Account): void | Promise<void> {
  return chain(counter.spend(spending), verdicts => {
    if (verdicts !== null) applyVerdicts(verdicts, spending, exchange);
  });
}

function applyVerdicts(
  verdicts: readonly LimitVerdict[],
  { rules }: Spending,
  exchange: Account["exchange"],
): void {
  exchange.limits = { policy: rateLimitPolicy(rules), state: rateLimitState(verdicts, rules) };
  if (verdicts.every(({ allowed }) => allowed)) return;
  const refused = verdicts.flatMap(({ allowed }, index) => (allowed ? [] : [rules[index]?.name ?? ""]));
  throw new AppError("rate_limited", "Cannot answer the request: too many were made; wait before the next", {
    retryAfterMs: Math.max(...verdicts.map(({ retryAfterMs }) => retryAfterMs)),
    details: { "violated-policies": refused },
  });
}
