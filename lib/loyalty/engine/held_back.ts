import { ownValue } from "../config/own_property.ts";
import type { StateDraft } from "./draft.ts";
import type { GlobalLimitReached } from "./rounds.ts";

/** How often each rule that a global limit held back had fired before. */
export type LimitedFirings = Readonly<Record<string, number>>;

/** Asks whether rules have reached their limits for all users, and keeps account of those that have. */
export class LimitTracker {
  readonly isLimited: GlobalLimitReached;
  /** Null where none was held back, as for most actions. */
  #limited: Map<string, number> | null = null;

  constructor(draft: StateDraft, globalLimitReached: GlobalLimitReached) {
    this.isLimited = ruleId => {
      if (this.#limited?.has(ruleId) === true) return true;
      if (!globalLimitReached(ruleId)) return false;
      this.#limited ??= new Map();
      this.#limited.set(ruleId, draft.fired.filter(fired => fired === ruleId).length);
      return true;
    };
  }

  /** What the record of the happening tells of it. */
  get reported(): { readonly limited?: LimitedFirings } {
    return this.#limited === null ? {} : { limited: Object.fromEntries(this.#limited) };
  }
}

/** Global limits as a record tells of them: each rule fires as often as it did before it was held back. */
export function recordedLimits(limited: LimitedFirings): GlobalLimitReached {
  const asked = new Map<string, number>();
  return ruleId => {
    const before = asked.get(ruleId) ?? 0;
    asked.set(ruleId, before + 1);
    const allowed = ownValue(limited, ruleId);
    return allowed !== undefined && before >= allowed;
  };
}

/** No limit for all users is reached. */
export function neverLimited(): boolean {
  return false;
}

/** Every limit for all users counts as reached. */
export function alwaysLimited(): boolean {
  return true;
}
