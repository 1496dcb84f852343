/** Interfaces of the test runner and of the implementation under test. */
import type { Store } from "../../lib/storage/contract.ts";

/** The two functions of a test runner, as `node:test`, Vitest, Jest, Mocha, Bun and `@std/testing/bdd` have them. */
export interface Runner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>): unknown;
}

/** A clock that moves only by `advance`. */
export interface TestClock {
  /** Unix ms. */
  now(): number;
  /** Moves the clock forward. */
  advance(ms: number): void;
}

/** A fresh subject of a test. */
export interface Fixture {
  /** Releases the resources of the fixture; runs after each test. */
  dispose(): Promise<void> | void;
}

/** The subject and the runner of a suite. */
export interface Suite<F extends Fixture> extends Runner {
  /** Creates a subject that no other test sees. */
  factory(): Promise<F> | F;
}

/** A store that no other test has touched. */
export interface StoreFixture extends Fixture {
  readonly store: Store;
  readonly clock: TestClock;
  /** Another handle on the same data, for example a second client. @default the store itself */
  readonly peer?: Store;
}

/** A fixture that always has a second handle. */
export type StoreCase = Required<StoreFixture>;

/** Test bodies by the sentence that they prove, each for a fixture of its own. */
export type Cases<T> = Readonly<Record<string, (fixture: T) => Promise<void>>>;

/** Registers the cases with the runner. Each gets a new fixture, which is disposed even if the case fails. */
export function register<T extends Fixture>(
  runner: Runner,
  cases: Cases<T>,
  factory: () => Promise<T> | T,
): void {
  for (const [name, body] of Object.entries(cases)) {
    runner.it(name, async () => {
      const fixture = await factory();
      try {
        await body(fixture);
      } finally {
        await fixture.dispose();
      }
    });
  }
}
