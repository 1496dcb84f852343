/** What a device keeps of a fan's session. */

import { GrandstandError } from "./errors.ts";
import type { IdentityProof } from "./identity.ts";

/** Part of a token's lifetime after which it is renewed. */
const renewalPart = 0.8;
/** Lifetime of a user token that does not say it, in ms. */
const lifetimeMsDefault = 600_000;

/** Codes with which a renewal is refused for good. */
const endings: ReadonlySet<string> = new Set([
  "invalid_token",
  "session_revoked",
  "refresh_token_reused",
  "device_mismatch",
  "invalid_credentials",
  "account_banned",
]);

/** The signed record that proves a user without a password. */
export type SessionProof = Extract<IdentityProof, { type: "sessionRecord" }>["record"];

/** Members of a record: the signature is over all of them. */
const proofMembers = [
  "deviceId",
  "timeStamp",
  "signature",
  "externalId",
  "userId",
  "signUp",
  "signup",
] as const;

/** A token with its times, in ms of the local clock. */
export interface HeldToken {
  readonly token: string;
  readonly renewAt: number;
  readonly expiresAt: number;
}

/** A signed-in user. */
export interface FanUser {
  readonly userId: string;
  readonly provider: string;
  /** The key of a user without a password, to log in on another device; show it to nobody. Empty for others. */
  readonly externalId: string;
}

export interface SignedIn extends FanUser {
  /** Of users without passwords, who have no user tokens. */
  readonly record?: SessionProof | undefined;
  readonly refreshToken?: string | undefined;
  readonly user?: HeldToken | undefined;
  readonly space?: HeldToken | undefined;
}

/** What a device keeps. Its id outlives sessions, as a known device has login attempts of its own. */
export interface DeviceState {
  readonly deviceId: string;
  readonly session: SignedIn | null;
}

/** Members of the answer to a sign-in: a signed record, tokens, or both. Answers to checks have none of them if they sign nobody in. */
export interface SignInAnswer extends Partial<SessionProof> {
  readonly userId?: string;
  readonly accessToken?: string;
  readonly refreshToken?: string;
  readonly [member: string]: unknown;
}

/** Reads the answer to a sign-in. `previous` has what the answer lacks. @throws {GrandstandError} `bad_answer`: it signs nobody in. */
export function signedIn(
  provider: string,
  answer: SignInAnswer,
  { now, previous }: { readonly now: number; readonly previous?: SignedIn | undefined },
): SignedIn {
  const {
    accessToken,
    refreshToken = previous?.refreshToken,
    userId = previous?.userId ?? "",
  } = answer ?? {};
  if (typeof accessToken === "string") {
    const user = timed(accessToken, now, lifetimeOf(accessToken));
    return { provider, userId, externalId: "", refreshToken, user, space: previous?.space };
  }
  if (typeof answer?.signature !== "string") throw noToken();
  const record = Object.fromEntries(
    proofMembers.flatMap(name => (answer[name] === undefined ? [] : [[name, answer[name]]])),
  ) as unknown as SessionProof;
  return { provider, userId, externalId: record.externalId, record };
}

/** Creates the error for an answer of some other server, such as that of a hotel's network. */
export function noToken(): GrandstandError {
  return new GrandstandError("bad_answer", "The answer of the server signs nobody in");
}

/** Users without passwords are signed in when they register. */
export function isSimple(provider: string): boolean {
  return provider === "noLogin" || provider === "anonymous";
}

export function userOf({ userId, provider, externalId }: SignedIn): FanUser {
  return { userId, provider, externalId };
}

/** Notes the times of a token by its lifetime, so that a wrong clock does not matter. */
export function timed(token: string, at: number, lifetimeMs: number): HeldToken {
  return { token, renewAt: at + lifetimeMs * renewalPart, expiresAt: at + lifetimeMs };
}

type Claims = { readonly [name in "exp" | "iat" | "sub"]?: unknown };

/** Members of a JWT; none of a text that is no JWT. */
export function claimsOf(token: string): Claims {
  try {
    return JSON.parse(atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"))) ?? {};
  } catch {
    return {};
  }
}

/** Lifetime of a JWT by its own times, which are both of the server's clock. */
function lifetimeOf(token: string): number {
  const { exp, iat } = claimsOf(token);
  return (Number(exp) - Number(iat)) * 1_000 || lifetimeMsDefault;
}

/** Checks a state that was read from a storage, to which anything may have been written. */
export function isDeviceState(value: unknown): value is DeviceState {
  if (typeof value !== "object" || value === null) return false;
  const { deviceId, session } = value as Partial<DeviceState>;
  return typeof deviceId === "string" && (session === null || typeof session?.userId === "string");
}

/** Checks whether an error refuses a renewal for good. */
export function isEnding(error: unknown): error is GrandstandError {
  return error instanceof GrandstandError && endings.has(error.code);
}
