/**
 * Access tokens of a space, for the loyalty API and the batched audience paths, and the guards of routes that demand one.
 *
 * A user token implies its user. A service token belongs to a trusted back end: it reaches all users of the space, and its
 * requests name them. The tokens are no part of lib/auth, as they need the spaces of lib/directory, which builds on it.
 *
 * The Host header names the space; a token of another space is invalid there.
 *
 * @module
 */

import { bearerToken, invalidToken, type Tokens } from "../auth/mod.ts";
import type { Claims } from "../auth/tokens/mod.ts";
import type { Directory, Space } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import { chain, type Guard, type GuardInput, hostOf } from "../http/mod.ts";

/** The life of a space token, in seconds. */
export const spaceTokenTtlSeconds = 3_600;

/** Media type of a space token's header. */
const accessTokenType = "at+jwt";

/** The scopes of a user's token, as its claim `scope` spells them. */
export const userScopes = ["audience:read", "audience:write"] as const;

/** A scope of a user's token. */
export type UserScope = (typeof userScopes)[number];

/** The caller of a space. */
export type SpaceCaller = UserCaller | ServiceCaller;

/** A signed-in user. */
export interface UserCaller {
  readonly kind: "user";
  readonly userId: string;
  readonly organisationId: string;
  readonly spaceId: string;
  /** The project that the user signed in to. */
  readonly projectId: string;
  /** The session with which the token ends; absent for a user without one. */
  readonly sessionId?: string;
  /** The scopes of the token, {@linkcode userScopes} and possibly others. @default all of these */
  readonly scope?: readonly string[];
}

/** A trusted back end. */
export interface ServiceCaller {
  readonly kind: "service";
  /** The API key that the token was issued for. */
  readonly keyId: string;
  readonly organisationId: string;
  readonly spaceId: string;
  readonly permissions: readonly string[];
}

/** An issued token, as `POST /api/auth/token` answers it. */
export interface IssuedToken {
  readonly accessToken: string;
  readonly tokenType: "Bearer";
  /** Seconds. */
  readonly expiresIn: number;
}

/** Issues and verifies the tokens of spaces. */
export interface SpaceTokens {
  issue(space: Space, caller: SpaceCaller): Promise<IssuedToken>;
  /**
   * Verifies a token of the space and returns its caller, without a promise if the token was verified before.
   *
   * @throws {AppError} `invalid_token` or `token_expired`.
   */
  verify(space: Space, token: string): SpaceCaller | Promise<SpaceCaller>;
}

/** Options of {@linkcode createSpaceTokens}. */
export interface SpaceTokensOptions {
  readonly tokens: Tokens;
  /** Issuer of the deployment. */
  readonly issuer: string;
}

/** Returns issuer and audience of the tokens of a space: the address of its domain, or the issuer of the deployment. */
export function spaceIssuer(space: Space, issuer: string): string {
  if (space.domain === undefined) return issuer;
  return `${issuer.startsWith("http:") ? "http" : "https"}://${space.domain}`;
}

/** Creates the tokens of all spaces. */
export function createSpaceTokens({ tokens, issuer: ofDeployment }: SpaceTokensOptions): SpaceTokens {
  const callers = new WeakMap<Claims, SpaceCaller>();
  function callerOf(claims: Claims, space: Space): SpaceCaller {
    const caller = callers.get(claims) ?? decodeCaller(claims);
    callers.set(claims, caller);
    // Spaces without a domain share an issuer, so the claims are checked at every use.
    if (caller.spaceId !== space.id || caller.organisationId !== space.organisationId)
      throw invalidToken("space");
    return caller;
  }
  return {
    async issue(space, caller) {
      const issuer = spaceIssuer(space, ofDeployment);
      const accessToken = await tokens.sign({
        typ: accessTokenType,
        issuer,
        audience: [issuer],
        subject: caller.kind === "user" ? caller.userId : caller.keyId,
        ttlSeconds: spaceTokenTtlSeconds,
        claims: encodeCaller(caller),
      });
      return { accessToken, tokenType: "Bearer", expiresIn: spaceTokenTtlSeconds };
    },
    verify(space, token) {
      const issuer = spaceIssuer(space, ofDeployment);
      const claims = tokens.verify(token, { typ: accessTokenType, issuer, audience: issuer });
      return claims instanceof Promise
        ? claims.then(verified => callerOf(verified, space))
        : callerOf(claims, space);
    },
  };
}

