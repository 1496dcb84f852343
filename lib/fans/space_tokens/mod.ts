/** Access tokens of spaces, and the guards that demand them. */

import * as v from "valibot";
import { type ApiKeyGuardOptions, apiKeyGuard } from "../../auth/api_keys/routes.ts";
import { isUuid } from "../../auth/crypto/mod.ts";
import type { ApiKeyPrincipal, Tokens } from "../../auth/mod.ts";
import type { Claims } from "../../auth/tokens/mod.ts";
import { bearerToken, invalidToken } from "../../auth/tokens/mod.ts";
import { AppError, invalidField } from "../../base/errors/mod.ts";
import { hostOf } from "../../http/dispatch/dispatcher.ts";
import { chain, type Guard, type GuardInput, type GuardParameter } from "../../http/mod.ts";
import type { Directory, Space } from "../directory/mod.ts";

export const spaceTokenTtlSeconds = 3_600;

const accessTokenType = "at+jwt";

/** The scopes of a user's token, as its claim `scope` spells them. */
export const userScopes = ["audience:read", "audience:write"] as const;

export type UserScope = (typeof userScopes)[number];

export type SpaceCaller = UserCaller | ServiceCaller;

export interface UserCaller {
  readonly kind: "user";
  readonly userId: string;
  readonly organisationId: string;
  readonly spaceId: string;
  readonly projectId: string;
  /** The session with which the token ends; absent for a user without one. */
  readonly sessionId?: string;
  /** Time of a verified token's issue, in Unix seconds: it ends with all sessions that its user had then. */
  readonly issuedAt?: number;
  /** The scopes of the token, {@linkcode userScopes} and possibly others. @default all of these */
  readonly scope?: readonly string[];
}

interface ServiceCaller {
  readonly kind: "service";
  readonly keyId: string;
  readonly organisationId: string;
  readonly spaceId: string;
  readonly permissions: readonly string[];
  /** Time of a verified token's issue, in Unix seconds. */
  readonly issuedAt?: number;
}

/** An issued token, as `POST /api/auth/token` answers it. */
interface IssuedToken {
  readonly accessToken: string;
  readonly tokenType: "Bearer";
  readonly expiresIn: number;
}

export interface SpaceTokens {
  issue(space: Space, caller: SpaceCaller): Promise<IssuedToken>;
  /**
   * Verifies a token and returns its caller and space, without a promise if both are cached.
   *
   * @throws {AppError} `invalid_token` or `token_expired`.
   */
  verify(token: string): SpaceVisit | Promise<SpaceVisit>;
}

interface SpaceTokensOptions {
  readonly tokens: Tokens;
  readonly directory: Pick<Directory, "space">;
  readonly issuer: string;
}

/** Returns issuer and audience of the tokens of a space: the address of its domain, or the issuer of the deployment. */
export function spaceIssuer(space: Space, issuer: string): string {
  if (space.domain === undefined) return issuer;
  return `${issuer.startsWith("http:") ? "http" : "https"}://${space.domain}`;
}

export function createSpaceTokens({
  tokens,
  directory,
  issuer: ofDeployment,
}: SpaceTokensOptions): SpaceTokens {
  /** The same object while token and space are the same, so that others derive what they need once. */
  const visits = new WeakMap<Claims, SpaceVisit>();
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
    verify(token) {
      // The issuer follows from the space, which the token names.
      return chain(tokens.verify(token, { typ: accessTokenType, issuer: null }), claims => {
        const known = visits.get(claims);
        const caller = known?.caller ?? decodeCaller(claims);
        return chain(directory.space(caller.spaceId), space => {
          if (known !== undefined && known.space === space) return known;
          const isValid =
            space?.organisationId === caller.organisationId &&
            spaceIssuer(space, ofDeployment) === claims.iss;
          if (!isValid) throw invalidToken("space");
          const visited = { space, caller };
          visits.set(claims, visited);
          return visited;
        });
      });
    },
  };
}

function encodeCaller(caller: SpaceCaller): Record<string, unknown> {
  const { kind, organisationId: orgId, spaceId } = caller;
  if (caller.kind === "service") return { kind, orgId, spaceId, scope: caller.permissions };
  const { projectId, sessionId, scope = userScopes } = caller;
  return { kind, orgId, spaceId, projectId, scope, sid: sessionId };
}

function decodeCaller({ sub, iat, kind, orgId, spaceId, projectId, sid, scope }: Claims): SpaceCaller {
  if (typeof orgId !== "string" || typeof spaceId !== "string") throw invalidToken("claims");
  const scopes = isTexts(scope) ? scope : null;
  if (kind === "user" && typeof projectId === "string") {
    const session = typeof sid === "string" ? { sessionId: sid } : { issuedAt: iat };
    const user = { kind, userId: sub, organisationId: orgId, spaceId, projectId } as const;
    return { ...user, ...session, scope: scopes ?? [] };
  }
  if (kind === "service" && scopes !== null) {
    return { kind, keyId: sub, organisationId: orgId, spaceId, permissions: scopes, issuedAt: iat };
  }
  throw invalidToken("claims");
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(name => typeof name === "string");
}

