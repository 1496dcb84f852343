/**
 * The audience API: what users see of themselves, and what back ends read and change of many at once.
 *
 * @module
 */

export { type ActionService, type ActionServiceOptions, createActionService } from "./action_service.ts";
export { type ActionIntake, actionShards, type QueuedAction } from "./actions/mod.ts";
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
export type { AudienceLoyalty, NotificationItem } from "./loyalty.ts";
export type { AudienceMember } from "./member.ts";
export { audienceRoutes } from "./routes.ts";
export {
  type ActionWorker,
  type DeadLetter,
  type DeadLetters,
  startActionWorker,
  workerLeaseMs,
  workerStopMsMax,
} from "./worker/mod.ts";
