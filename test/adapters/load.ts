/** A load of commits that records every outcome, for comparison with the stored data afterwards. */
import assert from "node:assert/strict";
import { AppError } from "../../lib/base/errors/mod.ts";
import type { Store } from "../../lib/storage/mod.ts";
import { until } from "../support/until.ts";

const workers = 64;
const partitions = 32;

/** The reported outcome of a commit. */
export type Outcome = "ok" | "storage_unavailable" | "outcome_unknown";

/** Commits without pause until stopped. */
export class Load {
  readonly outcomes: Outcome[] = [];
  /** Commits of unknown outcome that the server did not answer in time, as on a busy machine. */
  late = 0;
  /** The slowest answer, ms. */
  slowestMs = 0;
  readonly #store: Store;
  readonly #done: Promise<unknown>;
  #running = true;
  #next = 0;

  constructor(store: Store) {
    this.#store = store;
    this.#done = Promise.all(Array.from({ length: workers }, () => this.#work()));
  }

  /** Returns the number of commits with the outcome. */
  count(outcome: Outcome): number {
    return this.outcomes.filter(each => each === outcome).length;
  }

  /** Waits until so many more commits than now were reported so. */
  async more(outcome: Outcome, number: number): Promise<void> {
    const before = this.count(outcome);
    await until(`${number} more commits are ${outcome}`, () => this.count(outcome) >= before + number);
  }

  /** Waits until so many more commits than now were reported as not applied or unknown. */
  async moreFailures(number: number): Promise<void> {
    const count = (): number => this.count("storage_unavailable") + this.count("outcome_unknown");
    const before = count();
    await until(`${number} more commits have failed`, () => count() >= before + number);
  }

  /** Ends the load once every pending commit is reported. */
  async stop(): Promise<void> {
    this.#running = false;
    await this.#done;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Asserts that every report agrees with the data and that nothing was applied in part or twice. */
  async verify(): Promise<void> {
    let present = 0;
    for (const [index, outcome] of this.outcomes.entries()) {
      const [record] = await this.#store.read(partitionOf(index), [{ type: "record", key: `k${index}` }]);
      if (outcome === "ok") assert.ok(record, `commit ${index} was reported ok and is not there`);
      if (outcome === "storage_unavailable") {
        assert.equal(record, null, `commit ${index} was reported as not applied and is there`);
      }
      if (record !== null) present += 1;
    }
    let counted = 0;
    for (let index = 0; index < partitions; index++) {
      const [tally, board] = await this.#store.read(partitionOf(index), [
        { type: "tally", key: "t" },
        { type: "board", key: "b", limit: 0 },
      ]);
      const count = tally.get("n") ?? 0;
      assert.equal(board.size, count, "a commit was applied in part or twice");
      counted += count;
    }
    assert.equal(counted, present, "a commit was applied in part or twice");
  }

  async #work(): Promise<void> {
    while (this.#running) {
      const index = this.#next++;
      const start = performance.now();
      this.outcomes[index] = await this.#commit(index);
      this.slowestMs = Math.max(this.slowestMs, performance.now() - start);
      // Failures that are known at once must not keep the event loop from everything else.
      await new Promise(resolve => setImmediate(resolve));
    }
  }

  async #commit(index: number): Promise<Outcome> {
    try {
      const commit = await this.#store.commit(partitionOf(index), {
        checks: [{ key: `k${index}`, version: null }],
        writes: [
          { type: "put", key: `k${index}`, value: "x" },
          { type: "add", key: "t", field: "n", by: 1 },
          // Commits that set a score share calls, those that add to one are sent alone.
          {
            type: "score",
            op: index % 2 === 0 ? "set" : "add",
            key: "b",
            member: `m${index}`,
            score: index,
            tie: index,
          },
        ],
      });
      assert.equal(commit.ok, true, "a commit was sent twice");
      return "ok";
    } catch (error) {
      if (
        error instanceof AppError &&
        (error.code === "storage_unavailable" || error.code === "outcome_unknown")
      ) {
        if (error.code === "outcome_unknown" && error.message.includes("has not answered within"))
          this.late += 1;
        return error.code;
      }
      throw error;
    }
  }
}

function partitionOf(index: number): string {
  return `p${index % partitions}`;
}
