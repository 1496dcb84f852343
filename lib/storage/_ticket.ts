/** One decision on its way through a lane. */
import { AppError } from "../errors/mod.ts";
import type { Read, Version, Write } from "./contract.ts";

/** Most commits that a decision may lose to other processes before it gives up. */
export const decisionAttemptsMax = 50;
/** Most times that an idempotent decision is made anew after an unknown outcome. */
export const decisionUnknownsMax = 3;
/** After how many ms a decision that gave up may be worth another try. */
const conflictRetryMs = 100;

/** A decision made from one state, with its types erased. */
export interface Decided {
  readonly writes: readonly Write[];
  readonly unchecked: boolean;
  /** Answers the caller. */
  accept(committed: { version: Version | null; results: readonly (number | string | null)[] }): void;
  /** Answers the caller after a guard refused the key. */
  refuse(key: string): void;
}

/** A caller's rule, with its types erased. */
export interface Waiting {
  readonly reads: readonly Read[];
  readonly idempotent: boolean;
  apply(state: readonly unknown[]): Decided;
  reject(error: unknown): void;
}

/** A waiting rule and what has happened to it so far. */
export class Ticket {
  readonly rule: Waiting;
  /** Whether the caller has its answer. */
  done = false;
  /** Whether it must have a commit of its own, because a shared one failed for a reason that may be its own. */
  solo = false;
  /** The writes of which a guard may have refused one, to be foreseen in the next round. */
  suspected: readonly Write[] | null = null;
  #attempts = 0;
  #unknowns: AppError[] = [];

  constructor(rule: Waiting) {
    this.rule = rule;
  }

  /** Ends the wait with the caller's answer, or with what making it throws. */
  settle(answer: () => void): void {
    this.done = true;
    try {
      answer();
    } catch (error) {
      this.rule.reject(error);
    }
  }

  /** Ends the wait with an error; once an outcome was unknown nothing later makes it known. */
  fail(error: unknown): void {
    this.done = true;
    this.rule.reject(this.#unknowns[0] ?? error);
  }

  /** Counts a commit lost on one of its checks. */
  lost(key: string): void {
    this.#attempts += 1;
    if (this.#attempts < decisionAttemptsMax) return;
    this.fail(
      new AppError(
        "conflict",
        `Cannot commit the decision: ${key} changed during each of ${this.#attempts} tries`,
        {
          retryAfterMs: conflictRetryMs,
        },
      ),
    );
  }

  /** Counts a commit of which nobody knows whether it took effect. */
  unknown(error: AppError): void {
    this.#unknowns.push(error);
    if (!this.rule.idempotent || this.#unknowns.length > decisionUnknownsMax) this.fail(error);
  }
}
