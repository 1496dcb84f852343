/**
 * What an action does to a user's state: a pure function of configuration, state, action and time.
 *
 * @module
 */

import type { CompiledConfig } from "../config/compiled.ts";
import type { ActionData } from "../config/document.ts";
import type { Scope } from "../config/scope.ts";
import type { UserState } from "../user/state.ts";
import { StateDraft } from "./draft.ts";
import { LimitTracker, neverLimited } from "./held_back.ts";
import type { Outcome } from "./outcome.ts";
import { type GlobalLimitReached, type RoundOptions, runRounds } from "./rounds.ts";

/** A reported action. */
export interface Action {
  readonly name: string;
  readonly data: ActionData;
  /** Unix ms. An action counts no earlier than what happened to the user before. */
  readonly at: number;
  /** As it was reported. */
  readonly id?: string;
}

/** What else the effects of an action or a grant depend on. */
export interface ActionContext {
  /** Asked each time that a rule with a global limit would fire. @default no limit is reached */
  readonly globalLimitReached?: GlobalLimitReached;
}

/**
 * Applies an action to a state that is settled at its time. An action that the configuration does not name has no effects
 * but its record.
 *
 * @throws {RangeError} The state is not settled: see `settle`.
 */
export function applyAction(
  compiled: CompiledConfig,
  state: UserState,
  action: Action,
  { globalLimitReached = neverLimited, onRound: onLook }: ActionContext & RoundOptions = {},
): Outcome {
  const { name, data, id } = action;
  const draft = new StateDraft(compiled, state, Math.max(action.at, state.changedAt));
  const plan = compiled.actions.get(name);
  const heldBack = new LimitTracker(draft, globalLimitReached);
  if (plan !== undefined) {
    const scope: Scope = { data, user: draft };
    draft.countAction(plan.aggregates, scope);
    runRounds(draft, plan, { scope, isLimited: heldBack.isLimited, onRound: onLook });
  }
  const told = id === undefined ? { name, data } : { name, data, id };
  const { limited } = heldBack.reported;
  return draft.outcome({ kind: "action", action: limited === undefined ? told : { ...told, limited } });
}
