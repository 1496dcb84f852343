/**
 * The tokens of sessions and of client apps. Each kind has a media type of its own, so that none is accepted as another.
 * The audience names the project, so that tokens of other projects and of spaces are refused.
 *
 * @module
 */

import { bearerToken, invalidToken, type RandomBytes, type Tokens } from "../../auth/mod.ts";
import { type Claims, tokenTtlSecondsMax } from "../../auth/tokens/mod.ts";
import type { Project } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { User } from "../users.ts";
import type { Session } from "./session.ts";

/** The longest life of an access token, in seconds. */
export const accessTokenTtlSecondsMax = 600;
/** The shortest life: lives differ by 5 %, so that clients that logged in together refresh apart. */
const accessTokenTtlSecondsMin = 570;

/** The scope of users in the space of their project. */
const userScope: readonly string[] = ["audience:read", "audience:write"];

/** The tokens of a session: JWTs. */
export interface SessionTokens {
  readonly accessToken: string;
  readonly profileToken: string;
  readonly refreshToken: string;
}

/** The session of a token. */
export interface SessionClaims {
  readonly userId: string;
  readonly sid: string;
  /** The counter of the session when the token was made. */
  readonly counter: number;
}

/** Issues and reads the tokens of sessions. */
export type IdentityTokens = ReturnType<typeof createIdentityTokens>;

/** Creates the tokens of all projects. */
export function createIdentityTokens(tokens: Tokens, random: RandomBytes, issuer: string) {
  return {
    /** Issues the tokens of a session. The refresh token expires at `endsAt`, in Unix ms. */
    async issue(
      project: Project,
      user: User,
      session: Session & { readonly endsAt: number },
    ): Promise<SessionTokens> {
      const { sid, deviceId, counter } = session;
      const common = { issuer, audience: projectAudience(project.id), subject: user.userId };
      const ttlSeconds = accessTokenTtlSecondsMax - jitter(random);
      const { id: projectId, organisationId: orgId } = project;
      const access = { orgId, scope: userScope, projectId, sid, did: deviceId, rc: counter };
      const refreshSeconds = Math.max(1, Math.ceil((session.endsAt - session.lastSeen) / 1_000));
      const [accessToken, profileToken, refreshToken] = await Promise.all([
        tokens.sign({ ...common, typ: "at+jwt", ttlSeconds, claims: access }),
        tokens.sign({ ...common, typ: "pt+jwt", ttlSeconds, claims: profileOf(user) }),
        tokens.sign({ ...common, typ: "rt+jwt", ttlSeconds: refreshSeconds, claims: { sid, ctr: counter } }),
      ]);
      return { accessToken, profileToken, refreshToken };
    },
    /**
     * Reads an access token of the project, without a promise if it was verified before.
     *
     * @throws {AppError} `invalid_token`, `token_expired`.
     */
    readAccess(
      token: string,
      project: Project,
      acceptExpired: boolean,
    ): SessionClaims | Promise<SessionClaims> {
      const claims = tokens.verify(token, { ...expectation("at+jwt", project), acceptExpired });
      return claims instanceof Promise ? claims.then(accessClaims) : accessClaims(claims);
    },
    /**
     * Reads a refresh token of the project. Its age is checked with the session.
     *
     * @throws {AppError} `invalid_token`.
     */
    async readRefresh(token: string, project: Project): Promise<SessionClaims> {
      const expected = { ...expectation("rt+jwt", project), acceptExpired: true };
      const claims = await tokens.verify(token, expected);
      return sessionClaims(claims, claims.ctr);
    },
  };

  function expectation(typ: string, project: Project) {
    return { typ, issuer, audience: projectAudience(project.id) };
  }
}

/** Names the audience of a project's tokens. */
export function projectAudience(projectId: string): string {
  return `urn:grandstand:project:${projectId}`;
}

function jitter(random: RandomBytes): number {
  const [byte = 0] = random(1);
  return Math.floor((byte / 256) * (accessTokenTtlSecondsMax - accessTokenTtlSecondsMin + 1));
}

function profileOf({ username, account }: User): Record<string, unknown> {
  if (account === undefined) return { username };
  return { username, email: account.email, nickname: account.nickname };
}

function accessClaims(claims: Claims): SessionClaims {
  return sessionClaims(claims, claims.rc);
}

function sessionClaims({ sub: userId, sid }: Claims, counter: unknown): SessionClaims {
  if (typeof sid !== "string" || typeof counter !== "number") throw invalidToken("claims");
  return { userId, sid, counter };
}

/** The life of a client token, in seconds: as long as a token may live. */
const clientTokenTtlSeconds: number = tokenTtlSecondsMax;

/** Media types of the headers. */
const tokenTypes = { client: "ct+jwt", access: "at+jwt" } as const;

/**
 * Client tokens, which an app carries from the shop on, so that a user without a session can ask for a new password.
 *
 * One token serves all installations of a project's app. It names the project and no user, and proves only that the
 * request comes from the app.
 */
export type ClientTokens = ReturnType<typeof createClientTokens>;

/** Creates the client tokens of all projects. */
export function createClientTokens(tokens: Tokens, issuer: string) {
  return {
    /** Issues a token for the app of a project. */
    async issue(projectId: string): Promise<string> {
      return await tokens.sign({
        typ: tokenTypes.client,
        issuer,
        audience: projectAudience(projectId),
        subject: projectId,
        ttlSeconds: clientTokenTtlSeconds,
      });
    },
    /**
     * Demands a client token of the project, or an access token of one of its users, which may have expired: a user who
     * forgot the password cannot renew it.
     *
     * @throws {AppError} `missing_token`, `invalid_token`; `token_expired` for a client token.
     */
    async check(request: Request, projectId: string): Promise<void> {
      const token = bearerToken(request.headers.get("authorization"));
      const expected = { issuer, audience: projectAudience(projectId) };
      try {
        await tokens.verify(token, { ...expected, typ: tokenTypes.client });
      } catch (error) {
        if (!(error instanceof AppError) || error.code !== "invalid_token") throw error;
        await tokens.verify(token, { ...expected, typ: tokenTypes.access, acceptExpired: true });
      }
    },
  };
}
