/**
 * Users of projects: registration and login through interchangeable providers, sessions, and tokens for spaces.
 *
 * @module
 */

export type { Audit, AuditEntry, AuditPage, AuditPageOptions } from "./audit/audit.ts";
export type { ClientToken, ClientTokens } from "./client_tokens.ts";
export { codeAgeMsMax } from "./codes/codes.ts";
export type { IdentityContext } from "./context.ts";
export {
  createIdentity,
  createNoMailer,
  type IdentityOptions,
  type IdentityServices,
} from "./create_identity.ts";
export { findFutureLogins } from "./future_logins.ts";
export {
  type AttemptLimits,
  type AttemptPolicy,
  attemptPolicies,
  clientNetworkBits,
  type LimitedAction,
} from "./limits/limits.ts";
export { normaliseEmail } from "./lookup_keys.ts";
export type { AccountMerge } from "./merges.ts";
export { operatorRoutes } from "./operators/routes.ts";
export type {
  ClientTokenSchema as ClientTokenAnswer,
  ClientTokensSchema as ClientTokensAnswer,
  IssuedClientTokenSchema as IssuedClientTokenAnswer,
} from "./operators/schema.ts";
export type { IdleUsers } from "./removal/removals.ts";
export { identityRoutes } from "./routes.ts";
export type { Session } from "./sessions/session.ts";
export type { SessionClaim, SessionGuard } from "./sessions/session_guard.ts";
export type { Sessions } from "./sessions/sessions.ts";
export { IdentitySettingsSchema, identityFaults, issuersOf, spaceIssuerFaults } from "./settings.ts";
export { type ExchangeContext, tokenExchangeRoute } from "./token_exchange.ts";
export {
  createPublicProfiles,
  findLostKeys,
  findStoredUser,
  findUserIds,
  isVerifiedUser,
  type RegisteredKey,
  type StoredUser,
  type User,
  Users,
} from "./users.ts";
