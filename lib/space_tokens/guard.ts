/**
 * Guards of routes that demand a space token. The Host header names the space; a token of another space is invalid
 * there.
 *
 * @module
 */

import { bearerToken } from "../auth/mod.ts";
import type { Directory, Space } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import { chain, type Guard, type GuardInput, hostOf } from "../http/mod.ts";
import type { ServiceCaller, SpaceCaller, SpaceTokens, UserCaller } from "./space_tokens.ts";

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
