/**
 * The storage contract as tests, for whoever writes an adapter.
 *
 * ```ts
 * import { describe, it } from "node:test";
 * import { conformance } from "grandstand/conformance";
 *
 * conformance({ describe, it, factory: () => createFixture() });
 * ```
 *
 * Nothing here depends on a test runner or a runtime. An adapter's abilities are read from its traits alone:
 * no case can be switched off.
 *
 * @module
 */
import { boardCases } from "./boards.ts";
import { commitCases } from "./commits.ts";
import { concurrencyCases } from "./concurrency.ts";
import { expiryCases } from "./expiry.ts";
import { type Register, type Runner, registrar, type StoreCase, type StoreFixture } from "./harness.ts";
import { limitCases } from "./limits.ts";
import { logCases } from "./logs.ts";
import { nameCases } from "./names.ts";
import { randomCases } from "./random_runs.ts";
import { recordCases } from "./records.ts";
import { scoreCases } from "./scores.ts";
import { tallyCases } from "./tallies.ts";

export { type BlobsConformanceOptions, type BlobsFixture, blobsConformance } from "./blobs.ts";
export { ConformanceError } from "./expect.ts";
export type { Fixture, Runner, StoreFixture, TestClock } from "./harness.ts";
export { type LimiterConformanceOptions, type LimiterFixture, limiterConformance } from "./limiter.ts";
export { type QueueConformanceOptions, type QueueFixture, queueConformance } from "./queue.ts";

/** The seeds of the random runs where none are given. */
export const defaultSeeds: readonly number[] = [1, 2, 3, 4];

/** What to test and with which runner. */
export interface ConformanceOptions extends Runner {
  /** Creates a store that no other test sees, with a clock that the store lives by. */
  factory(): Promise<StoreFixture> | StoreFixture;
  /** Seeds of the random runs: one from a failure's message repeats it. @default defaultSeeds */
  readonly seeds?: readonly number[];
}

/** Registers the whole suite for a {@linkcode Store}: some hundred tests, each with a fresh fixture. */
export function conformance(options: ConformanceOptions): void {
  const { seeds = defaultSeeds } = options;
  const test = registrar<StoreFixture>(options, () => options.factory());
  const register: Register<StoreCase> = (name, body) => {
    test(name, ({ store, peer = store, clock }) => body({ store, peer, clock }));
  };
  const subjects: readonly [name: string, cases: (test: Register<StoreCase>) => void][] = [
    ["concurrency", concurrencyCases],
    ["commits", commitCases],
    ["records", recordCases],
    ["expiry", expiryCases],
    ["tallies", tallyCases],
    ["boards", boardCases],
    ["scores", scoreCases],
    ["logs", logCases],
    ["names", nameCases],
    ["limits", limitCases],
    ["random runs", each => randomCases(each, seeds)],
  ];
  for (const [name, cases] of subjects) options.describe(name, () => cases(register));
}
