/**
 * Users of projects: registration and login through interchangeable providers, sessions, and tokens for spaces.
 *
 * @module
 */

export type { Audit, AuditEntry, AuditPage, AuditPageOptions } from "./audit/audit.ts";
export type { ClientToken, ClientTokens, PageToken } from "./client_tokens.ts";
export type { IdentityContext } from "./context.ts";
export {
  createIdentity,
  createNoMailer,
  type IdentityOptions,
  type IdentityServices,
} from "./create_identity.ts";
export type { AttemptLimits, AttemptPolicy, LimitedAction } from "./limits/limits.ts";
export type { AccountMerge } from "./merges.ts";
export { operatorRoutes } from "./operators/routes.ts";
export { accountUserId, isSameAccount } from "./own_accounts.ts";
export type { IdleUsers } from "./removal/removals.ts";
export { identityRoutes } from "./routes.ts";
export type { Session } from "./sessions/session.ts";
export type { SessionClaim, SessionGuard, Sessions } from "./sessions/sessions.ts";
export { IdentitySettingsSchema } from "./settings.ts";
export { createPublicProfiles, type User, Users } from "./users.ts";
