/**
 * Loyalty of a space's users: metrics, inventory, challenges, and the rules by which actions earn them.
 *
 * @module
 */

export { compileConfig } from "./config/compile.ts";
export type { CompiledConfig } from "./config/compiled.ts";
export type { LoyaltyConfig } from "./config/document.ts";
export { type LoyaltyControlContext, loyaltyControlRoutes } from "./http/config_routes.ts";
export { loyaltyOperatorRoutes } from "./http/operator_routes.ts";
export type * as configurationAnswers from "./http/resources.ts";
export type * as loyaltyAnswers from "./http/responses.ts";
export { loyaltyRoutes } from "./http/routes.ts";
export type * as webhookAnswers from "./http/webhook_resources.ts";
export { createLoyalty, type Loyalty, type LoyaltyOptions } from "./loyalty.ts";
export type { SpaceUser } from "./user/state.ts";
export type { LoyaltyReader } from "./views/loyalty_reader.ts";
export { createFactsSource, type FactsReader, type LoyaltyFacts } from "./views/loyalty_reader.ts";
export type { ElementMoment, ElementSource, VoteBounds, VotedElement } from "./votes/elements.ts";
