/**
 * The rules engine: pure functions from a configuration, a user's state and something that happens to the state after it.
 * There is no clock and no chance in it, so what is decided again comes out the same.
 *
 * @module
 */

export { type Adjustment, adjust } from "./adjust.ts";
export { type Action, type ActionContext, applyAction } from "./apply_action.ts";
export { compareStates, type Difference, differencesMax } from "./compare_states.ts";
export { countedMax } from "./counters.ts";
export { effectsMax } from "./draft.ts";
export {
  type ChallengeFinding,
  type DryRun,
  dryRun,
  type MissionFinding,
  type RuleFinding,
} from "./dry_run.ts";
export { couponsMax } from "./give.ts";
export { type Grant, grant } from "./grant.ts";
export type { Diagnostic, Outcome } from "./outcome.ts";
export { type Redeemed, type Redeeming, redeem } from "./redeem.ts";
export { Replay, replay, replayedInstantsMax } from "./replay.ts";
export { type Reversal, reverse } from "./reverse.ts";
export { type GlobalLimitReached, roundsMax } from "./rounds.ts";
export {
  chainedLapsesMax,
  isDue,
  type Settlement,
  type SettleOptions,
  settle,
  settledInstantsMax,
} from "./settle.ts";
export { unnamedKeptMs, unnamedStepsMax } from "./unnamed.ts";
