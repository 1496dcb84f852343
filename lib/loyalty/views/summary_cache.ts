/**
 * What was shown of users, for as long as it stays the same.
 *
 * @module
 */

import type { Version } from "../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import type { UserState } from "../user/state.ts";
import type { LoyaltySummary } from "./overview.ts";

/** What an overview depends on beside the state. */
export interface SummaryContext {
  readonly config: CompiledConfig;
  /** The version of what marks notifications as read; null: there is none. */
  readonly marks: Version | null;
  /** Unix ms. */
  readonly now: number;
}

interface Shown extends SummaryContext {
  readonly view: LoyaltySummary;
  readonly until: number;
}

/**
 * Overviews by the state that they are of, kept as long as the state is. Every commit that announces something to a user also
 * changes the user's state, so the notifications are those of the state too, once they were read after it was known.
 */
export class SummaryCache {
  readonly #shown = new WeakMap<UserState, Shown>();

  /** Whether something was shown of the state that time has not changed. */
  has(state: UserState, now: number): boolean {
    const shown = this.#shown.get(state);
    return shown !== undefined && isStill(shown, now);
  }

  /** What was shown of the state, where that is what there is to show now: the same object each time. */
  of(state: UserState, { config, marks, now }: SummaryContext): LoyaltySummary | undefined {
    const shown = this.#shown.get(state);
    if (shown === undefined || shown.config !== config || shown.marks !== marks) return undefined;
    return isStill(shown, now) ? shown.view : undefined;
  }

  /** Keeps what was shown of the state. It stays the same until `until`, in Unix ms, exclusive. */
  keep(
    state: UserState,
    context: SummaryContext,
    { view, until }: { readonly view: LoyaltySummary; readonly until: number },
  ): void {
    this.#shown.set(state, { ...context, view, until });
  }
}

function isStill({ now: from, until }: Shown, now: number): boolean {
  return from <= now && now < until;
}
