/**
 * Loyalty of a space's users: metrics, inventory, challenges, and the rules by which actions earn them.
 *
 * @module
 */

export { readRecordedScore } from "./board_sums.ts";
export { compileConfig } from "./config/compile.ts";
export type { CompiledConfig } from "./config/compiled.ts";
export type { ActionData, LoyaltyConfig } from "./config/document.ts";
export { listUsersOf, oldestDueUser } from "./due_users.ts";
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
export type { RedemptionOrder } from "./products/orders.ts";
export type { ProductView, RedemptionView } from "./products/products.ts";
export type { ActionReport } from "./report.ts";
export {
  ChangePayloadSchema,
  EarnedRewardSchema,
  FulfilmentSchema,
  PropertiesSchema,
} from "./user/change_payload.ts";
export { type FutureTimes, repairFutureTimes } from "./user/future_times.ts";
export { type GrantedReward, type MetricChange, type PointDates, pointDateErrors } from "./user/history.ts";
export type { InboxItem } from "./user/inbox.ts";
export { profileKey, type SpaceUser, spaceUserPartition } from "./user/state.ts";
export type {
  ChallengeView,
  LedgerCursor,
  LedgerEntryView,
  LoyaltyReader,
  LoyaltySummary,
} from "./views/loyalty_reader.ts";
export {
  createFactsSource,
  type FactsReader,
  type FactsSource,
  type LoyaltyFacts,
  readMetrics,
} from "./views/loyalty_reader.ts";
export { playScenarios, type ScenarioCheck } from "./views/scenario_player.ts";
export {
  type ElementMoment,
  type ElementSource,
  optionsOf,
  type VoteBounds,
  type VotedElement,
} from "./votes/elements.ts";
export type { WebhookKeys } from "./webhooks/services.ts";
