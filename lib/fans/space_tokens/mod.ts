/**
 * Access tokens of spaces, and the guards that demand them.
 *
 * @module
 */

export {
  createSpaceTokens,
  type IssuedToken,
  type KeyCheck,
  optionalSpaceGuard,
  type ServiceCaller,
  type SessionCheck,
  type SpaceCaller,
  type SpaceGuardOptions,
  type SpaceKey,
  SpaceQuerySchema,
  type SpaceTokens,
  type SpaceTokensOptions,
  type SpaceVisit,
  spaceGuard,
  spaceIssuer,
  spaceKeyGuard,
  spaceOfHost,
  spaceOfKey,
  spaceTokenTtlSeconds,
  type UserCaller,
  type UserScope,
  userScopes,
} from "./space_tokens.ts";
