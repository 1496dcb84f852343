/**
 * Users of projects: registration and login through interchangeable providers, and their way into a space.
 *
 * @module
 */

export type { Abuse, AbuseAction, AttemptFacts, ClearScope } from "./abuse/abuse.ts";
export {
  type AbuseLimits,
  type AbuseOptions,
  clientNetworkBits,
  createAbuse,
  noAbuseControls,
} from "./abuse/create_abuse.ts";
export { type AbuseCount, type AbusePolicy, type AbuseSubject, abusePolicies } from "./abuse/policies.ts";
export type { Audit, AuditEntry, AuditFacts, AuditPage, AuditPageOptions } from "./audit/audit.ts";
export { type AuditOptions, createAudit } from "./audit/create_audit.ts";
export {
  auditLogs,
  auditPageDefault,
  auditPageMax,
  projectEntriesMax,
  userEntriesMax,
} from "./audit/places.ts";
export { refusalKindsMax, refusalQuietMs } from "./audit/refusals.ts";
export {
  auditNetworkBits,
  type ClientTagger,
  type ClientTags,
  createClientTagger,
} from "./audit/tags.ts";
export { auditAttemptsMax, auditBatchMax, auditWaitingMax } from "./audit/writer.ts";
export { type Background, backgroundWorkMax, createBackground } from "./background.ts";
export {
  type ClientTokens,
  type ClientTokensOptions,
  clientTokenTtlSeconds,
  createClientTokens,
} from "./codes/client_tokens.ts";
export * from "./codes/mod.ts";
export { createNoMailer } from "./codes/no_mailer.ts";
export type { IdentityContext } from "./context.ts";
export { type Credentials, type CredentialsOptions, createCredentials } from "./credentials.ts";
export { type OperatorContext, operatorRoutes } from "./operators/routes.ts";
export { banReasonCharactersMax, operatorIdCharactersMax } from "./operators/schema.ts";
export { additionalIdCharactersMax } from "./providers/anonymous.ts";
export {
  type AppProfile,
  AppProfileSchema,
  appProfileBytesMax,
  appProfileDepthMax,
} from "./providers/app_profile.ts";
export { idleProjectsMax, idleSweepEveryMs } from "./providers/idle_projects.ts";
export {
  createIdleUsers,
  type IdleSweep,
  type IdleUsers,
  type IdleUsersOptions,
  idleMsDefault,
  idleSweepMax,
} from "./providers/idle_users.ts";
export { emailClaimMsMax } from "./providers/managed_pool/email_way.ts";
export {
  codeCharactersMax,
  emailBytesMax,
  nicknameCharactersMax,
  termsCharactersMax,
} from "./providers/managed_pool/fields.ts";
export { loginAttemptsMax } from "./providers/managed_pool/log_in.ts";
export type { PoolSettings } from "./providers/managed_pool/settings.ts";
export { reauthenticationMsMax } from "./providers/managed_pool/update_user.ts";
export type { Merge } from "./providers/merge.ts";
export { externalIdCharactersMax, usernameCharactersMax } from "./providers/no_login.ts";
export {
  createPublicProfiles,
  type PublicProfile,
  type PublicProfiles,
  publicProfileAgeMsMax,
  publicProfileProjectsMax,
  publicProfilesMax,
} from "./providers/public_profiles.ts";
export { audienceCharactersMax } from "./providers/remote_settings.ts";
export {
  type IdTokenSettings,
  memberPathCharactersMax,
  type SocialProvider,
  type SocialSettings,
  socialProviders,
  type TokenDebugSettings,
} from "./providers/social/settings.ts";
export { socialSubjectCharactersMax } from "./providers/social/token_debug.ts";
export type { SocialIdentity, SocialProof, SocialVerifier } from "./providers/social/verifier.ts";
export {
  createSocialVerifiers,
  type SocialVerifiers,
  type SocialVerifiersOptions,
} from "./providers/social/verifiers.ts";
export { identityRoutes } from "./routes.ts";
export { refreshGraceMsMax, refreshRetryMsMax } from "./sessions/advance.ts";
export {
  createSessions,
  type SessionsOptions,
  userAgentCharactersMax,
} from "./sessions/create_sessions.ts";
export {
  createSessionGuard,
  type SessionClaim,
  type SessionGuard,
  type SessionGuardOptions,
  sessionGuardEntriesMax,
  sessionStalenessMsMax,
} from "./sessions/guard.ts";
export {
  accessTokenTtlSecondsMax,
  accessTokenTtlSecondsMin,
  projectAudience,
} from "./sessions/identity_tokens.ts";
export {
  createSessionRecords,
  type IssuedRecord,
  type RecordFacts,
  type SessionRecords,
} from "./sessions/session_records.ts";
export { sessionAgeMsMax, sessionIdleMsMax } from "./sessions/session_row.ts";
export {
  type Admit,
  type Authenticated,
  type AuthenticateOptions,
  type LogoutScope,
  type OpenedSession,
  type RefreshInput,
  type Session,
  type SessionDevice,
  type SessionHolder,
  type Sessions,
  type SessionTokens,
  sessionsPerUserMax,
} from "./sessions/sessions.ts";
export {
  type ExchangeContext,
  sessionRecordAgeSecondsMax,
  tokenExchangeRoute,
} from "./sessions/token_exchange.ts";
export {
  type Account,
  type Ban,
  createUsers,
  type Device,
  devicesMax,
  loggedIn,
  loginHistoryMax,
  type Origin,
  type Provider,
  type SocialProfile,
  type User,
  type UserIds,
  type Users,
  type Way,
} from "./users.ts";
