/**
 * The tokens of a session. Three kinds told apart by their media type, so that none passes for another; the audience
 * names the project, so that neither tokens of other projects nor tokens of spaces pass.
 *
 * @module
 */

import { invalidToken, type RandomBytes, type Tokens } from "../../auth/mod.ts";
import type { Claims } from "../../auth/tokens/mod.ts";
import type { Project } from "../../directory/mod.ts";
import type { User } from "../users.ts";
import type { Session, SessionTokens } from "./sessions.ts";

/** Longest life of an access token, in seconds. */
export const accessTokenTtlSecondsMax = 600;
/** Shortest life of an access token, in seconds: lives differ by 5 %, so that clients which came at once return apart. */
export const accessTokenTtlSecondsMin = 570;

/** What users of a project may do in its space. */
const userScope: readonly string[] = ["audience:read", "audience:write"];

/** What a token says of its session. */
export interface SessionClaims {
  readonly userId: string;
  readonly sid: string;
  /** The counter of the session when the token was made. */
  readonly counter: number;
}

/** Makes and reads the tokens of sessions. */
export interface IdentityTokens {
  /** Tokens of the session as it is now. The refresh token is good until `endsAt`, in Unix ms, at the latest. */
  issue(project: Project, user: User, session: Session & { readonly endsAt: number }): Promise<SessionTokens>;
  /**
   * What an access token of the project says; without a promise when it was seen before.
   *
   * @throws {AppError} `invalid_token`, `token_expired`.
   */
  readAccess(token: string, project: Project, acceptExpired: boolean): SessionClaims | Promise<SessionClaims>;
  /**
   * What a refresh token of the project says. Its age is for the session to judge.
   *
   * @throws {AppError} `invalid_token`.
   */
  readRefresh(token: string, project: Project): Promise<SessionClaims>;
}

/** What the tokens need. */
export interface IdentityTokensOptions {
  readonly tokens: Tokens;
  readonly random: RandomBytes;
  /** The issuer: address of the platform, without a trailing slash. */
  readonly publicUrl: string;
}

/** Creates the tokens of all projects. */
export function createIdentityTokens({ tokens, random, publicUrl }: IdentityTokensOptions): IdentityTokens {
  return {
    async issue(project, user, session) {
      const { sid, deviceId, counter } = session;
      const common = { issuer: publicUrl, audience: projectAudience(project.id), subject: user.userId };
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
    readAccess(token, project, acceptExpired) {
      const claims = tokens.verify(token, { ...expectation("at+jwt", project), acceptExpired });
      return claims instanceof Promise ? claims.then(accessClaims) : accessClaims(claims);
    },
    async readRefresh(token, project) {
      const expected = { ...expectation("rt+jwt", project), acceptExpired: true };
      const claims = await tokens.verify(token, expected);
      return sessionClaims(claims, claims.ctr);
    },
  };

  function expectation(
    typ: string,
    project: Project,
  ): { readonly typ: string; readonly issuer: string; readonly audience: string } {
    return { typ, issuer: publicUrl, audience: projectAudience(project.id) };
  }
}

/** The audience of tokens of a project. */
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
