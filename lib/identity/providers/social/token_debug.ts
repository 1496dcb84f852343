/**
 * Verification of opaque tokens: first which application and user the token is for, then who that is.
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import { jsonBody, providerError, type RemoteFetch } from "../../../auth/remote_issuers/mod.ts";
import { CircuitBreaker } from "../../../outbound/circuit_breaker.ts";
import type { TokenDebugSettings } from "./settings.ts";
import { type SocialIdentity, type SocialVerifier, socialTokenRejected } from "./verifier.ts";

/** Longest id of a user at a social provider, in characters. */
export const socialSubjectCharactersMax = 255;

/** What the verification needs. */
export interface TokenDebugOptions {
  readonly fetch: RemoteFetch;
  readonly clock: Clock;
}

/** Creates the verification for one provider, which it leaves alone while that fails. */
export function createTokenDebugVerifier(
  settings: TokenDebugSettings,
  { fetch, clock }: TokenDebugOptions,
): SocialVerifier {
  const circuit = new CircuitBreaker(clock);
  return {
    verify({ userId, accessToken }) {
      if (accessToken === undefined) throw socialTokenRejected("no token");
      return circuit.run(async () => {
        const subject = await debug(settings, fetch, accessToken);
        if (userId !== undefined && userId !== subject) throw socialTokenRejected("subject");
        return await describe(settings, fetch, { accessToken, subject });
      });
    },
  };
}

/** The user whom the token is for, if it is for our application. */
async function debug(
  { appId, tokenDebug }: TokenDebugSettings,
  fetch: RemoteFetch,
  accessToken: string,
): Promise<string> {
  const url = new URL(tokenDebug.url);
  url.searchParams.set(tokenDebug.tokenParameter, accessToken);
  const answer = await ask(fetch, url);
  const { validMember, appIdMember, subjectMember } = tokenDebug;
  if (validMember !== undefined && memberAt(answer, validMember) !== true)
    throw socialTokenRejected("validity");
  if (idAt(answer, appIdMember) !== appId) throw socialTokenRejected("application");
  const subject = idAt(answer, subjectMember);
  if (subject === undefined) throw socialTokenRejected("subject");
  return subject;
}

async function describe(
  { issuer, appId, userinfo }: TokenDebugSettings,
  fetch: RemoteFetch,
  { accessToken, subject }: { readonly accessToken: string; readonly subject: string },
): Promise<SocialIdentity> {
  const answer = await ask(fetch, new URL(userinfo.url), { authorization: `Bearer ${accessToken}` });
  if (idAt(answer, userinfo.subjectMember) !== subject) throw socialTokenRejected("subject");
  const email = memberAt(answer, userinfo.emailMember);
  const nickname = memberAt(answer, userinfo.nicknameMember);
  return {
    issuer,
    subject,
    appId,
    ...(typeof email === "string" ? { email } : {}),
    emailVerified: memberAt(answer, userinfo.emailVerifiedMember) === true,
    ...(typeof nickname === "string" ? { nickname } : {}),
  };
}

/** The answer to a question about a token, which providers refuse with 400, 401 or 403 where the token is not valid. */
async function ask(
  fetch: RemoteFetch,
  url: URL,
  headers?: Readonly<Record<string, string>>,
): Promise<unknown> {
  const response = await fetch(url.href, headers);
  const { status } = response;
  if (status === 400 || status === 401 || status === 403) throw socialTokenRejected(`status ${status}`);
  if (status !== 200) throw providerError(`status ${status}`);
  return await jsonBody(response);
}

/** Ids are texts, and numbers at some providers. */
function idAt(answer: unknown, path: string): string | undefined {
  const value = memberAt(answer, path);
  const id = Number.isSafeInteger(value) ? String(value) : value;
  const isId = typeof id === "string" && id !== "" && id.length <= socialSubjectCharactersMax;
  return isId && id.isWellFormed() ? id : undefined;
}

function memberAt(answer: unknown, path: string): unknown {
  return path.split(".").reduce<unknown>((value, name) => {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
    return (value as Readonly<Record<string, unknown>>)[name];
  }, answer);
}
