/**
 * Verification of opaque tokens: one endpoint names the application and user of a token, another the profile.
 *
 * @module
 */

import type { Clock } from "../../../auth/mod.ts";
import { jsonBody, providerError, type RemoteFetch } from "../../../auth/remote_issuers/mod.ts";
import { CircuitBreaker } from "../../../base/outbound/circuit_breaker.ts";
import type { TokenDebugSettings } from "../settings.ts";
import { type SocialIdentity, type SocialVerifier, socialTokenRejected } from "./verifier.ts";

/** Longest id of a user at a social provider, in characters. */
export const socialSubjectCharactersMax = 255;

/** Creates the verifier of one provider, which is not asked for some seconds after repeated failures. */
export function createTokenDebugVerifier(
  settings: TokenDebugSettings,
  fetch: RemoteFetch,
  clock: Clock,
): SocialVerifier {
  const circuit = new CircuitBreaker(clock);
  return {
    verify({ userId, accessToken }) {
      if (accessToken === undefined) throw socialTokenRejected("no token");
      return circuit.run(async () => {
        const subject = await subjectOf(settings, fetch, accessToken);
        if (userId !== undefined && userId !== subject) throw socialTokenRejected("subject");
        return await identityOf(settings, fetch, { accessToken, subject });
      });
    },
  };
}

/** Asks for the user of a token, which must be issued for our application. */
async function subjectOf(
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

async function identityOf(
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

/** Asks about a token. Providers answer 400, 401 or 403 for an invalid one. */
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

/** Reads an id, which is a number at some providers. */
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
