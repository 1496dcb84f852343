/**
 * Actions and rewards of many users at once.
 *
 * @module
 */

export { actionRoutes } from "./action_routes.ts";
export { batchStatusRoute } from "./batch_status_route.ts";
export {
  batchKnownMs,
  createActionBatches,
} from "./batches.ts";
export { actionsIn } from "./check_actions.ts";
export { deadLetterRoutes } from "./dead_letter_routes.ts";
export type { ActionIntake } from "./intake.ts";
export { actionShards, type QueuedAction } from "./queued_action.ts";
export { rewardRoutes } from "./reward_routes.ts";
