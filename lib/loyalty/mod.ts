/**
 * Loyalty of a space's users: metrics, inventory, challenges, and the rules by which actions earn them.
 *
 * @module
 */

export type { AdjustmentOrder, BesideRecord } from "./adjustments.ts";
export { indexedUsers, type MetUser } from "./agenda/mod.ts";
export type { ChallengeStatus, ChallengeView, MissionView, Progress } from "./challenge_views.ts";
export { type CompileOptions, compileConfig } from "./compile.ts";
export type { CompiledConfig } from "./compile_types.ts";
export * from "./config.ts";
export { configurationType, documentErrorsMax } from "./control/document.ts";
export { type LoyaltyControlContext, loyaltyControlRoutes } from "./control/routes.ts";
export * from "./coupons/mod.ts";
export * from "./engine/mod.ts";
export { createFacts, type Facts, type FactsReader, type LoyaltyFacts, readMetrics } from "./facts.ts";
export { historyMax } from "./happening.ts";
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
export {
  type LedgerItem,
  type LedgerPage,
  type LedgerPlace,
  type LedgerQuery,
  ledgerReadMax,
  ledgerRecordsMax,
} from "./ledger_pages.ts";
export {
  createLoyalty,
  type Dated,
  type Loyalty,
  type LoyaltyOptions,
  type ShownTransaction,
} from "./loyalty.ts";
export { type Member, memberPartition } from "./member.ts";
export { type LoyaltyOperatorContext, loyaltyOperatorRoutes, replayBytesMax } from "./operator_routes.ts";
export type { FullOverview, Overview, Tier } from "./overview.ts";
export * from "./products/mod.ts";
export { type RewardsProfile, rewardsProfile } from "./profile.ts";
export type { Replayed } from "./proofs.ts";
export { historyPageMax } from "./records.ts";
export type { Report } from "./report.ts";
export { type GrantOrder, requireRewards } from "./rewards.ts";
export * from "./routes.ts";
export {
  actionIdCharactersMax,
  dataNameCharactersMax,
  dataPropertiesMax,
  dataTextCharactersMax,
  memberIdCharactersMax,
} from "./schema.ts";
export { clockSkewMsMax, seenGenerationMs } from "./seen.ts";
export type { Seen, Sight } from "./sight.ts";
export * from "./state.ts";
export type { WebhookKeys } from "./webhooks/attempts.ts";
export * from "./webhooks/mod.ts";
