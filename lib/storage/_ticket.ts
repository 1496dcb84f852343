/** One decision on its way through a lane. */
import { AppError } from "../errors/mod.ts";
import type { Read, Write } from "./contract.ts";
import type { Committed, Decision, Rule } from "./rule.ts";

/** Most commits that a decision may lose to other processes before it gives up. */
export const decisionAttemptsMax = 50;
/** Most times that an idempotent decision is made anew after an unknown outcome. */
export const decisionUnknownsMax = 3;
/** After how many ms a decision that gave up may be worth another try. */
const conflictRetryMs = 100;

/** A caller's rule, with its types erased. */
export type AnyRule = Rule<readonly Read[], unknown>;

/** A waiting rule and what has happened to it so far. */
export class PendingDecision {
  readonly rule: AnyRule;
  /** Whether the caller has its answer. */
  done = false;
  /** Whether it must have a commit of its own, because a shared one failed for a reason that may be its own. */
  runsAlone = false;
  /** Whether what the process remembers will not do, because it was stale or left nothing to be checked. */
  mustRead = false;
  /** The writes of which a guard may have refused one, to be foreseen in the next round. */
  suspected: readonly Write[] | null = null;
  readonly #resolve: (answer: unknown) => void;
  readonly #reject: (error: unknown) => void;
  #attempts = 0;
  #unknowns: AppError[] | null = null;

  constructor(rule: AnyRule, resolve: (answer: unknown) => void, reject: (error: unknown) => void) {
    this.rule = rule;
    // It may fail while the decision still waits for its turn; whoever awaits it then is told.
    rule.ready?.catch(() => {});
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Ends the wait with the answer of a decision that took effect. */
  accept({ answer }: Decision<unknown>, committed: Committed): void {
    this.done = true;
    try {
      this.#resolve(typeof answer === "function" ? answer(committed) : answer);
    } catch (error) {
      this.#reject(error);
    }
  }

  /** Ends the wait with the answer of a decision that a guard of the key refused. */
  refuse({ refused }: Decision<unknown>, key: string): void {
    this.done = true;
    try {
      this.#resolve(refused === undefined ? conflict(key) : refused(key));
    } catch (error) {
      this.#reject(error);
    }
  }

  /** Ends the wait with what the rule has thrown. */
  throw(error: unknown): void {
    this.done = true;
    this.#reject(error);
  }

  /** Ends the wait with an error of the store; once an outcome was unknown nothing later makes it known. */
  fail(error: unknown): void {
    this.throw(this.#unknowns?.[0] ?? error);
  }

  /** Counts a commit lost on one of its checks. */
  loseCheck(key: string): void {
    this.mustRead = true;
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
  loseOutcome(error: AppError): void {
    // Memory does not show the effect that the commit may have had.
    this.mustRead = true;
    this.#unknowns ??= [];
    this.#unknowns.push(error);
    if (this.rule.idempotent !== true || this.#unknowns.length > decisionUnknownsMax) this.fail(error);
  }
}

function conflict(key: string): never {
  throw new AppError("conflict", `Cannot commit the decision: a bound of ${key} would be exceeded`);
}