function encodeCaller(caller: SpaceCaller): Record<string, unknown> {
  const { kind, organisationId: orgId, spaceId } = caller;
  if (caller.kind === "service") return { kind, orgId, spaceId, scope: caller.permissions };
  const { projectId, sessionId, scope = userScopes } = caller;
  return { kind, orgId, spaceId, projectId, scope, ...(sessionId === undefined ? {} : { sid: sessionId }) };
}

function decodeCaller({ sub, kind, orgId, spaceId, projectId, sid, scope }: Claims): SpaceCaller {
  if (typeof orgId !== "string" || typeof spaceId !== "string") throw invalidToken("claims");
  const scopes = isTexts(scope) ? scope : null;
  if (kind === "user" && typeof projectId === "string") {
    const session = typeof sid === "string" ? { sessionId: sid } : {};
    const user = { kind, userId: sub, organisationId: orgId, spaceId, projectId } as const;
    return { ...user, ...session, scope: scopes ?? [] };
  }
  if (kind === "service" && scopes !== null) {
    return { kind, keyId: sub, organisationId: orgId, spaceId, permissions: scopes };
  }
  throw invalidToken("claims");
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(name => typeof name === "string");
}

/** Services of the guards. */
export interface SpaceGuardOptions {
  readonly directory: Directory;
  readonly spaceTokens: SpaceTokens;
  /** Throws if the session of a user is over. */
  readonly checkSession: SessionCheck;
  /** Throws if the API key of a service was revoked. */
  readonly checkKey: KeyCheck;
}

/** Accepts users with a live session, without a promise if that is cached. */
export type SessionCheck = (caller: UserCaller & { readonly sessionId: string }) => void | Promise<void>;

/** Accepts back ends with a live API key, without a promise if that is cached. */
export type KeyCheck = (caller: ServiceCaller) => void | Promise<void>;

/** A space and its verified caller; null for a call without a token, which {@linkcode optionalSpaceGuard} accepts. */
export interface SpaceVisit<C extends SpaceCaller | null = SpaceCaller> {
  readonly space: Space;
  readonly caller: C;
}

const security: Guard<unknown>["security"] = [
  {
    schemes: {
      spaceToken: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "JWT",
        description: "Access token of the space, from POST /api/auth/token",
      },
    },
  },
];

/** Demands a token of the space. */
export function spaceGuard(options: SpaceGuardOptions): Guard<SpaceVisit> {
  return {
    security,
    authenticate: input =>
      chain(spaceOfRequest(options.directory, input.request), space => visit(options, input, space)),
  };
}

/** Accepts calls without an Authorization header; a bad token is refused. */
export function optionalSpaceGuard(options: SpaceGuardOptions): Guard<SpaceVisit<SpaceCaller | null>> {
  return {
    security,
    optional: true,
    authenticate: input =>
      chain(
        spaceOfRequest(options.directory, input.request),
        (space): SpaceVisit<SpaceCaller | null> | Promise<SpaceVisit> =>
          input.request.headers.get("authorization") === null
            ? { space, caller: null }
            : visit(options, input, space),
      ),
  };
}

/**
 * Finds the space of a request.
 *
 * @throws {AppError} `not_found`: no space has this Host.
 */
export function spaceOfRequest(directory: Directory, request: Request): Space | Promise<Space> {
  return chain(directory.spaceOfHost(hostOf(request)), space => {
    if (space === null)
      throw new AppError("not_found", "Cannot serve the request as no space has this host name");
    return space;
  });
}

function visit(
  { spaceTokens, checkSession, checkKey }: SpaceGuardOptions,
  { request }: GuardInput,
  space: Space,
): SpaceVisit | Promise<SpaceVisit> {
  const token = bearerToken(request.headers.get("authorization"));
  return chain(spaceTokens.verify(space, token), caller => {
    if (caller.kind === "service") return chain(checkKey(caller), () => ({ space, caller }));
    if (caller.sessionId === undefined) return { space, caller };
    const { sessionId } = caller;
    return chain(checkSession({ ...caller, sessionId }), () => ({ space, caller }));
  });
}
