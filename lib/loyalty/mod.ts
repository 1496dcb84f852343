/**
 * Loyalty of a space's users: metrics, inventory, challenges, and the rules by which actions earn them.
 *
 * @module
 */

export {
  type Action,
  applyAction,
  type ChangePayload,
  type Notification,
  type Outcome,
  type Transaction,
} from "./apply_action.ts";
export { type CompiledConfig, compileConfig } from "./compile.ts";
export * from "./config.ts";
export { createLoyalty, type Dated, historyPageMax, type Loyalty, type LoyaltyOptions } from "./loyalty.ts";
export type { Member } from "./member.ts";
export { clockSkewMsMax, historyMax, notificationsMax, type Report, seenGenerationMs } from "./report.ts";
export * from "./routes.ts";
export { emptyState, type RewardsProfile, rewardsProfile, type UserState } from "./state.ts";
