/**
 * Loyalty of a space's users: metrics, inventory, challenges, and the rules by which actions earn them.
 *
 * @module
 */

export type { AdjustmentOrder, ExtraRecord } from "./commands/adjustments.ts";
export { historyMax } from "./commands/command.ts";
export { type GrantOrder, requireRewards } from "./commands/grants.ts";
export type { ActionReport } from "./commands/report.ts";
export { type CompileOptions, compileConfig } from "./config/compile.ts";
export type { CompiledConfig } from "./config/compiled.ts";
export * from "./config/document.ts";
export * from "./coupons/mod.ts";
export { type ListedUser, listUsersOf } from "./due_users/mod.ts";
export * from "./engine/mod.ts";
export { configurationType, documentErrorsMax } from "./http/config_document.ts";
export { type LoyaltyControlContext, loyaltyControlRoutes } from "./http/config_routes.ts";
export {
  type LoyaltyOperatorContext,
  loyaltyOperatorRoutes,
  replayBytesMax,
} from "./http/operator_routes.ts";
export {
  actionIdCharactersMax,
  dataNameCharactersMax,
  dataPropertiesMax,
  dataTextCharactersMax,
  memberIdCharactersMax,
} from "./http/requests.ts";
export * from "./http/routes.ts";
export {
  createLoyalty,
  type Dated,
  type Loyalty,
  type LoyaltyOptions,
  type TransactionView,
} from "./loyalty.ts";
export * from "./products/mod.ts";
export * from "./user/history.ts";
export {
  Inbox,
  type InboxPage,
  type InboxQuery,
  notificationsMax,
  notificationsPageDefault,
} from "./user/inbox.ts";
export type { InboxItem, InboxNotification, InboxPolicy } from "./user/inbox_view.ts";
export { type Member, memberPartition } from "./user/member.ts";
export { onceGenerationMs } from "./user/once_marks.ts";
export { historyPageMax } from "./user/read_history.ts";
export * from "./user/state.ts";
export type { ChallengeStatus, ChallengeView, MissionView, ProgressView } from "./views/challenge_views.ts";
export {
  ChangePayloadSchema,
  EarnedRewardSchema,
  FulfilmentSchema,
  PropertiesSchema,
} from "./views/change_payload.ts";
export {
  createFactsSource,
  type FactsReader,
  type FactsSource,
  type LoyaltyFacts,
  readMetrics,
} from "./views/facts.ts";
export {
  type LedgerCursor,
  type LedgerEntryView,
  type LedgerPage,
  type LedgerQuery,
  ledgerReadMax,
  ledgerRecordsMax,
} from "./views/ledger_pages.ts";
export type { LoyaltyReader, ReadView } from "./views/loyalty_reader.ts";
export type { LoyaltyOverview, LoyaltySummary, Tier } from "./views/overview.ts";
export { type RewardsProfile, rewardsProfile } from "./views/profile.ts";
export type { ReplayResult } from "./views/verification.ts";
export type { WebhookKeys } from "./webhooks/client.ts";
export * from "./webhooks/mod.ts";
