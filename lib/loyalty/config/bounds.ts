/** Bounds of loyalty configurations. */

/** Most entries of one list of a configuration, such as metrics or rules, and most items of an inventory set. */
export const configListMax = 500;
/** Most missions, rewards, effects, milestones or limits of one challenge, rule, bundle or ladder. */
export const configPartsMax = 50;
/** Longest id in a configuration, in characters. */
export const configIdCharactersMax = 64;
/** Highest count that a mission, or metric value that a milestone, may ask for. */
export const missionCountMax = 1_000_000;
/** Largest amount that a single effect or reward may give or take. */
export const quantityMax = 1_000_000_000;
/** Longest rolling window, in steps of its unit. */
export const windowStepsMax = 1_440;
/** Most steps of all windows that a configuration counts in together, as each step in which a user acts is kept. */
export const windowStepsTotalMax = 10_000;
/** Most effects or rewards of one rule, challenge, milestone or grant, those of its bundles included. */
export const rewardsTotalMax = 250;
/** Longest duration in a configuration, in any one of its units. */
export const durationUnitsMax = 100_000;
/** Most declared properties of an action's data. */
export const declaredPropertiesMax = 64;
/** Highest maximum of a rule's limit. */
export const ruleLimitMax = 1_000_000_000;
/** Most webhooks of a space. */
export const webhooksMax = 10;
/** Most products of a space. */
export const productsMax = 200;
/** Most prices of a product, each in a currency of its own. */
export const pricesMax = 10;
/** Largest stock of a product, and highest number of them that a user may have. */
export const stockMax = 1_000_000_000;
