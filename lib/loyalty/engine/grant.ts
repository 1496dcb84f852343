import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData, NotificationSetting } from "../config/document.ts";
import type { GrantedReward } from "../user/history.ts";
import type { UserState } from "../user/state.ts";
import type { ActionContext } from "./apply_action.ts";
import { StateDraft } from "./draft.ts";
import { type GrantedSingleReward, giveRewards } from "./give.ts";
import { LimitTracker, neverLimited } from "./held_back.ts";
import type { Outcome } from "./outcome.ts";
import { runTriggered } from "./rounds.ts";

/** What a back end gives a user. */
export interface Grant {
  readonly rewards: readonly GrantedReward[];
  readonly reason: string;
  readonly metadata?: ActionData | undefined;
  /** @default it is not announced */
  readonly notification?: NotificationSetting | undefined;
  /** Unix ms. */
  readonly at: number;
  /** As the back end named it. */
  readonly id?: string;
}

/**
 * Gives rewards to a user whose state is settled at that time. Rewards that the configuration does not name give nothing.
 *
 * @throws {RangeError} The state is not settled: see `settle`.
 */
export function applyGrant(
  compiled: CompiledConfig,
  state: UserState,
  given: Grant,
  { globalLimitReached = neverLimited }: ActionContext = {},
): Outcome {
  const { rewards, reason, metadata, notification, id } = given;
  const draft = new StateDraft(compiled, state, Math.max(given.at, state.changedAt));
  const plain = rewards.flatMap((reward): readonly GrantedSingleReward[] =>
    reward.type === "reward" ? (compiled.bundles.get(reward.rewardId) ?? []) : [reward],
  );
  const subject = metadata === undefined ? { reason } : { reason, metadata };
  giveRewards(draft, plain, { type: "rewardGranted", subject });
  const heldBack = new LimitTracker(draft, globalLimitReached);
  runTriggered(draft, heldBack.isLimited);
  const [granted] = draft.transactions;
  // Announced last, so that what the grant leads to is the same in a replay, which announces nothing.
  if (notification !== undefined && granted !== undefined) {
    draft.notify({ type: "rewardGranted", ...notification, payload: granted.payload });
  }
  const told = { rewards, reason, ...(id === undefined ? {} : { id }), ...heldBack.reported };
  return draft.outcome({ kind: "grant", grant: told });
}
