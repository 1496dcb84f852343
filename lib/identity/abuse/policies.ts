/**
 * How often what may be tried. Numbers and windows are data, so that a deployment can say other ones.
 *
 * @module
 */

import type { LimitRule } from "../../storage/mod.ts";
import type { AbuseAction } from "./abuse.ts";

/**
 * Who pays for an attempt: the account (by e-mail, or by user where there is none) from anywhere, the network of the
 * client, both together, the user, or the session.
 */
export type AbuseSubject = "pair" | "account" | "address" | "user" | "session";

/** What one subject may spend. */
export interface AbuseCount {
  readonly by: AbuseSubject;
  readonly rules: readonly LimitRule[];
  /** Whether a refusal must look like success, because it would tell that mail was sent. @default false */
  readonly isSilent?: boolean;
}

/** How attempts at one action are counted. */
export interface AbusePolicy {
  /** Spent in this order until one refuses; what comes after it is not spent. */
  readonly counts: readonly AbuseCount[];
  /**
   * What happens while attempts cannot be counted: what guards credentials is refused, because guessing would be free;
   * what only bounds the load goes on, because an outage of counters must not become an outage of everything.
   */
  readonly whenUncounted: "refuse" | "allow";
}

const secondMs = 1_000;
const minuteMs = 60 * secondMs;
const hourMs = 60 * minuteMs;
const quarterMs = 15 * minuteMs;

/** The policies of every action where a deployment says nothing else. */
export const abusePolicies: Readonly<Record<AbuseAction, AbusePolicy>> = {
  login: {
    // Who hammers one account from one network runs into the pair, and so never locks the account for others.
    counts: [
      { by: "pair", rules: [{ name: "pair", limit: 5, windowMs: quarterMs }] },
      { by: "address", rules: [{ name: "address", limit: 60, windowMs: quarterMs }] },
      { by: "account", rules: [{ name: "account", limit: 30, windowMs: quarterMs }] },
    ],
    whenUncounted: "refuse",
  },
  register: {
    counts: [{ by: "address", rules: [{ name: "hour", limit: 10, windowMs: hourMs }] }],
    whenUncounted: "allow",
  },
  registeredMail: {
    counts: [{ by: "account", rules: [{ name: "hour", limit: 1, windowMs: hourMs }], isSilent: true }],
    whenUncounted: "refuse",
  },
  forgot: {
    counts: [
      { by: "address", rules: [{ name: "hour", limit: 20, windowMs: hourMs }] },
      {
        by: "account",
        rules: [
          { name: "minute", limit: 1, windowMs: minuteMs },
          { name: "hour", limit: 5, windowMs: hourMs },
        ],
        isSilent: true,
      },
    ],
    whenUncounted: "refuse",
  },
  confirm: {
    counts: [{ by: "address", rules: [{ name: "address", limit: 30, windowMs: quarterMs }] }],
    whenUncounted: "refuse",
  },
  anonymousRegister: {
    counts: [{ by: "address", rules: [{ name: "hour", limit: 30, windowMs: hourMs }] }],
    whenUncounted: "allow",
  },
  noLoginCreate: {
    counts: [{ by: "address", rules: [{ name: "hour", limit: 30, windowMs: hourMs }] }],
    whenUncounted: "allow",
  },
  noLoginLookup: {
    counts: [{ by: "address", rules: [{ name: "minute", limit: 30, windowMs: minuteMs }] }],
    whenUncounted: "allow",
  },
  refresh: {
    counts: [{ by: "session", rules: [{ name: "minute", limit: 60, windowMs: minuteMs }] }],
    whenUncounted: "allow",
  },
  socialCheck: {
    counts: [{ by: "address", rules: [{ name: "minute", limit: 30, windowMs: minuteMs }] }],
    whenUncounted: "refuse",
  },
  profile: {
    counts: [{ by: "user", rules: [{ name: "minute", limit: 120, windowMs: minuteMs }] }],
    whenUncounted: "allow",
  },
  emailChange: {
    counts: [{ by: "account", rules: [{ name: "hour", limit: 5, windowMs: hourMs }] }],
    whenUncounted: "refuse",
  },
};
