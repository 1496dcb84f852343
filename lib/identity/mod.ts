/**
 * Users of projects: registration and login through interchangeable providers, and their way into a space.
 *
 * @module
 */

export { additionalIdCharactersMax } from "./anonymous.ts";
export type { IdentityContext } from "./context.ts";
export { externalIdCharactersMax, usernameCharactersMax } from "./no_login.ts";
export {
  createPublicProfiles,
  type PublicProfile,
  type PublicProfiles,
  publicProfileAgeMsMax,
  publicProfileProjectsMax,
  publicProfilesMax,
} from "./public_profiles.ts";
export { identityRoutes } from "./routes.ts";
export {
  createSessionRecords,
  type IssuedRecord,
  type RecordFacts,
  type SessionRecords,
} from "./session_records.ts";
export { type ExchangeContext, sessionRecordAgeSecondsMax, tokenExchangeRoute } from "./token_exchange.ts";
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
  type User,
  type UserIds,
  type Users,
  type Way,
} from "./users.ts";
