/**
 * The rules engine: pure functions from configuration, state and event to the state after it. It has no clock and no chance, so
 * an event that is applied again has the same outcome.
 *
 * @module
 */

export { advanceTime, isDue, settledInstantsMax, type TimeOutcome } from "./advance_time.ts";
export {
  type Action,
  applyAction,
  applyAdjustment,
  applyGrant,
  applyRefusals,
  applyReversal,
  type Grant,
  type Refusal,
} from "./apply_events.ts";
export { applyRedemption, type RedemptionInput } from "./apply_redemption.ts";
export { compareStates } from "./compare_states.ts";
export type { Diagnostic, Outcome } from "./draft.ts";
export { type DryRun, dryRun } from "./dry_run.ts";
export { advanceReplay, Replay } from "./replay.ts";
export { type ReversedAction, reversedAction } from "./take_back.ts";
