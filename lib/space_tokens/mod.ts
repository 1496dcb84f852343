/**
 * Access tokens of spaces, and the guards that demand them.
 *
 * @module
 */

export {
  type KeyCheck,
  optionalSpaceGuard,
  type SessionCheck,
  type SpaceGuardOptions,
  type SpaceVisit,
  spaceGuard,
  spaceOfRequest,
} from "./guard.ts";
export {
  createSpaceTokens,
  type IssuedToken,
  type ServiceCaller,
  type SpaceCaller,
  type SpaceTokens,
  type SpaceTokensOptions,
  spaceTokenTtlSeconds,
  spaceUrl,
  type UserCaller,
  type UserScope,
  userScopes,
} from "./space_tokens.ts";
