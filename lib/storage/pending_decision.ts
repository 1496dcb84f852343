/** A decision that waits in the queue of its partition. */
import { AppError } from "../errors/mod.ts";
import type { Read, Write } from "./contract.ts";
import type { Committed, Decision, Rule } from "./rule.ts";

/** Most commits that a decision may lose to other processes before it gives up. */
const attemptsMax = 50;
/** Most times that an idempotent decision is made anew after an unknown outcome. */
const unknownOutcomesMax = 3;
/** Time in ms after which a decision that gave up may be worth another try. */
const conflictRetryMs = 100;

/** A caller's rule, with its types erased. */
export type AnyRule = Rule<readonly Read[], unknown>;

/** A waiting rule and the outcome of its attempts so far. */
export class PendingDecision {
  readonly rule: AnyRule;
  /** Set once the caller has its answer. */
  done = false;
  /** Set if it must have a commit of its own, because a shared one failed for a reason that may be its own. */
  runsAlone = false;
  /** Set if cached records do not suffice, because they were stale or left nothing for the commit to check. */
  mustRead = false;
  /** Writes of which a guard may have refused one, for the forecast of the next batch. */
  suspected: readonly Write[] | null = null;
  readonly #resolve: (answer: unknown) => void;
  readonly #reject: (error: unknown) => void;
  #attempts = 0;
  #unknownOutcomes: AppError[] | null = null;

  constructor(rule: AnyRule, resolve: (answer: unknown) => void, reject: (error: unknown) => void) {
    this.rule = rule;
    // It may reject while the decision still waits for its turn, which would count as unhandled.
    rule.ready?.catch(() => {});
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Resolves with the answer of a decision that took effect. */
  accept({ answer }: Decision<unknown>, committed: Committed): void {
    this.done = true;
    try {
      this.#resolve(typeof answer === "function" ? answer(committed) : answer);
    } catch (error) {
      this.#reject(error);
    }
  }

  /** Resolves with the answer of a decision that a guard of the key refused. */
  refuse({ refused }: Decision<unknown>, key: string): void {
    this.done = true;
    try {
      this.#resolve(refused === undefined ? exceedsBound(key) : refused(key));
    } catch (error) {
      this.#reject(error);
    }
  }

  /** Rejects with an error of the rule. */
  throw(error: unknown): void {
    this.done = true;
    this.#reject(error);
  }

  /** Rejects with an error of the store, or with the unknown outcome before it, which no later error resolves. */
  fail(error: unknown): void {
    this.throw(this.#unknownOutcomes?.[0] ?? error);
  }

  /** Counts a commit lost on one of its checks. */
  loseCheck(key: string): void {
    this.mustRead = true;
    this.#attempts += 1;
    if (this.#attempts < attemptsMax) return;
    const message = `Cannot commit the decision: ${key} changed during each of ${this.#attempts} tries`;
    this.fail(new AppError("conflict", message, { retryAfterMs: conflictRetryMs }));
  }

  /** Counts a commit of unknown outcome. */
  loseOutcome(error: AppError): void {
    // The cache does not show the effect that the commit may have had.
    this.mustRead = true;
    this.#unknownOutcomes ??= [];
    this.#unknownOutcomes.push(error);
    if (this.rule.idempotent !== true || this.#unknownOutcomes.length > unknownOutcomesMax) this.fail(error);
  }
}

function exceedsBound(key: string): never {
  throw new AppError("conflict", `Cannot commit the decision: a bound of ${key} would be exceeded`);
}
