import type { HistoryRecord, Notification } from "../user/history.ts";
import type { UserState } from "../user/state.ts";

/** Something that whoever wrote the configuration should know. */
export interface Diagnostic {
  /**
   * `roundsExhausted`: changes went on triggering further changes until they were stopped. `effectsExhausted`: there were so
   * many of them that the rest was left out. `lapsesExhausted`: what lapsed was made up for again and again by what lapses too.
   */
  readonly type: "roundsExhausted" | "effectsExhausted" | "lapsesExhausted";
  /** What would have been looked at next. */
  readonly triggers: readonly string[];
}

/** What a happening made of a user. */
export interface Outcome {
  readonly state: UserState;
  readonly record: HistoryRecord;
  readonly notifications: readonly Notification[];
  /** Difference of each metric that changed. */
  readonly gained: Readonly<Record<string, number>>;
  readonly diagnostics: readonly Diagnostic[];
  /** Ids of the rules that fired, once for each time. */
  readonly fired: readonly string[];
}
