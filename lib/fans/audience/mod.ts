/**
 * The audience API: users read and change their own data, back ends that of many users.
 *
 * @module
 */

export type { ActionService } from "./actions/service.ts";
export type {
  CompiledSearch,
  FieldKind,
  FieldSpec,
  PrintedPage,
  SearchCriteria,
  UserSearch,
} from "./search/types.ts";
export type { ActionWorker } from "./worker/worker.ts";
