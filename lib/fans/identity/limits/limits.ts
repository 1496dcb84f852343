/** Limits of attempts, spent before anything costly is done. */

import { networkTag } from "../../../auth/client_address.ts";
import { deriveKey, keyedTag } from "../../../auth/crypto/mod.ts";
import type { MasterSecret } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import type { Logger } from "../../../http/mod.ts";
import { type Quotas, resolveRateLimits } from "../../../http/rate_limit/policies.ts";
import type { Limiter, LimitRule } from "../../../storage/mod.ts";
import { normaliseEmail } from "../lookup_keys.ts";

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

interface AttemptRates {
  /** @default {} */
  readonly limits?: AttemptLimits;
  /** @default those of a platform without settings */
  readonly quotas?: Quotas;
}

export const noAttemptLimits: AttemptLimiter = { attempt: async () => "go", clear: async () => undefined };

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
    const isCleared = ({ by, rules }: AttemptCount): boolean =>
      rules.length > 0 &&
      (by === "pair" ||
        (by === "device" && facts.deviceId !== undefined) ||
        (by === "account" && scope === by));
    const resets = (["login", "knownDeviceLogin"] as const).flatMap(action => {
      const policy = this.#policies[action];
      return (policy === "off" ? [] : policy.counts.filter(isCleared)).map(({ by, rules }) =>
        this.#limiter.reset(this.#subjectOf(action, by, facts), rules),
      );
    });
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

/** An action with limits. A `noLoginLookup` is counted after it fails, the others before they start. */
export type LimitedAction =
  | "login"
  | "knownDeviceLogin"
  | "passwordChange"
  | "register"
  | "registeredMail"
  | "forgot"
  | "confirm"
  | "verifyEmail"
  | "confirmEmail"
  | "loginCode"
  | "confirmLogin"
  | "openIdLogin"
  | "openIdConfirm"
  | "anonymousRegister"
  | "noLoginCreate"
  | "noLoginLookup"
  | "refresh"
  | "socialCheck"
  | "profile"
  | "emailChange";

/**
 * The payer of an attempt: the account (by e-mail, or else by user), the network of the client, both together, the
 * account on one device, the user, or the session.
 */
type AttemptSubject = "pair" | "account" | "address" | "device" | "user" | "session";

interface AttemptCount {
  readonly by: AttemptSubject;
  readonly rules: readonly LimitRule[];
  /** Makes a refusal look like success, as it would reveal that mail was sent. @default false */
  readonly isSilent?: boolean;
}

/** The limits of one action. */
export interface AttemptPolicy {
  /** Spent in this order until one refuses. */
  readonly counts: readonly AttemptCount[];
  /**
   * The decision while attempts cannot be counted. Actions that guard credentials are rejected, as guessing would be
   * free; actions that only bound the load go on.
   */
  readonly onLimiterFailure: "reject" | "allow";
}

/** Policies that replace the default ones; `off` removes the limits of an action. */
export type AttemptLimits = Readonly<Partial<Record<LimitedAction, AttemptPolicy | "off">>>;

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const quarterMs = 15 * minuteMs;

/** The policies of a deployment, whose rates of networks have names like those of requests. */
function attemptPoliciesOf(quotas: Quotas): Readonly<Record<LimitedAction, AttemptPolicy>> {
  return {
    ...fixedPolicies,
    login: {
      // Attempts at one account from one network exhaust the pair, and so never lock the account for others.
      counts: [
        { by: "pair", rules: [{ name: "pair", limit: 5, windowMs: quarterMs }] },
        { by: "address", rules: quotas.loginNetwork },
        { by: "account", rules: [{ name: "account", limit: 30, windowMs: quarterMs }] },
      ],
      onLimiterFailure: "reject",
    },
    register: byAddress(quotas.signUpEmail, "allow"),
    // Every sign-up needs one of each where verification is required or codes replace passwords, so a network has as many.
    verifyEmail: mailsTo(quotas.signUpEmail),
    confirmEmail: byAddress(quotas.signUpEmail, "reject"),
    loginCode: mailsTo(quotas.signUpEmail),
    confirmLogin: byAddress(quotas.signUpEmail, "reject"),
    openIdLogin: byAddress(quotas.loginNetwork, "reject"),
    openIdConfirm: byAddress(quotas.loginNetwork, "reject"),
    anonymousRegister: byAddress(quotas.signUpAnonymous, "allow"),
    noLoginCreate: byAddress(quotas.signUpNoLogin, "allow"),
  };
}

/**
 * Codes that are mailed to one address. What one network asks for leaves room for the owner; what all ask for together bounds the
 * mail, and the codes that somebody can guess at.
 */
const mailsOfAccount: readonly AttemptCount[] = [
  { by: "pair", rules: mailRules(5), isSilent: true },
  { by: "account", rules: mailRules(20), isSilent: true },
];

function mailRules(hourly: number): readonly LimitRule[] {
  return [
    { name: "minute", limit: 1, windowMs: minuteMs },
    { name: "hour", limit: hourly, windowMs: hourMs },
  ];
}

const fixedPolicies = {
  // Paid by the device alone, so that strangers' wrong passwords neither lock the owner out nor use up a venue's network.
  knownDeviceLogin: {
    counts: [{ by: "device", rules: [{ name: "device", limit: 10, windowMs: quarterMs }] }],
    onLimiterFailure: "reject",
  },
  passwordChange: {
    counts: [{ by: "session", rules: [{ name: "session", limit: 5, windowMs: quarterMs }] }],
    onLimiterFailure: "reject",
  },
  registeredMail: {
    counts: [{ by: "account", rules: [{ name: "hour", limit: 1, windowMs: hourMs }], isSilent: true }],
    onLimiterFailure: "reject",
  },
  forgot: {
    counts: [
      {
        by: "address",
        // Who asks for many addresses at once slows a network down, and shuts nobody out.
        rules: [
          { name: "burst", limit: 20, windowMs: 10 * secondMs },
          { name: "minute", limit: 60, windowMs: minuteMs },
        ],
      },
      ...mailsOfAccount,
    ],
    onLimiterFailure: "reject",
  },
  confirm: byAddress([{ name: "address", limit: 30, windowMs: 5 * minuteMs }], "reject"),
  noLoginLookup: byAddress([{ name: "minute", limit: 30, windowMs: minuteMs }], "allow"),
  refresh: {
    counts: [{ by: "session", rules: [{ name: "minute", limit: 60, windowMs: minuteMs }] }],
    onLimiterFailure: "allow",
  },
  socialCheck: byAddress([{ name: "minute", limit: 30, windowMs: minuteMs }], "reject"),
  profile: {
    counts: [{ by: "user", rules: [{ name: "minute", limit: 120, windowMs: minuteMs }] }],
    onLimiterFailure: "allow",
  },
  emailChange: {
    counts: [{ by: "account", rules: [{ name: "hour", limit: 5, windowMs: hourMs }] }],
    onLimiterFailure: "reject",
  },
} satisfies Partial<Record<LimitedAction, AttemptPolicy>>;

export const attemptPolicies: Readonly<Record<LimitedAction, AttemptPolicy>> = attemptPoliciesOf(
  resolveRateLimits(),
);

function mailsTo(rules: readonly LimitRule[]): AttemptPolicy {
  return { counts: [{ by: "address", rules }, ...mailsOfAccount], onLimiterFailure: "reject" };
}

function byAddress(
  rules: readonly LimitRule[],
  onLimiterFailure: AttemptPolicy["onLimiterFailure"],
): AttemptPolicy {
  return { counts: [{ by: "address", rules }], onLimiterFailure };
}
