/** Common parts of the auth tests: one clock, one predictable generator, one store that counts. */

import { createMemoryStore } from "../../../adapters/memory/mod.ts";
import { type KeyRing, MasterSecret } from "../../../lib/auth/mod.ts";
import type { KeyRingOptions } from "../../../lib/auth/tokens/key_ring.ts";
import { createKeyRing } from "../../../lib/auth/tokens/key_ring.ts";
import { AppError, type ErrorCode } from "../../../lib/base/errors/mod.ts";
import type { Batch, Commit, Read, Results, Store } from "../../../lib/storage/mod.ts";
import { createTestClock } from "../../support/clock.ts";

export const secret: MasterSecret = new MasterSecret("correct horse battery staple, twice over");
export const otherSecret: MasterSecret = new MasterSecret("another horse, another battery, another staple");

/** Bytes of a linear congruential generator: distinct and repeatable. */
export function createTestRandom(seed: number = 1): (length: number) => Uint8Array {
  let state = seed >>> 0;
  return length =>
    Uint8Array.from({ length }, () => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state >>> 24;
    });
}

/** A store that counts its calls and can be taken down. */
export class CountingStore implements Store {
  readonly traits: Store["traits"];
  readonly #inner: Store;
  reads = 0;
  commits = 0;
  isDown = false;

  constructor(inner: Store) {
    this.#inner = inner;
    this.traits = inner.traits;
  }

  async read<const Q extends readonly Read[]>(partition: string, queries: Q): Promise<Results<Q>> {
    this.reads++;
    if (this.isDown) throw new AppError("storage_unavailable", "Cannot reach the store");
    return await this.#inner.read(partition, queries);
  }

  async commit(partition: string, batch: Batch): Promise<Commit> {
    this.commits++;
    if (this.isDown) throw new AppError("storage_unavailable", "Cannot reach the store");
    return await this.#inner.commit(partition, batch);
  }

  async ping(): Promise<void> {}

  async [Symbol.asyncDispose](): Promise<void> {}
}

/** A clock, a generator and an empty store of their own. */
export interface Fixture {
  readonly time: { advance(ms: number): void };
  readonly clock: () => number;
  readonly random: (length: number) => Uint8Array;
  readonly store: CountingStore;
  readonly secret: MasterSecret;
}

export function createFixture(): Fixture {
  const time = createTestClock();
  const store = new CountingStore(createMemoryStore({ clock: time.now }));
  return { time, clock: time.now, random: createTestRandom(), store, secret };
}

/** A ring of the fixture, as one more process would open it. */
export async function openRing(fixture: Fixture, options: Partial<KeyRingOptions> = {}): Promise<KeyRing> {
  const { store, clock, random } = fixture;
  return await createKeyRing({ store, clock, random, secret, ...options });
}

/** Returns a check for the application error with this code; for `assert.throws` and `assert.rejects`. */
export function hasCode(code: ErrorCode): (error: unknown) => boolean {
  return error => error instanceof AppError && error.code === code;
}
