export { type ListedUser, listUsersOf } from "./list_users.ts";
export { createDueUserQueue, type DueUserQueue } from "./queue.ts";
export type { DueUser } from "./shards.ts";
export { type SweepOptions, type SweepResult, sweepDueUsers } from "./sweep.ts";
