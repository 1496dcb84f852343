/**
 * Limits of attempts, spent before anything costly is done.
 *
 * @module
 */

import { keyedTag } from "../../../auth/crypto/mod.ts";
import { deriveKey, type MasterSecret, networkTag } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import type { Logger } from "../../../http/mod.ts";
import { type Quotas, resolveRateLimits } from "../../../http/rate_limit/policies.ts";
import type { Limiter } from "../../../storage/mod.ts";
import { normaliseEmail } from "../email.ts";
import {
  type AttemptCount,
  type AttemptLimits,
  type AttemptPolicy,
  type AttemptSubject,
  attemptPoliciesOf,
  type LimitedAction,
} from "./policies.ts";

/** The network of one client: a whole IPv4 address, or the /64 that an IPv6 client has to itself. */
export const clientNetworkBits = { ipv4: 32, ipv6: 64 } as const;

/** The subject of an attempt, as known before the credentials are checked. None of it is stored in the clear. */
export interface AttemptFacts {
  readonly projectId: string;
  /** Address of the client. Without one all clients of the project share an allowance. */
  readonly address: string | undefined;
  /** As the client wrote it, if a user has it or not. */
  readonly email?: string;
  readonly userId?: string;
  readonly deviceId?: string;
  readonly sessionId?: string;
}

/** Counts attempts. */
export interface AttemptLimiter {
  /**
   * Spends one attempt. `silent` tells the caller to do nothing and answer as after success.
   *
   * @throws {AppError} `rate_limited`, and `too_many_attempts` for credentials, with the time to wait;
   *   `storage_unavailable`: the attempts of an action that guards credentials cannot be counted.
   */
  attempt(action: LimitedAction, facts: AttemptFacts): Promise<"go" | "silent">;
  /**
   * Forgets failed logins: those of the account at this address and on this device (`pair`, after a login), or all of the
   * account (after a reset by mail or by an operator). It never fails, as counters expire anyway.
   */
  clear(facts: AttemptFacts, scope?: "pair" | "account"): Promise<void>;
}

/** The rates of a deployment. */
export interface AttemptRates {
  /** @default {} */
  readonly limits?: AttemptLimits;
  /** @default those of a platform without settings */
  readonly quotas?: Quotas;
}

/** Limits nothing. */
export const noAttemptLimits: AttemptLimiter = { attempt: async () => "go", clear: async () => undefined };

/** The limits of a platform. */
export class StoredAttemptLimiter implements AttemptLimiter {
  readonly #limiter: Limiter;
  readonly #logger: Logger;
  readonly #key: Uint8Array;
  readonly #policies: Readonly<Record<LimitedAction, AttemptPolicy | "off">>;
  #isWarned = false;

  /** `secret` keys the tags that replace e-mails and addresses in the limiter. `limits` replace the policies of `quotas`. */
  constructor(
    limiter: Limiter,
    secret: MasterSecret,
    logger: Logger,
    { limits = {}, quotas = resolveRateLimits() }: AttemptRates = {},
  ) {
    this.#limiter = limiter;
    this.#logger = logger;
    this.#key = deriveKey(secret, "abuse");
    this.#policies = { ...attemptPoliciesOf(quotas), ...limits };
  }

