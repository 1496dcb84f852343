/**
 * The audience API: what users see of themselves, and what back ends read and change of many at once.
 *
 * @module
 */

export {
  type ActionService,
  type ActionServiceOptions,
  createActionService,
  type StartOptions,
} from "./action_service.ts";
export {
  type ActionIntake,
  actionShards,
  actionsIn,
  batchKnownMs,
  createActionBatches,
  type QueuedAction,
} from "./actions/mod.ts";
export * from "./batch/batch.ts";
export type { AudienceContext } from "./context.ts";
export {
  type AudienceGuardOptions,
  type AudienceGuards,
  type AudienceUser,
  audienceGuards,
  type BackEnd,
  type BatchDemand,
  organisationHeader,
} from "./guards.ts";
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
export { metadataEntriesMax, metadataTextMax, redeemedQuantityMax } from "./lists/product_routes.ts";
export type { AudienceLoyalty, NotificationItem } from "./loyalty.ts";
export type { AudienceMember } from "./member.ts";
export type { BoughtProduct, OfferedProduct, ProductOrder, ProductShop } from "./products.ts";
export * from "./profile/custom_fields.ts";
export * from "./profile/free_form.ts";
export { displayNameCharactersMax, type ProfilePatch } from "./profile/patch.ts";
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
export { audienceRoutes } from "./routes.ts";
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
export { searchFieldsMax, searchPageDefault, searchPageMax } from "./search/search_routes.ts";
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
