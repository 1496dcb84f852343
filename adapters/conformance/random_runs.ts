/**
 * Random runs: thousands of seeded operations, each result compared with the reference model's.
 *
 * Versions and log ids are opaque, so the two implementations may choose different ones. The first pair of corresponding
 * values is recorded, and must correspond in all later results.
 */

import type {
  Batch,
  Check,
  Commit,
  LogEntry,
  Read,
  Store,
  Stored,
  Write,
} from "../../lib/storage/contract.ts";
import {
  add,
  append,
  around,
  before,
  board,
  type Cases,
  ConformanceError,
  drop,
  equal,
  log,
  ok,
  put,
  record,
  type StoreCase,
  score,
  show,
  standing,
  type TestClock,
  tally,
  unscore,
} from "./harness.ts";
import { createRandom, type Random } from "./random.ts";
import { ReferenceModel } from "./reference.ts";

const stepsPerRun = 2_500;

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
  readonly #versions = new Map<string, string>();
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

const partitions = ["p", "{p}", "p:a"];
const keys = ["a", "b", "{a}"];
const names = ["x", "y", "z", "～", "😀", "__proto__"];
const scores = [-2, -0.5, 0, -0, 0.1, 0.2, 1, 2, 1e300, 1.7e308];
const ops = ["set", "min", "max", "add"] as const;
const shapes = ["record", "tally", "board", "log"] as const;

export function createOperations(random: Random, clock: TestClock): RandomOperations {
  return new RandomOperations(random, clock);
}

/** Creates operations, and remembers the versions and ids that the reference model gave to earlier ones. */
class RandomOperations {
  readonly #random: Random;
  readonly #clock: TestClock;
  readonly #versions = new Map<string, string[]>();
  /** The ids of each log since it was last deleted. */
  readonly #ids = new Map<string, string[]>();

  constructor(random: Random, clock: TestClock) {
    this.#random = random;
    this.#clock = clock;
  }

  partition(): string {
    return this.#random.pick(partitions);
  }

  /** Checks, of which most hold, and up to six writes. */
  batch(partition: string): Batch {
    const { chance, integer } = this.#random;
    return {
      checks: chance(0.5) ? [] : Array.from({ length: 1 + integer(2) }, () => this.#check(partition)),
      writes: Array.from({ length: integer(7) }, () => this.#write()),
    };
  }

  queries(partition: string): Read[] {
    return Array.from({ length: 1 + this.#random.integer(6) }, () => this.#query(partition));
  }

  learn(partition: string, { writes }: Batch, commit: Commit & { ok: true }): void {
    for (const [index, write] of writes.entries()) {
      const name = JSON.stringify([partition, write.key]);
      if (write.type === "put") {
        this.#versions.set(name, [commit.version, ...(this.#versions.get(name) ?? [])].slice(0, 4));
      } else if (write.type === "append") {
        this.#ids.set(name, [...(this.#ids.get(name) ?? []), String(commit.results[index])].slice(-60));
      } else if (write.type === "delete" && write.shape === "log") {
        // The ids of a deleted log say nothing about the next one.
        this.#ids.delete(name);
      }
    }
  }

  #write(): Write {
    const { pick, integer, chance } = this.#random;
    const now = this.#clock.now();
    const key = pick(keys);
    const kind = integer(20);
    if (kind < 5) return put(key, `v${integer(5)}`, ...(chance(0.4) ? [now + integer(60) - 5] : []));
    if (kind < 7) return drop(chance(0.5) ? "record" : pick(shapes), key);
    if (kind < 11) return add(key, pick(names), integer(9) - 4, this.#bounds());
    if (kind < 16) return score(key, pick(names), pick(scores), this.#scoreOptions());
    if (kind < 17) return unscore(key, pick(names));
    return append(key, `v${integer(100)}`, now - integer(20), chance(0.7) ? 50 : 1 + integer(5));
  }

  #bounds(): { min?: number; max?: number } {
    const { chance } = this.#random;
    return { ...(chance(0.3) ? { min: -8 } : {}), ...(chance(0.3) ? { max: 8 } : {}) };
  }

  #scoreOptions(): { op: (typeof ops)[number]; tie?: number; asOf?: number } {
    const { pick, integer, chance } = this.#random;
    return {
      op: pick(ops),
      ...(chance(0.5) ? { tie: integer(4) } : {}),
      ...(chance(0.4) ? { asOf: integer(12) } : {}),
    };
  }

  #check(partition: string): Check {
    const { pick, chance } = this.#random;
    const key = pick(keys);
    if (chance(0.25)) return { key, absent: pick(names) };
    const versions = this.#versions.get(JSON.stringify([partition, key])) ?? [];
    if (versions.length === 0 || chance(0.3)) return { key, version: null };
    return { key, version: chance(0.8) ? (versions[0] ?? null) : pick(versions) };
  }

  #query(partition: string): Read {
    const { pick, integer, chance } = this.#random;
    const key = pick(keys);
    switch (integer(8)) {
      case 0:
      case 1:
        return record(key);
      case 2:
        return chance(0.5) ? tally(key) : tally(key, [pick(names), pick(names)]);
      case 3:
        if (chance(0.5)) return around(key, pick(names), 1 + integer(7));
        return standing(key, pick(names), chance(0.5) ? { position: true } : {});
      case 4:
        return this.#beforeQuery(key);
      case 5:
        return this.#logQuery(partition, key);
      default:
        return board(key, {
          limit: integer(8),
          reverse: chance(0.5),
          ...(chance(0.4) ? { offset: integer(5) } : {}),
          ...(chance(0.4) ? { min: pick(scores) } : {}),
          ...(chance(0.4) ? { max: pick(scores) } : {}),
        });
    }
  }

  #beforeQuery(key: string): Read {
    const { pick, integer, chance } = this.#random;
    return before(key, pick([...scores, Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY]), {
      ...(chance(0.5) ? { tie: integer(4) } : {}),
      ...(chance(0.5) ? { member: pick(names) } : {}),
    });
  }

  #logQuery(partition: string, key: string): Read {
    const { pick, integer, chance } = this.#random;
    const ids = this.#ids.get(JSON.stringify([partition, key])) ?? [];
    return log(key, {
      limit: chance(0.5) ? integer(5) : 1_000,
      reverse: chance(0.5),
      ...(ids.length > 0 && chance(0.5) ? { cursor: pick(ids) } : {}),
      ...(chance(0.3) ? { from: this.#clock.now() - integer(40) } : {}),
      ...(chance(0.3) ? { to: this.#clock.now() - integer(40) } : {}),
    });
  }
}
