/**
 * Random runs: thousands of seeded operations, each result compared with the reference model's.
 *
 * Versions and log ids are opaque, so the two implementations may choose different ones. The first pair of corresponding
 * values is recorded, and must correspond in all later results.
 *
 * @module
 */
import type { Batch, Check, Commit, LogEntry, Read, Store, Stored } from "../../lib/storage/contract.ts";
import { ConformanceError, equal, ok, show } from "./expect.ts";
import type { Cases, StoreCase, TestClock } from "./harness.ts";
import { createRandom } from "./random.ts";
import { createOperations, type RandomOperations } from "./random_operations.ts";
import { ReferenceModel } from "./reference.ts";

/** Operations of one run. */
export const stepsPerRun = 2_500;

/** One random run per seed. */
export function randomCases(seeds: readonly number[]): Cases<StoreCase> {
  return Object.fromEntries(
    seeds.map(seed => [
      `a random run with the seed ${seed} answers as the reference model does`,
      (fixture: StoreCase) => randomRun(fixture, seed),
    ]),
  );
}

async function randomRun({ store, peer, clock }: StoreCase, seed: number): Promise<void> {
  const random = createRandom(seed);
  const run = new Run(clock, createOperations(random, clock));
  for (let step = 0; step < stepsPerRun; step++) {
    if (random.chance(0.03)) clock.advance(random.integer(40));
    await run.step(random.chance(0.5) ? store : peer, random.chance(0.6), `seed ${seed}, step ${step}`);
  }
}

/** One run: the model, and its versions and ids as the store under test names them. */
class Run {
  readonly #model: ReferenceModel;
  readonly #operations: RandomOperations;
  readonly #clock: TestClock;
  /** The store's name for each version of the model. */
  readonly #versions = new Map<string, string>();
  /** The store's name for each log id of the model, per log. */
  readonly #ids = new Map<string, string>();

  constructor(clock: TestClock, operations: RandomOperations) {
    this.#model = new ReferenceModel(clock.now);
    this.#clock = clock;
    this.#operations = operations;
  }

  async step(store: Store, write: boolean, where: string): Promise<void> {
    const partition = this.#operations.partition();
    const operation = write ? this.#operations.batch(partition) : this.#operations.queries(partition);
    try {
      await ("writes" in operation
        ? this.#commit(store, partition, operation)
        : this.#read(store, partition, operation));
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      const what = `${show(operation)} on ${show(partition)} at ${this.#clock.now()}`;
      throw new ConformanceError(`${where}: ${reason}, for ${what}`, { cause: error });
    }
  }

  async #commit(store: Store, partition: string, batch: Batch): Promise<void> {
    const expected = this.#model.commit(partition, batch);
    const checks = (batch.checks ?? []).map(check => this.#translateCheck(check));
    const actual = await store.commit(partition, { checks, writes: batch.writes });
    if (!expected.ok || !actual.ok) return equal(actual, expected);
    this.#learn(partition, batch, expected, actual);
    this.#operations.learn(partition, batch, expected);
  }

  /** Compares the results of a successful commit, and records the store's names for its version and ids. */
  #learn(
    partition: string,
    batch: Batch,
    expected: Commit & { ok: true },
    actual: Commit & { ok: true },
  ): void {
    ok(
      ![...this.#versions.values()].includes(actual.version),
      `the version ${actual.version} was used before`,
    );
    this.#versions.set(expected.version, actual.version);
    equal(actual.results.length, expected.results.length, "number of results");
    for (const [index, write] of batch.writes.entries()) {
      const [mine, theirs] = [expected.results[index], actual.results[index]];
      if (write.type !== "append") {
        equal(theirs, mine, `result ${index}`);
        continue;
      }
      ok(typeof theirs === "string", `result ${index} is no id: ${show(theirs)}`);
      this.#ids.set(JSON.stringify([partition, write.key, mine]), theirs);
    }
  }

  async #read(store: Store, partition: string, queries: readonly Read[]): Promise<void> {
    const expected = this.#model.read(partition, queries);
    const actual = await store.read(
      partition,
      queries.map(query =>
        query.type === "log" && query.cursor !== undefined
          ? { ...query, cursor: this.#id(partition, query.key, query.cursor) }
          : query,
      ),
    );
    equal(actual.length, expected.length, "number of results");
    for (const [index, query] of queries.entries()) {
      equal(actual[index], this.#translateResult(partition, query, expected[index]), `result ${index}`);
    }
  }

  #translateResult(partition: string, query: Read, result: unknown): unknown {
    if (query.type === "record" && result !== null) {
      const { value, version } = result as Stored;
      return { value, version: this.#versions.get(version) };
    }
    if (query.type === "log") {
      return (result as LogEntry[]).map(entry => ({
        ...entry,
        id: this.#id(partition, query.key, entry.id),
      }));
    }
    return result;
  }

  #translateCheck(check: Check): Check {
    if ("absent" in check) return check;
    const { key, version } = check;
    return { key, version: version === null ? null : (this.#versions.get(version) ?? version) };
  }

  #id(partition: string, key: string, id: string): string {
    return this.#ids.get(JSON.stringify([partition, key, id])) ?? id;
  }
}
