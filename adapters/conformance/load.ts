/** A load of commits that records every outcome, for comparison with the stored data afterwards. */
import { AppError } from "../../lib/base/errors/mod.ts";
import type { Store } from "../../lib/storage/contract.ts";
import { add, board, ConformanceError, equal, ok, put, record, score, tally } from "./harness.ts";

const workers = 64;
const partitions = 32;
const waitMsMax = 60_000;
const pollMs = 5;
/** Pause of a worker after a failure, so that failures that are known at once do not pile up, in ms. */
const failurePauseMs = 5;
/** Commits whose effects are read at a time. */
const verifiedTogether = 64;

type Outcome = "ok" | "storage_unavailable" | "outcome_unknown";

function pause(ms: number): Promise<void> {
  return new Promise(resolve => {
    setTimeout(resolve, ms);
  });
}

/** Polls a condition until it holds. @throws {ConformanceError} It does not in time. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = performance.now() + waitMsMax;
  while (!(await holds())) {
    ok(performance.now() < deadline, `${what}: not within ${waitMsMax / 1_000} s`);
    await pause(pollMs);
  }
}

/** Commits without pause until stopped. */
export class Load {
  readonly outcomes: Outcome[] = [];
  /** Commits of unknown outcome that the server did not answer in time, as on a busy machine. */
  late = 0;
  /** The slowest answer, ms. */
  slowestMs = 0;
  readonly #store: Store;
  readonly #done: Promise<unknown>;
  /** What a worker met that no store may do. */
  #fault: unknown;
  #running = true;
  #next = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#done = Promise.all(Array.from({ length: workers }, () => this.#work()));
  }

  count(outcome: Outcome): number {
    return this.outcomes.filter(each => each === outcome).length;
  }

  failures(): number {
    return this.count("storage_unavailable") + this.count("outcome_unknown");
  }

  /** Waits until so many more commits than now were reported so. */
  async more(outcome: Outcome, number: number): Promise<void> {
    const before = this.count(outcome);
    await this.#until(`${number} more commits are ${outcome}`, () => this.count(outcome) >= before + number);
  }

  /** Ends the load once every pending commit is reported. @throws {ConformanceError} A commit did what none may do. */
  async stop(): Promise<void> {
    await this[Symbol.asyncDispose]();
    if (this.#fault !== undefined) throw this.#fault;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  /** Expects every report to agree with the data, and nothing to be applied in part or twice. */
  async verify(): Promise<void> {
    let present = 0;
    for (let from = 0; from < this.outcomes.length; from += verifiedTogether) {
      const outcomes = this.outcomes.slice(from, from + verifiedTogether);
      const found = await Promise.all(outcomes.map((_, index) => this.#isThere(from + index)));
      for (const [index, outcome] of outcomes.entries()) {
        const isThere = found[index] === true;
        ok(isThere || outcome !== "ok", `commit ${from + index} was reported ok and is not there`);
        ok(
          !isThere || outcome !== "storage_unavailable",
          `commit ${from + index} was reported as not applied and is there`,
        );
        if (isThere) present += 1;
      }
    }
    let counted = 0;
    for (let index = 0; index < partitions; index++) {
      const [fields, { size }] = await this.#store.read(partitionOf(index), [
        tally("t"),
        board("b", { limit: 0 }),
      ]);
      const count = fields.get("n") ?? 0;
      equal(size, count, "a commit was applied in part or twice");
      counted += count;
    }
    equal(counted, present, "a commit was applied in part or twice");
  }

  async #isThere(index: number): Promise<boolean> {
    const [found] = await this.#store.read(partitionOf(index), [record(`k${index}`)]);
    return found !== null;
  }

  #until(what: string, holds: () => boolean): Promise<void> {
    return until(what, () => {
      if (this.#fault !== undefined) throw this.#fault;
      return holds();
    });
  }

  async #work(): Promise<void> {
    try {
      while (this.#running) {
        const index = this.#next++;
        const start = performance.now();
        const outcome = await this.#commit(index);
        this.outcomes[index] = outcome;
        this.slowestMs = Math.max(this.slowestMs, performance.now() - start);
        await pause(outcome === "ok" ? 0 : failurePauseMs);
      }
    } catch (error) {
      this.#fault ??= error;
      this.#running = false;
    }
  }

  async #commit(index: number): Promise<Outcome> {
    try {
      const { ok: isDone } = await this.#store.commit(partitionOf(index), {
        checks: [{ key: `k${index}`, version: null }],
        writes: [
          put(`k${index}`, "x"),
          add("t", "n", 1),
          // Commits that set a score may share calls, those that add to one may have to be sent alone.
          score("b", `m${index}`, index, { op: index % 2 === 0 ? "set" : "add", tie: index }),
        ],
      });
      ok(isDone, "a commit was sent twice");
      return "ok";
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const { code, message } = error;
      if (code !== "storage_unavailable" && code !== "outcome_unknown") {
        throw new ConformanceError(`a commit failed with ${code}`, { cause: error });
      }
      if (code === "outcome_unknown" && message.includes("has not answered within")) this.late += 1;
      return code;
    }
  }
}

function partitionOf(index: number): string {
  return `p${index % partitions}`;
}
