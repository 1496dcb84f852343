/**
 * The audience API: what users see of themselves, and what back ends read and change of many at once.
 *
 * @module
 */

export {
  type ActionIntake,
  actionShards,
  actionsIn,
  batchKnownMs,
  createActionBatches,
  type QueuedAction,
} from "./actions/mod.ts";
export {
  type ActionService,
  type ActionServiceOptions,
  createActionService,
  type StartOptions,
} from "./actions/service.ts";
export * from "./http/batch_users.ts";
export type { AudienceContext } from "./http/context.ts";
export {
  type AudienceGuardOptions,
  type AudienceGuards,
  type AudienceUser,
  audienceGuards,
  type BackEnd,
  type BatchDemand,
  organisationHeader,
} from "./http/guards.ts";
export { metadataEntriesMax, metadataTextMax, redeemedQuantityMax } from "./http/product_routes.ts";
export { audienceRoutes } from "./http/routes.ts";
export { searchFieldsMax, searchPageDefault, searchPageMax } from "./http/search_routes.ts";
export {
  type CursorScope,
  type Cursors,
  createCursors,
  cursorCharactersMax,
  cursorTtlMs,
} from "./lists/cursors.ts";
export {
  challengesPageDefault,
  challengesPageMax,
  notificationsPageMax,
  transactionsPageDefault,
  transactionsPageMax,
} from "./lists/lists.ts";
export type { AudienceLoyalty, NotificationItem } from "./loyalty.ts";
export type { AudienceMember } from "./member.ts";
export type { BoughtProduct, OfferedProduct, ProductOrder, ProductShop } from "./products.ts";
export * from "./profile/custom_fields.ts";
export { displayNameCharactersMax, type ProfilePatch } from "./profile/patch.ts";
export * from "./profile/preferences.ts";
export {
  type ChangedProfile,
  createProfiles,
  type Profile,
  type ProfileChange,
  type Profiles,
  type ProfilesOptions,
} from "./profile/profiles.ts";
export type { ProfileRecord } from "./profile/record.ts";
export { metricChangeMax, metricChangesMax } from "./profile/updates.ts";
export { namedFieldsMax, type SearchRequest } from "./search/criteria.ts";
export {
  createUserFinder,
  examinedUsersMax,
  type FindOptions,
  type FoundUsers,
  searchMsMax,
  type UserFinder,
  type UserFinderOptions,
} from "./search/search.ts";
export { boundedMetricsMax, namedUsersMax, soughtNameCharactersMax } from "./search/short_form.ts";
export type {
  CompiledSearch,
  FieldKind,
  FieldSpec,
  PageOptions,
  PrintedPage,
  SearchCriteria,
  UserPage,
  UserRow,
  UserSearch,
} from "./search/types.ts";
export {
  type ActionWorker,
  type DeadLetter,
  type DeadLetters,
  startActionWorker,
  workerLeaseMs,
  workerStopMsMax,
} from "./worker/mod.ts";
