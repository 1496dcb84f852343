/**
 * The rules engine: pure functions from a configuration, a user's state and something that happens to the state after it.
 * There is no clock and no chance in it, so what is decided again comes out the same.
 *
 * @module
 */

export { type Adjustment, applyAdjustment } from "./adjust.ts";
export { type Action, type ActionContext, applyAction } from "./apply_action.ts";
export { compareStates, type Difference, differencesMax } from "./compare_states.ts";
export { countedMax } from "./counters.ts";
export { effectsMax } from "./draft.ts";
export {
  type DryRun,
  type DryRunChallenge,
  type DryRunMission,
  type DryRunRule,
  dryRun,
} from "./dry_run.ts";
export { couponsMax } from "./give.ts";
export { applyGrant, type Grant } from "./grant.ts";
export type { Diagnostic, Outcome } from "./outcome.ts";
export { applyRedemption, type RedemptionInput, type RedemptionOutcome } from "./redeem.ts";
export { Replay, replay, replayedInstantsMax } from "./replay.ts";
export { applyReversal, type Reversal } from "./reverse.ts";
export { type GlobalLimitReached, roundsMax } from "./rounds.ts";
export {
  type AdvanceTimeOptions,
  advanceTime,
  chainedExpiriesMax,
  isDue,
  settledInstantsMax,
  type TimeOutcome,
} from "./settle.ts";
export { unnamedKeptMs, unnamedStepsMax } from "./unnamed.ts";
