import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createRandom, type Random } from "../../../adapters/conformance/random.ts";
import { ReferenceModel, ReferenceStore } from "../../../adapters/conformance/reference.ts";
import {
  type Decision,
  decide,
  type Read,
  type Rule,
  type Store,
  type Write,
} from "../../../lib/storage/mod.ts";
import { ProbeStore } from "../../support/probe_store.ts";
import { home, increment } from "./_rules.ts";

const keys = ["a", "b", "c"];
const everything: readonly Read[] = keys.flatMap(key => [
  { type: "record", key },
  { type: "tally", key },
  { type: "board", key, limit: 100 },
  { type: "log", key, limit: 100 },
]);

/** Returns a result without versions, which differ between one commit and many. */
function visible(result: unknown): string {
  return JSON.stringify(result, (name, value) => {
    if (name === "version") return undefined;
    return value instanceof Map ? [...value].sort() : value;
  });
}

/** A rule whose writes and answer depend on all it reads. */
function randomRule(random: Random): Rule<readonly Read[], string> {
  const reads = Array.from({ length: random.integer(3) }, () => randomRead(random));
  const writes = Array.from({ length: random.integer(4) }, () => randomWrite(random));
  const throws = random.chance(0.1);
  return {
    reads,
    apply(state): Decision<string> {
      const seen = state.map(visible).join();
      if (throws) throw new RangeError(`threw on ${seen}`);
      return {
        writes: writes.map(write =>
          write.type === "put" ? { ...write, value: `${write.value} ${seen.length}` } : write,
        ),
        answer: ({ results }) => `${seen} → ${JSON.stringify(results)}`,
        refused: key => `refused ${key}`,
      };
    },
  };
}

function randomRead(random: Random): Read {
  const key = random.pick(keys);
  const kind = random.integer(8);
  if (kind < 3) return { type: "record", key };
  if (kind < 5) return { type: "tally", key };
  if (kind < 6) return { type: "board", key, limit: 3 };
  if (kind < 7) return random.pick(placeReads(key));
  return { type: "log", key, limit: 3 };
}

function placeReads(key: string): Read[] {
  return [
    { type: "standing", key, member: "m" },
    { type: "standing", key, member: "m", position: true },
    { type: "before", key, score: 1, tie: 0, member: "n" },
  ];
}

function randomWrite(random: Random): Write {
  const key = random.pick(keys);
  const kind = random.integer(12);
  if (kind < 3)
    return {
      type: "put",
      key,
      value: "v",
      ...(random.chance(0.2) ? { expireAt: random.pick([1, 2e15]) } : {}),
    };
  if (kind < 8)
    return { type: "add", key, field: random.pick(["x", "y"]), by: random.integer(5) - 2, min: -3, max: 3 };
  if (kind < 9)
    return {
      type: "score",
      op: "add",
      key,
      member: random.pick(["m", "n"]),
      score: random.pick([1, 1.7e308]),
    };
  if (kind < 10) return { type: "append", key, value: "e", at: 5, maxLength: 5 };
  return { type: "delete", key, shape: random.pick(["record", "tally", "board", "log"]) };
}

function settled(results: readonly PromiseSettledResult<string>[]): string[] {
  return results.map(result => (result.status === "fulfilled" ? result.value : String(result.reason)));
}

describe("folded decisions", () => {
  it("answer and write exactly what the same decisions do one after the other", async () => {
    let folded = 0;
    for (let seed = 1; seed <= 150; seed++) {
      const random = createRandom(seed);
      const [together, apart] = [new ProbeStore(), new ProbeStore()];
      const rules = Array.from({ length: 30 }, () => randomRule(random));
      const answers = settled(await Promise.allSettled(rules.map(rule => decide(together, home, rule))));
      const expected: string[] = [];
      for (const rule of rules)
        expected.push(...settled(await Promise.allSettled([decide(apart, home, rule)])));
      assert.deepEqual(answers, expected, `seed ${seed}`);
      assert.equal(
        visible(await together.other.read(home, everything)),
        visible(await apart.other.read(home, everything)),
        `seed ${seed}`,
      );
      folded += apart.commits.length - together.commits.length;
    }
    assert.ok(folded > 500, `folding saved only ${folded} commits`);
  });

  it("lose nothing and double nothing beside other processes on the same data", async () => {
    const model = new ReferenceModel(() => 1);
    const random = createRandom(3);
    const stores = Array.from({ length: 4 }, () => new Delayed(new ReferenceStore(model), random));
    const each = 150;
    const answers = await Promise.all(
      stores.flatMap(store => Array.from({ length: each }, () => decide(store, home, increment()))),
    );
    assert.deepEqual(
      answers.toSorted((a, b) => a - b),
      Array.from({ length: 4 * each }, (_, index) => index + 1),
    );
  });
});

/** A handle on shared data whose calls take a random number of turns. */
class Delayed implements Store {
  readonly traits;
  readonly #inner: Store;
  readonly #random: Random;

  constructor(inner: Store, random: Random) {
    this.traits = inner.traits;
    this.#inner = inner;
    this.#random = random;
  }

  read: Store["read"] = async (partition, queries) => {
    await this.#turns();
    return await this.#inner.read(partition, queries);
  };

  commit: Store["commit"] = async (partition, batch) => {
    await this.#turns();
    const commit = await this.#inner.commit(partition, batch);
    await this.#turns();
    return commit;
  };

  ping(): Promise<void> {
    return this.#inner.ping();
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  async #turns(): Promise<void> {
    for (let turn = this.#random.integer(4); turn > 0; turn--) await new Promise(setImmediate);
  }
}
