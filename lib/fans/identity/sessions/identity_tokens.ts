/**
 * The tokens of sessions. Each kind has a media type of its own, so that none is accepted as another.
 * The audience names the project, so that tokens of other projects and of spaces are refused.
 *
 * @module
 */

import { invalidToken, type RandomBytes, type Tokens } from "../../../auth/mod.ts";
import type { Claims } from "../../../auth/tokens/mod.ts";
import type { Project } from "../../directory/mod.ts";
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
