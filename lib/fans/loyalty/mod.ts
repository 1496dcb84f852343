/**
 * Loyalty of a space's users: metrics, inventory, challenges, and the rules by which actions earn them.
 *
 * @module
 */

export type { ActionReport } from "./commands/reports.ts";
export { readRecordedScore } from "./commands/scores.ts";
export { compileConfig } from "./config/compile.ts";
export type { CompiledConfig } from "./config/compiled.ts";
export type { ActionData, LoyaltyConfig } from "./config/document.ts";
export { listUsersOf, oldestDueUser } from "./due_users/mod.ts";
export { type LoyaltyControlContext, loyaltyControlRoutes } from "./http/config_routes.ts";
export { loyaltyOperatorRoutes } from "./http/operator_routes.ts";
export {
  dataNameCharactersMax,
  dataPropertiesMax,
  dataTextCharactersMax,
} from "./http/requests.ts";
export type * as configurationAnswers from "./http/resources.ts";
export type * as loyaltyAnswers from "./http/responses.ts";
export { loyaltyRoutes } from "./http/routes.ts";
export type * as webhookAnswers from "./http/webhook_resources.ts";
export { createLoyalty, type Loyalty, type LoyaltyOptions } from "./loyalty.ts";
export type { ProductView, RedemptionOrder, RedemptionView } from "./products/mod.ts";
export {
  ChangePayloadSchema,
  EarnedRewardSchema,
  FulfilmentSchema,
  PropertiesSchema,
} from "./user/change_payload.ts";
export { type FutureTimes, repairFutureTimes } from "./user/future_times.ts";
export { type GrantedReward, type MetricChange, type PointDates, pointDateErrors } from "./user/history.ts";
export type { InboxItem } from "./user/inbox_view.ts";
export { profileKey } from "./user/profile_fields.ts";
export { type SpaceUser, spaceUserPartition } from "./user/space_user.ts";
export type { ChallengeView } from "./views/challenge_views.ts";
export {
  createFactsSource,
  type FactsReader,
  type FactsSource,
  type LoyaltyFacts,
  readMetrics,
} from "./views/facts.ts";
export type { LedgerCursor, LedgerEntryView } from "./views/ledger_pages.ts";
export type { LoyaltyReader } from "./views/loyalty_reader.ts";
export { playScenarios, type ScenarioCheck } from "./views/scenarios.ts";
export type { LoyaltySummary } from "./views/summary.ts";
export {
  type ElementMoment,
  type ElementSource,
  optionsOf,
  type VoteBounds,
  type VotedElement,
} from "./votes/elements.ts";
export type { WebhookKeys } from "./webhooks/mod.ts";
