/**
 * Guards of routes that are called with a space token. The space is the one that the Host header names; a token of
 * another space is not valid there.
 *
 * @module
 */

import { bearerToken } from "../auth/mod.ts";
import type { Directory, Space } from "../directory/mod.ts";
import { AppError } from "../errors/mod.ts";
import { chain, type Guard, type GuardInput, hostOf } from "../http/mod.ts";
import type { Caller, ServiceCaller, SpaceTokens, UserCaller } from "./space_tokens.ts";

/** What the guards need. */
export interface SpaceGuardOptions {
  readonly directory: Directory;
  readonly spaceTokens: SpaceTokens;
  /** Throws where the session of a caller that has one is over. */
  readonly checkSession: SessionCheck;
  /** Throws where the API key that a token was issued for was revoked. */
  readonly checkKey: KeyCheck;
}

/** Passes callers whose session is alive; without a promise where that is known. */
export type SessionCheck = (caller: UserCaller & { readonly sessionId: string }) => void | Promise<void>;

/** Passes back ends whose API key is alive; without a promise where that is known. */
export type KeyCheck = (caller: ServiceCaller) => void | Promise<void>;

/** A caller whose token was checked, or with {@linkcode optionalSpaceGuard} possibly nobody. */
export interface SpaceVisit<C extends Caller | null = Caller> {
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

/** Takes a token of the space if there is an Authorization header; a bad one is refused. */
export function optionalSpaceGuard(options: SpaceGuardOptions): Guard<SpaceVisit<Caller | null>> {
  return {
    security,
    optional: true,
    authenticate: input =>
      chain(
        spaceOfRequest(options.directory, input.request),
        (space): SpaceVisit<Caller | null> | Promise<SpaceVisit> =>
          input.request.headers.get("authorization") === null
            ? { space, caller: null }
            : visit(options, input, space),
      ),
  };
}

/**
 * The space that a request is addressed to.
 *
 * @throws {AppError} `not_found` where no space answers to the Host.
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
