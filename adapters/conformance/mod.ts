/**
 * The storage contract as tests, for authors of adapters.
 *
 * ```ts
 * import { describe, it } from "node:test";
 * import { conformance } from "grandstand/conformance";
 *
 * conformance({ describe, it, factory: () => createFixture() });
 * ```
 *
 * Nothing here depends on a test runner or a runtime. The suite reads the abilities of an adapter from its
 * traits alone, and no case can be switched off.
 *
 * @module
 */
import { boardCases, scoreCases } from "./boards.ts";
import { commitCases } from "./commits.ts";
import { concurrencyCases } from "./concurrency.ts";
import { type Cases, register, type StoreCase, type StoreFixture, type Suite } from "./harness.ts";
import { largeBoardCases } from "./large_boards.ts";
import { limitCases, nameCases } from "./limits.ts";
import { randomCases } from "./random_runs.ts";
import { expiryCases, logCases, recordCases, tallyCases } from "./records.ts";

export { type BlobsFixture, blobsConformance } from "./blobs.ts";
export { type FailuresFixture, failuresConformance } from "./failures.ts";
export type { Runner, StoreFixture, TestClock } from "./harness.ts";
export { ConformanceError } from "./harness.ts";
export { type LimiterFixture, limiterConformance } from "./limiter.ts";
export {
  type PartitionsFixture,
  partitionsConformance,
  type WarningsFixture,
  warningsConformance,
} from "./operators.ts";
export { type QueueFixture, queueConformance } from "./queue.ts";

const defaultSeeds: readonly number[] = [1, 2, 3, 4];

/** The subject and the runner of the suite: stores with their clocks. */
interface ConformanceOptions extends Suite<StoreFixture> {
  /** Seeds of the random runs: one from a failure's message repeats it. @default defaultSeeds */
  readonly seeds?: readonly number[];
}

/** Registers the whole suite for a {@linkcode Store}: more than a hundred tests, each with a fresh fixture. */
export function conformance(options: ConformanceOptions): void {
  async function factory(): Promise<StoreCase> {
    const fixture = await options.factory();
    const { store, peer = store, clock } = fixture;
    return { store, peer, clock, dispose: () => fixture.dispose() };
  }
  const subjects: Readonly<Record<string, Cases<StoreCase>>> = {
    concurrency: concurrencyCases,
    commits: commitCases,
    records: recordCases,
    expiry: expiryCases,
    tallies: tallyCases,
    boards: boardCases,
    "large boards": largeBoardCases,
    scores: scoreCases,
    logs: logCases,
    names: nameCases,
    limits: limitCases,
    "random runs": randomCases(options.seeds ?? defaultSeeds),
  };
  for (const [name, cases] of Object.entries(subjects)) {
    options.describe(name, () => register(options, cases, factory));
  }
}
