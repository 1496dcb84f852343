/**
 * Actions and rewards of many users at once.
 *
 * @module
 */

export { actionRoutes } from "../http/action_routes.ts";
export { batchStatusRoute } from "../http/batch_status_route.ts";
export { deadLetterRoutes } from "../http/dead_letter_routes.ts";
export { rewardRoutes } from "../http/reward_routes.ts";
export { actionShards, type QueuedAction } from "../worker/queued_action.ts";
export {
  batchKnownMs,
  createActionBatches,
} from "./accepted_batches.ts";
export { actionsIn } from "./check_actions.ts";
export type { ActionIntake } from "./intake.ts";
