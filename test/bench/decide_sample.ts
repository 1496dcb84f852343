/** One sample of `decide.ts`: 64 callers on one partition for a while; prints its measures as JSON. */
import { createMemoryStore } from "../../adapters/memory/mod.ts";
import { createRedisStore } from "../../adapters/redis/mod.ts";
import { decide, type Read, type Results, type Store } from "../../lib/storage/mod.ts";

/** Measures of one sample. */
export interface DecideSample {
  readonly perSecond: number;
  /** Processor time of this process per decision, in microseconds. */
  readonly cpuUs: number;
  /** Calls of the store per decision. */
  readonly trips: number;
}

const callers = 64;
const partition = "p:bench:counter";
const record = [{ type: "record", key: "n" }] as const;

/** The repeated work of each caller; each run must count up by one. */
const actions: Record<string, (store: Store) => Promise<void>> = {
  async "bare read, check, retry"(store) {
    for (;;) {
      const [found] = await store.read(partition, record);
      const value = String(Number(found?.value ?? 0) + 1);
      const checks = [{ key: "n", version: found?.version ?? null }];
      if ((await store.commit(partition, { checks, writes: [{ type: "put", key: "n", value }] })).ok) return;
    }
  },
  async "decide, read and write a record"(store) {
    await decide(store, partition, {
      reads: record,
      apply([found]) {
        const next = Number(found?.value ?? 0) + 1;
        return { writes: [{ type: "put", key: "n", value: String(next) }], answer: next };
      },
    });
  },
  async "bare guarded commit"(store) {
    await store.commit(partition, { writes: [{ type: "add", key: "t", field: "n", by: 1, min: 0 }] });
  },
  async "decide, guarded"(store) {
    await decide(store, partition, {
      reads: [],
      apply: () => ({
        writes: [{ type: "add", key: "t", field: "n", by: 1, min: 0 }],
        answer: null,
      }),
    });
  },
};

/** The variants in the order of the table. */
export const actionNames: readonly string[] = Object.keys(actions);

const [name = "", milliseconds = "", socket = ""] = process.argv.slice(2);
if (name !== "") console.log(JSON.stringify(await sample(name, Number(milliseconds), socket)));

async function sample(action: string, measureMs: number, socketPath: string): Promise<DecideSample> {
  const run = actions[action];
  if (run === undefined) throw new RangeError(`There is no variant ${action}`);
  await using store =
    socketPath === "" ? createMemoryStore() : createRedisStore({ server: `unix://${socketPath}` });
  const counted = counting(store);
  await all(run, counted.store, 300);
  const [cpu, calls, start] = [process.cpuUsage(), counted.calls(), performance.now()];
  const done = await all(run, counted.store, measureMs);
  const used = process.cpuUsage(cpu);
  return {
    perSecond: (done / (performance.now() - start)) * 1_000,
    cpuUs: (used.user + used.system) / done,
    trips: (counted.calls() - calls) / done,
  };
}

/** Lets every caller act until the time is over and answers how often they did. */
async function all(run: (store: Store) => Promise<void>, store: Store, ms: number): Promise<number> {
  const end = performance.now() + ms;
  let done = 0;
  async function caller(): Promise<void> {
    while (performance.now() < end) {
      await run(store);
      done += 1;
    }
  }
  await Promise.all(Array.from({ length: callers }, caller));
  return done;
}

function counting(store: Store): { store: Store; calls(): number } {
  let count = 0;
  return {
    calls: () => count,
    store: {
      traits: store.traits,
      read<const Q extends readonly Read[]>(at: string, queries: Q): Promise<Results<Q>> {
        count += 1;
        return store.read(at, queries);
      },
      commit(at, batch) {
        count += 1;
        return store.commit(at, batch);
      },
      ping: () => store.ping(),
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    },
  };
}
