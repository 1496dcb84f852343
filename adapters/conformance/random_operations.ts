/** The operations of a random run: few names and small numbers, so that they keep meeting each other. */
import type { Batch, Check, Commit, Read, Write } from "../../lib/storage/contract.ts";
import { add, append, board, drop, log, put, record, score, standing, tally, unscore } from "./build.ts";
import type { TestClock } from "./harness.ts";
import type { Random } from "./random.ts";

/** Makes operations and remembers the versions and ids that earlier ones were answered. */
export interface Operations {
  partition(): string;
  batch(partition: string): Batch;
  queries(partition: string): Read[];
  /** Takes note of a successful commit, in the reference model's names. */
  learn(partition: string, batch: Batch, commit: Commit & { ok: true }): void;
}

const partitions = ["p", "{p}", "p:a"];
const keys = ["a", "b", "{a}"];
const names = ["x", "y", "z", "～", "😀", "__proto__"];
const scores = [-2, -0.5, 0, -0, 0.1, 0.2, 1, 2, 1e300, 1.7e308];
const ops = ["set", "min", "max", "add"] as const;
const shapes = ["record", "tally", "board", "log"] as const;

/** Creates the operations of one run. */
export function createOperations(random: Random, clock: TestClock): Operations {
  const { pick, integer, chance } = random;
  /** The newest versions of each record, then those before. */
  const versions = new Map<string, string[]>();
  /** The ids of each log since it was last deleted. */
  const ids = new Map<string, string[]>();

  function write(): Write {
    const key = pick(keys);
    const kind = integer(20);
    if (kind < 5) return put(key, `v${integer(5)}`, ...(chance(0.4) ? [clock.now() + integer(60) - 5] : []));
    if (kind < 7) return drop(chance(0.5) ? "record" : pick(shapes), key);
    if (kind < 11) return add(key, pick(names), integer(9) - 4, bounds());
    if (kind < 16) return score(key, pick(names), pick(scores), scoreOptions());
    if (kind < 17) return unscore(key, pick(names));
    return append(key, `v${integer(100)}`, clock.now() - integer(20), chance(0.7) ? 50 : 1 + integer(5));
  }

  function bounds(): { min?: number; max?: number } {
    return { ...(chance(0.3) ? { min: -8 } : {}), ...(chance(0.3) ? { max: 8 } : {}) };
  }

  function scoreOptions(): { op: (typeof ops)[number]; tie?: number; asOf?: number } {
    return {
      op: pick(ops),
      ...(chance(0.5) ? { tie: integer(4) } : {}),
      ...(chance(0.4) ? { asOf: integer(12) } : {}),
    };
  }

  function check(partition: string): Check {
    const key = pick(keys);
    const known = versions.get(JSON.stringify([partition, key])) ?? [];
    if (known.length === 0 || chance(0.3)) return { key, version: null };
    return { key, version: chance(0.8) ? (known[0] ?? null) : pick(known) };
  }

  function query(partition: string): Read {
    const key = pick(keys);
    switch (integer(6)) {
      case 0:
        return record(key);
      case 1:
        return chance(0.5) ? tally(key) : tally(key, [pick(names), pick(names)]);
      case 2:
        return standing(key, pick(names));
      case 3:
        return logQuery(partition, key);
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

  function logQuery(partition: string, key: string): Read {
    const known = ids.get(JSON.stringify([partition, key])) ?? [];
    return log(key, {
      limit: chance(0.5) ? integer(5) : 1_000,
      reverse: chance(0.5),
      ...(known.length > 0 && chance(0.5) ? { cursor: pick(known) } : {}),
      ...(chance(0.3) ? { from: clock.now() - integer(40) } : {}),
      ...(chance(0.3) ? { to: clock.now() - integer(40) } : {}),
    });
  }

  return {
    partition: () => pick(partitions),
    batch: partition => ({
      checks: chance(0.5) ? [] : Array.from({ length: 1 + integer(2) }, () => check(partition)),
      writes: Array.from({ length: integer(7) }, write),
    }),
    queries: partition => Array.from({ length: 1 + integer(6) }, () => query(partition)),
    learn(partition, { writes }, commit) {
      for (const [index, { type, key, ...rest }] of writes.entries()) {
        const name = JSON.stringify([partition, key]);
        if (type === "put") versions.set(name, [commit.version, ...(versions.get(name) ?? [])].slice(0, 4));
        if (type === "append")
          ids.set(name, [...(ids.get(name) ?? []), String(commit.results[index])].slice(-60));
        // The ids of a deleted log say nothing about the next one.
        if (type === "delete" && "shape" in rest && rest.shape === "log") ids.delete(name);
      }
    },
  };
}
