/**
 * Actions and rewards of many users at once.
 *
 * @module
 */

export { actionRoutes, bulkBytesMax } from "./action_routes.ts";
export { batchStatusRoute } from "./batch_status_route.ts";
export {
  type ActionBatches,
  type ActionMarks,
  batchKnownMs,
  createActionBatches,
} from "./batches.ts";
export { type BulkAnswer, BulkAnswerSchema, bulkAnswer, type ItemResult, itemError } from "./bulk_answer.ts";
export { actionsIn } from "./check_actions.ts";
export type { PlainReward, RewardCatalogue } from "./check_rewards.ts";
export { deadLetterRoutes } from "./dead_letter_routes.ts";
export { bulkItemsMax, Faults, isObject, itemsOf, type PlacedItem } from "./faults.ts";
export type { GivenTransaction, RewardGiver } from "./grant_rewards.ts";
export { type ActionIntake, createActionIntake, createDirectIntake, type IntakeOptions } from "./intake.ts";
export { actionShards, type QueuedAction } from "./queued_action.ts";
export { rewardRoutes } from "./reward_routes.ts";
