/** Operations and what they cost. */

import type { Usage } from "./resources.ts";

/** Operations that a show consists of, with the unit of their number. */
export const operations = {
  arrive: "registration, with its token",
  predict: "prediction",
  outcome: "outcome, in batches of 1,000",
  share: "share",
  profile: "profile",
  board: "board: leaders or own rank",
  history: "history",
  message: "message to a listener of the live board",
} as const;
/** An operation. */
export type Operation = keyof typeof operations;

/** What operations cost. */
export interface Costs {
  /** Of a deployment without requests, a second. */
  readonly idle: Usage;
  readonly each: Readonly<Record<Operation, Usage>>;
}
