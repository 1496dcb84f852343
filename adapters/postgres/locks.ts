/** Advisory locks, which order what changes one partition or one subject. */
import { createHash } from "node:crypto";
import { arrayOf } from "./arrays.ts";

interface Locked {
  readonly lock: bigint;
}

/** Returns the number of a lock. Two may share one: then they only wait for each other. */
export function lockOf(schema: string, name: string): bigint {
  return createHash("sha1").update(`${schema}\0${name}`).digest().readBigInt64BE();
}

/** Returns the locks of calls that share a transaction, as an array. All take them in one order, so that none waits for another in a circle. */
export function locksOf(calls: readonly Locked[]): string {
  return arrayOf([...new Set(calls.map(({ lock }) => lock))].sort((a, b) => (a < b ? -1 : 1)));
}

/** Returns the one of several lanes that calls under a lock always take, so that those of one process never wait for it. */
export function laneOf<T>(lanes: readonly T[], lock: bigint): T | undefined {
  return lanes[Number(BigInt.asUintN(32, lock)) % lanes.length];
}
