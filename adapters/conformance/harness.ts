/** What the suites need from a test runner and from the implementation under test. */
import type { Store } from "../../lib/storage/contract.ts";

/** The two functions of a test runner, as `node:test`, Vitest, Jest, Mocha, Bun and `@std/testing/bdd` have them. */
export interface Runner {
  describe(name: string, body: () => void): unknown;
  it(name: string, body: () => Promise<void>): unknown;
}

/** A clock that moves only when told to. */
export interface TestClock {
  /** Unix ms. */
  now(): number;
  /** Moves the clock forward. */
  advance(ms: number): void;
}

/** Something fresh to test. */
export interface Fixture {
  /** Releases what the fixture holds; runs after each test. */
  dispose(): Promise<void> | void;
}

/** A store that no other test has touched. */
export interface StoreFixture extends Fixture {
  readonly store: Store;
  /** The clock that the store lives by. */
  readonly clock: TestClock;
  /** Another handle on the same data, for example a second client. @default the store itself */
  readonly peer?: Store;
}

/** What a test body works with. */
export interface StoreCase {
  readonly store: Store;
  readonly peer: Store;
  readonly clock: TestClock;
}

/** Registers one test that gets a fresh fixture of its own. */
export type Register<T> = (name: string, body: (fixture: T) => Promise<void>) => void;

/** Makes a {@linkcode Register} that creates a fixture before each body and disposes of it afterwards. */
export function registrar<T extends Fixture>(runner: Runner, factory: () => Promise<T> | T): Register<T> {
  return (name, body) => {
    runner.it(name, async () => {
      const fixture = await factory();
      try {
        await body(fixture);
      } finally {
        await fixture.dispose();
      }
    });
  };
}