  async attempt(action: LimitedAction, facts: AttemptFacts): Promise<"go" | "silent"> {
    const policy = this.#policies[action];
    if (policy === "off") return "go";
    this.#warnWithoutAddress(policy, facts);
    for (const count of policy.counts) {
      if (count.rules.length === 0) continue;
      const subject = this.#subjectOf(action, count.by, facts);
      const waitMs = await this.#spend(subject, count).catch((error: unknown) => {
        this.#logger.log("error", "abuse_limiter_failed", { action, reason: String(error) });
        if (policy.onLimiterFailure === "reject") throw uncounted(error);
        return null;
      });
      if (waitMs === null) continue;
      if (count.isSilent === true) return "silent";
      throw refused(action, count.by, waitMs);
    }
    return "go";
  }

  async clear(facts: AttemptFacts, scope: "pair" | "account" = "pair"): Promise<void> {
    const { login, knownDeviceLogin } = this.#policies;
    const isCleared = ({ by, rules }: AttemptCount): boolean =>
      rules.length > 0 &&
      (by === "pair" ||
        (by === "device" && facts.deviceId !== undefined) ||
        (by === "account" && scope === by));
    const resetsOf = (action: LimitedAction, policy: AttemptPolicy | "off"): Promise<void>[] =>
      (policy === "off" ? [] : policy.counts.filter(isCleared)).map(({ by, rules }) =>
        this.#limiter.reset(this.#subjectOf(action, by, facts), rules),
      );
    const resets = [...resetsOf("login", login), ...resetsOf("knownDeviceLogin", knownDeviceLogin)];
    for (const result of await Promise.allSettled(resets)) {
      if (result.status === "rejected") {
        this.#logger.log("error", "abuse_limiter_failed", {
          action: "clear",
          reason: String(result.reason),
        });
      }
    }
  }

  /** Returns the time to wait, or null for an attempt within the limits. */
  async #spend(subject: string, { rules }: AttemptCount): Promise<number | null> {
    const verdicts = await this.#limiter.take(subject, rules);
    if (verdicts.every(verdict => verdict.allowed)) return null;
    return Math.max(...verdicts.map(verdict => verdict.retryAfterMs));
  }

  #subjectOf(action: LimitedAction, by: AttemptSubject, facts: AttemptFacts): string {
    return `abuse:${keyedTag(this.#key, [facts.projectId, action, by, ...payerOf(by, facts)])}`;
  }

  #warnWithoutAddress({ counts }: AttemptPolicy, { projectId, address }: AttemptFacts): void {
    const isCounted = counts.some(({ by }) => by === "address" || by === "pair");
    if (address !== undefined || !isCounted || this.#isWarned) return;
    this.#isWarned = true;
    this.#logger.log("warn", "client_address_missing", {
      projectId,
      consequence:
        "all clients of a project share one allowance: hand `info.address` to the handler, or set `clientAddress`",
    });
  }
}

function payerOf(by: AttemptSubject, facts: AttemptFacts): readonly string[] {
  switch (by) {
    case "account":
      return [accountOf(facts)];
    case "address":
      return [networkOf(facts)];
    case "pair":
      return [accountOf(facts), networkOf(facts)];
    case "device":
      return [accountOf(facts), required(facts.deviceId, "deviceId")];
    case "user":
      return [required(facts.userId, "userId")];
    case "session":
      return [required(facts.sessionId, "sessionId")];
  }
}

/** Returns the network of the client, the address as given if it is none, or "" if it is unknown. */
export function networkOf({ address = "" }: { readonly address?: string | undefined }): string {
  return networkTag(address, clientNetworkBits) ?? address.toWellFormed();
}

function accountOf({ email, userId }: AttemptFacts): string {
  if (email === undefined) return `user:${required(userId, "email or userId")}`;
  // As coarse as accounts are distinguished: no spelling gets attempts of its own, and no account those of another.
  return `email:${normaliseEmail(email.toWellFormed())}`;
}

function required(value: string | undefined, name: string): string {
  if (value === undefined) throw new TypeError(`Cannot count an attempt without its ${name}`);
  return value;
}

function refused(action: LimitedAction, by: AttemptSubject, retryAfterMs: number): AppError {
  return by === "pair" || by === "account" || by === "device" || action === "passwordChange"
    ? new AppError("too_many_attempts", "Cannot accept another attempt for this account yet", {
        retryAfterMs,
      })
    : new AppError("rate_limited", "Cannot accept another request of this kind yet", { retryAfterMs });
}

function uncounted(cause: unknown): AppError {
  return new AppError("storage_unavailable", "Cannot check credentials while attempts cannot be counted", {
    cause,
  });
}
