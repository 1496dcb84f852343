/**
 * The audience API: users read and change their own data, back ends that of many users.
 *
 * @module
 */

export { type ActionService, createActionService } from "./actions/service.ts";
export {
  type AudienceGuards,
  type AudienceUser,
  audienceGuards,
  type BackEnd,
} from "./http/guards.ts";
export { type AudienceOptions, audienceRoutes } from "./http/routes.ts";
export { createFieldIndexes } from "./profile/field_index.ts";
export type { SearchRequest } from "./search/criteria.ts";
export {
  createUserFinder,
  type FindOptions,
  type FoundUsers,
  type UserFinder,
  type UserFinderOptions,
} from "./search/search.ts";
export type {
  CompiledSearch,
  FieldKind,
  FieldSpec,
  PrintedPage,
  SearchCriteria,
  UserSearch,
} from "./search/types.ts";
export type { ActionWorker } from "./worker/worker.ts";
