/** The limits of requests. Numbers and windows are data under names, so that a deployment can change them. */

import type { LimitRule, LimitVerdict } from "../../storage/mod.ts";

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;

export type QuotaName =
  | "user"
  | "key"
  | "userKeys"
  | "loyaltyAction"
  | "loyaltyRead"
  | "failure"
  | "signUpNoLogin"
  | "signUpAnonymous"
  | "signUpEmail"
  | "loginNetwork"
  | "control"
  | "workflow";

/** A policy: a rate, who pays it, and whether it is in force where a deployment says nothing else. */
interface RatePolicy extends LimitRule {
  /**
   * `user`: requests of a user to the audience API; `key`: those of an API key; `userKeys`: requests of a user with an
   * `Idempotency-Key`, whose answers are stored; `loyaltyAction`: the actions that a user reports; `loyaltyRead`: a user's reads
   * of the loyalty API; `failure`: wrong credentials from the network of a client; `signUp…`: registrations from it; `loginNetwork`:
   * logins from it on devices that their accounts do not know; `control`: requests of an access token to the control API;
   * `workflow`: requests of an author to the backends of workflows.
   */
  readonly quota: QuotaName;
  readonly isOn: boolean;
}

/** The name of a policy. */
export type RatePolicyName =
  | "public"
  | "public-hour"
  | "public-burst"
  | "private"
  | "private-hour"
  | "private-burst"
  | "public-keys"
  | "loyalty-action"
  | "loyalty-read"
  | "failed-authentication"
  | "sign-up-no-login"
  | "sign-up-anonymous"
  | "sign-up-email"
  | "login-network"
  | "control"
  | "control-strict"
  | "workflow";

/** The policies. A quota with several of them that are on has to pass each. */
export const ratePolicies: Readonly<Record<RatePolicyName, RatePolicy>> = {
  public: { quota: "user", name: "minute", limit: 100, windowMs: minuteMs, isOn: true },
  "public-hour": { quota: "user", name: "hour", limit: 1_000, windowMs: hourMs, isOn: false },
  "public-burst": { quota: "user", name: "second", limit: 20, windowMs: secondMs, isOn: false },
  private: { quota: "key", name: "minute", limit: 10_000, windowMs: minuteMs, isOn: true },
  "private-hour": { quota: "key", name: "hour", limit: 100_000, windowMs: hourMs, isOn: false },
  "private-burst": { quota: "key", name: "second", limit: 200, windowMs: secondMs, isOn: false },
  // Two a second for long, which no person reports, and room for what an app sends after it was offline.
  "loyalty-action": { quota: "loyaltyAction", name: "minute", limit: 120, windowMs: minuteMs, isOn: true },
  "loyalty-read": { quota: "loyaltyRead", name: "minute", limit: 300, windowMs: minuteMs, isOn: true },
  // Each leaves an answer in the store for a day.
  "public-keys": { quota: "userKeys", name: "keys", limit: 5_000, windowMs: 24 * hourMs, isOn: true },
  // A stadium shares few addresses: what is refused beyond this is wrong credentials alone, never right ones.
  "failed-authentication": { quota: "failure", name: "failures", limit: 60, windowMs: minuteMs, isOn: true },
  // A venue is one network: 5,000 people have to get in within ten minutes.
  "sign-up-no-login": { quota: "signUpNoLogin", name: "minute", limit: 600, windowMs: minuteMs, isOn: true },
  "sign-up-anonymous": {
    quota: "signUpAnonymous",
    name: "minute",
    limit: 600,
    windowMs: minuteMs,
    isOn: true,
  },
  "sign-up-email": { quota: "signUpEmail", name: "minute", limit: 60, windowMs: minuteMs, isOn: true },
  // Who signs up with an e-mail address logs in next.
  "login-network": { quota: "loginNetwork", name: "minute", limit: 60, windowMs: minuteMs, isOn: true },
  // 120 at once, then 20 a second.
  control: { quota: "control", name: "control", limit: 120, windowMs: 6 * secondMs, isOn: true },
  "control-strict": { quota: "control", name: "strict", limit: 15, windowMs: secondMs, isOn: false },
  // 5 a second, and room for a dialogue that goes on by itself.
  workflow: { quota: "workflow", name: "workflow", limit: 10, windowMs: 2 * secondMs, isOn: true },
};

/** Every name of a policy, in the order in which documents list them. */
export const ratePolicyNames: readonly RatePolicyName[] = Object.keys(ratePolicies) as RatePolicyName[];

/** A rate in place of a policy's own. */
export type Rate = Pick<LimitRule, "limit" | "windowMs">;

/** Changes of a deployment: policies by name switched on or off, or with another rate; `off` limits nothing at all. */
export type RateLimits = "off" | Readonly<Partial<Record<RatePolicyName, "on" | "off" | Rate>>>;

/** The rules of each quota; an empty list limits nothing. */
export type Quotas = Readonly<Record<QuotaName, readonly LimitRule[]>>;

export function resolveRateLimits(limits: RateLimits = {}): Quotas {
  const rulesOf = (quota: QuotaName): readonly LimitRule[] =>
    limits === "off"
      ? []
      : ratePolicyNames.flatMap(policyName => {
          const policy = ratePolicies[policyName];
          const said = limits[policyName] ?? (policy.isOn ? "on" : "off");
          if (policy.quota !== quota || said === "off") return [];
          const { name, limit, windowMs } = policy;
          return [said === "on" ? { name, limit, windowMs } : { name, ...said }];
        });
  const quotas = Object.values(ratePolicies).map(({ quota }) => [quota, rulesOf(quota)] as const);
  return Object.fromEntries(quotas) as Quotas;
}

/**
 * Reads policies as an operator writes them: `off`, or items such as `public-burst`, `private=off` and `public=200/60`,
 * which is 200 requests in 60 seconds.
 *
 * @throws {RangeError} An item is none of these, or names no policy.
 */
export function parseRateLimits(text: string): RateLimits {
  if (text.trim() === "off") return "off";
  const limits: Partial<Record<RatePolicyName, "on" | "off" | Rate>> = {};
  for (const item of text.split(",")) {
    const [name = "", value = "on", ...more] = item.trim().split("=");
    if (!isPolicyName(name) || more.length > 0) throw new RangeError(`There is no rate policy "${item}"`);
    limits[name] = value === "on" || value === "off" ? value : parseRate(value);
  }
  return limits;
}

function isPolicyName(text: string): text is RatePolicyName {
  return Object.hasOwn(ratePolicies, text);
}

function parseRate(text: string): Rate {
  const [, limit, seconds] = /^([1-9]\d{0,8})\/([1-9]\d{0,5})$/.exec(text) ?? [];
  if (limit === undefined || seconds === undefined) {
    throw new RangeError(`"${text}" is no rate: expected <requests>/<seconds>`);
  }
  return { limit: Number(limit), windowMs: Number(seconds) * secondMs };
}

const policies = new WeakMap<readonly LimitRule[], string>();

/**
 * The value of `RateLimit-Policy`: `"minute";q=100;w=60`, with the window in seconds.
 *
 * @throws {TypeError} No rules, or a rule that cannot be written.
 */
export function rateLimitPolicy(rules: readonly LimitRule[]): string {
  const cached = policies.get(rules);
  if (cached !== undefined) return cached;
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
