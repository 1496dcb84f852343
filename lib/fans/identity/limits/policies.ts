/**
 * The default limits of attempts, as data, so that a deployment can replace them.
 *
 * @module
 */

import { type Quotas, resolveRateLimits } from "../../../http/rate_limit/policies.ts";
import type { LimitRule } from "../../../storage/mod.ts";

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
export type AttemptSubject = "pair" | "account" | "address" | "device" | "user" | "session";

/** The allowance of one subject. */
export interface AttemptCount {
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
export function attemptPoliciesOf(quotas: Quotas): Readonly<Record<LimitedAction, AttemptPolicy>> {
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
    // Every sign-up needs one of each where verification is required, so a network has as many.
    verifyEmail: {
      counts: [{ by: "address", rules: quotas.signUpEmail }, ...mailsOfAccount],
      onLimiterFailure: "reject",
    },
    confirmEmail: byAddress(quotas.signUpEmail, "reject"),
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

/** The default policies. */
export const attemptPolicies: Readonly<Record<LimitedAction, AttemptPolicy>> = attemptPoliciesOf(
  resolveRateLimits(),
);

function byAddress(
  rules: readonly LimitRule[],
  onLimiterFailure: AttemptPolicy["onLimiterFailure"],
): AttemptPolicy {
  return { counts: [{ by: "address", rules }], onLimiterFailure };
}
