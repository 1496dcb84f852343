/**
 * Users for whom work is due: registration before every change, and the sweep that finds them.
 *
 * @module
 */

export { createDueUserQueue, type DueUserQueue, registrationMs } from "./queue.ts";
export { sweepDueUsers } from "./sweep.ts";
export { type DueUser, listUsersOf, oldestDueUser } from "./users.ts";
