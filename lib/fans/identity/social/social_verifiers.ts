import type { Clock } from "../../../auth/mod.ts";
import {
  jsonBody,
  providerError,
  type RemoteClaims,
  type RemoteFetch,
  type RemoteIssuers,
} from "../../../auth/remote_issuers/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { CircuitBreaker } from "../../../base/outbound/outbound.ts";
import { memoize } from "../../../storage/background/mod.ts";
import type { Project } from "../../directory/mod.ts";
import {
  type IdTokenSettings,
  identitySetting,
  type SocialProvider,
  type SocialSettings,
  type TokenDebugSettings,
} from "../settings.ts";

/** The verifiers of all projects. Create one per process, as it knows which providers fail. */
export class SocialVerifiers {
  readonly #verifierOf: (settings: SocialSettings) => SocialVerifier;

  constructor(issuers: RemoteIssuers, fetch: RemoteFetch, clock: Clock) {
    this.#verifierOf = memoize((settings: SocialSettings) =>
      settings.style === "idToken"
        ? createIdTokenVerifier(settings, issuers)
        : createTokenDebugVerifier(settings, fetch, clock),
    );
  }

  /**
   * Returns the verifier of a project's provider.
   *
   * @throws {AppError} `unsupported_provider`: the project has no such provider; `provider_unavailable`: its settings
   * are invalid.
   */
  of(project: Project, provider: SocialProvider): SocialVerifier {
    const settings = identitySetting(project, provider);
    if (settings !== undefined) return this.#verifierOf(settings);
    throw new AppError("unsupported_provider", "Cannot check the user as the project has no such provider");
  }
}

function createIdTokenVerifier(settings: IdTokenSettings, issuers: RemoteIssuers): SocialVerifier {
  async function claimsOf(token: string): Promise<RemoteClaims> {
    try {
      return await issuers.verify(token, settings);
    } catch (error) {
      if (error instanceof AppError && (error.code === "invalid_token" || error.code === "token_expired")) {
        throw socialTokenRejected(error);
      }
      throw error;
    }
  }
  return {
    async verify({ userId, accessToken, idToken = accessToken }) {
      if (idToken === undefined) throw socialTokenRejected("no token");
      const { iss, sub, email, email_verified, nickname, name } = await claimsOf(idToken);
      if (userId !== undefined && userId !== sub) throw socialTokenRejected("subject");
      const shown = typeof nickname === "string" ? nickname : name;
      return {
        issuer: iss,
        subject: sub,
        appId: settings.audience,
        ...(typeof email === "string" ? { email } : {}),
        emailVerified: email_verified === true,
        ...(typeof shown === "string" ? { nickname: shown } : {}),
      };
    },
  };
}

export interface SocialProof {
  /** The id that the user claims to have there; must be the token's. */
  readonly userId?: string | undefined;
  readonly accessToken?: string | undefined;
  readonly idToken?: string | undefined;
}

export interface SocialIdentity {
  readonly issuer: string;
  readonly subject: string;
  /** The application that the token was issued to: always the configured one. */
  readonly appId: string;
  readonly email?: string;
  readonly emailVerified: boolean;
  readonly nickname?: string;
}

export interface SocialVerifier {
  /**
   * Verifies a proof and returns its user. A doubtful proof is refused.
   *
   * @throws {AppError} `social_token_rejected`: no token, an invalid one, or one of another application or user;
   * `provider_unavailable`, `provider_error`.
   */
  verify(proof: SocialProof): Promise<SocialIdentity>;
}

/** Creates the one error for an unacceptable proof. The cause is for the log alone. */
export function socialTokenRejected(cause: unknown): AppError {
  return new AppError("social_token_rejected", "Cannot accept the token of the social provider", { cause });
}

export const socialSubjectCharactersMax = 255;

/** Creates the verifier of one provider, which is not asked for some seconds after repeated failures. */
function createTokenDebugVerifier(
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
