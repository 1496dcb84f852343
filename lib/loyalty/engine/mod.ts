/**
 * The rules engine: pure functions from configuration, state and event to the state after it. It has no clock and no chance, so
 * an event that is applied again has the same outcome.
 *
 * @module
 */

export { advanceTime, isDue, settledInstantsMax, type TimeOutcome } from "./advance_time.ts";
export {
  type Action,
  type Adjustment,
  applyAction,
  applyAdjustment,
  applyGrant,
  applyReversal,
  type EventOptions,
  type Grant,
  type Reversal,
} from "./apply_events.ts";
export { applyRedemption, type RedemptionInput, type RedemptionOutcome } from "./apply_redemption.ts";
export { compareStates, type Difference } from "./compare_states.ts";
export type { Diagnostic, GlobalLimitReached, Outcome } from "./draft.ts";
export { type DryRun, dryRun } from "./dry_run.ts";
export { advanceReplay, Replay, replay } from "./replay.ts";