export interface SpaceGuardOptions {
  readonly directory: Directory;
  readonly spaceTokens: SpaceTokens;
  /** Throws if the session of a user is over, or all sessions of one without a session were ended. */
  readonly checkSession: SessionCheck;
  /** Throws if the API key of a service, or the secret that its token is for, was revoked. */
  readonly checkKey: KeyCheck;
}

/**
 * Accepts users with a live session, and those without one whose token is newer than the last end of all sessions; without a
 * promise if that is cached.
 */
type SessionCheck = (caller: UserCaller) => void | Promise<void>;

/** Accepts back ends with a live API key, without a promise if that is cached. */
type KeyCheck = (caller: ServiceCaller) => void | Promise<void>;

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

const spaceParameter: GuardParameter<"space_id"> = {
  name: "space_id",
  description: "Id of the space; by default that of the Host, else the organisation's default or first one",
};

export const SpaceQuerySchema = v.object({
  space_id: v.exactOptional(v.pipe(v.string(), v.description(spaceParameter.description))),
});

export type SpaceQuery = v.InferOutput<typeof SpaceQuerySchema>;

type SpaceRequest = Pick<GuardInput, "request"> & { readonly query: SpaceQuery };

export function spaceGuard(options: SpaceGuardOptions): Guard<SpaceVisit> {
  return { security, authenticate: input => visit(options, input) };
}

/** Accepts calls without an Authorization header, about the space of query or Host; a bad token is refused. */
export function optionalSpaceGuard(
  options: SpaceGuardOptions,
): Guard<SpaceVisit<SpaceCaller | null>, "space_id"> {
  return {
    security,
    optional: true,
    query: [spaceParameter],
    errors: ["validation_failed", "not_found"],
    authenticate: async input =>
      input.request.headers.get("authorization") === null
        ? { space: await spaceOfHost(options.directory, input), caller: null }
        : await visit(options, input),
  };
}

export type SpaceKey = ApiKeyPrincipal & { readonly space: Space };

/** Demands an API key, and finds the space of its organisation that the request means. */
export function spaceKeyGuard({
  directory,
  ...options
}: ApiKeyGuardOptions & { readonly directory: Directory }): Guard<SpaceKey, "space_id"> {
  const key = apiKeyGuard(options);
  return {
    ...key,
    query: [spaceParameter],
    errors: ["validation_failed", "not_found"],
    async authenticate(input) {
      const principal = await key.authenticate(input);
      return { ...principal, space: await spaceOfKey(directory, principal.organisationId, input) };
    },
  };
}

/**
 * Finds the space that the query names, else that of the Host.
 *
 * @throws {AppError} `not_found`: there is no such space; `validation_failed`: the query names none.
 */
export async function spaceOfHost(directory: Directory, { request, query }: SpaceRequest): Promise<Space> {
  const named = namedSpace(query);
  const space = await (named === undefined ? directory.spaceOfHost(hostOf(request)) : directory.space(named));
  if (space !== null) return space;
  const which =
    named === undefined ? "no space has this host name: name one with space_id" : "there is no such space";
  throw new AppError("not_found", `Cannot serve the request as ${which}`);
}

/**
 * Finds the space that an API key of the organisation means: the one that the query names, else by the Host.
 *
 * @throws {AppError} `not_found`: the organisation has no such space; `validation_failed`: the query names none.
 */
export async function spaceOfKey(
  directory: Directory,
  organisationId: string,
  { request, query }: SpaceRequest,
): Promise<Space> {
  const named = namedSpace(query);
  const space = await (named === undefined
    ? directory.spaceOfOrganisation(organisationId, hostOf(request))
    : directory.space(named));
  if (space?.organisationId === organisationId) return space;
  const which = named === undefined ? "no space" : "no such space";
  throw new AppError("not_found", `Cannot serve the request as the organisation has ${which}`);
}

function namedSpace({ space_id: id }: SpaceRequest["query"]): string | undefined {
  if (id === undefined || isUuid(id)) return id?.toLowerCase();
  throw invalidField("Cannot find the space", spaceParameter.name, "Expected a UUID");
}

/** Costs no microtask while token, space and session are cached. */
function visit(
  { spaceTokens, checkSession, checkKey }: SpaceGuardOptions,
  { request }: GuardInput,
): SpaceVisit | Promise<SpaceVisit> {
  return chain(spaceTokens.verify(bearerToken(request.headers.get("authorization"))), visited => {
    const { caller } = visited;
    const checked = caller.kind === "service" ? checkKey(caller) : checkSession(caller);
    return chain(checked, () => visited);
  });
}
