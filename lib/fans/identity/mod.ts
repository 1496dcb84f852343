/**
 * Users of projects: registration and login through interchangeable providers, sessions, and tokens for spaces.
 *
 * @module
 */

export type { Audit, AuditEntry, AuditPage, AuditPageOptions } from "./audit/audit.ts";
export type { ClientToken, ClientTokens } from "./client_tokens.ts";
export type { IdentityContext } from "./context.ts";
export type { IdentityOptions } from "./create_identity.ts";
export type { AttemptLimits, AttemptPolicy, LimitedAction } from "./limits/limits.ts";
export type { AccountMerge } from "./merges.ts";
export type { IdleUsers } from "./removal/removals.ts";
export type { Session } from "./sessions/session.ts";
export type { SessionClaim, SessionGuard } from "./sessions/session_guard.ts";
export type { Sessions } from "./sessions/sessions.ts";
export { IdentitySettingsSchema } from "./settings.ts";
export { type User, Users } from "./users.ts";
