/**
 * Loyalty of a space's users: metrics, inventory, challenges, and the rules by which actions earn them.
 *
 * @module
 */

export {
  type Action,
  applyAction,
  type Outcome,
} from "./apply_action.ts";
export { type CompiledConfig, compileConfig } from "./compile.ts";
export * from "./config.ts";
export { configurationType, documentErrorsMax } from "./control/document.ts";
export { type LoyaltyControlContext, loyaltyControlRoutes } from "./control/routes.ts";
export * from "./history.ts";
export {
  createInbox,
  type Inbox,
  type InboxOptions,
  type InboxPage,
  type InboxQuery,
  notificationsMax,
  notificationsPageDefault,
} from "./inbox.ts";
export type { InboxItem, InboxNotification, InboxPolicy } from "./inbox_view.ts";
export { createLoyalty, type Dated, historyPageMax, type Loyalty, type LoyaltyOptions } from "./loyalty.ts";
export type { Member } from "./member.ts";
export { type RewardsProfile, rewardsProfile } from "./profile.ts";
export { clockSkewMsMax, historyMax, type Report, seenGenerationMs } from "./report.ts";
export * from "./routes.ts";
export * from "./state.ts";
