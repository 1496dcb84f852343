/**
 * Walks from shard to shard: one at a time while shards are full, several concurrently while they have few candidates.
 *
 * @module
 */

import { userShards } from "../../users/mod.ts";

/** Most shards that are read concurrently. */
const concurrentShardsMax = 16;

/** A user who may match. */
export interface Candidate {
  readonly userId: string;
  /** The time of creation, Unix ms; null if the walk does not read it. */
  readonly createdAt: number | null;
  readonly nth: number;
}

/** A part of a walk. It may be empty although more follow. */
interface WalkPart {
  readonly candidates: readonly Candidate[];
  /** The position after the part; null at the end of the walk. */
  readonly position: string | null;
  positionAfter(candidate: Candidate): string;
}

export interface Walk {
  /** Returns the next candidates, at most `count`. */
  next(count: number): Promise<WalkPart>;
}

export interface ShardWalk<E> {
  /** Loads up to `limit` entries of a shard after one; null: from its beginning. */
  load(
    shard: number,
    after: E | null,
    limit: number,
  ): Promise<{ readonly entries: readonly E[]; readonly isEnd: boolean }>;
  candidate(entry: E, nth: number): Candidate;
  print(shard: number, after: E | null): string;
}

/** Walks on from an entry of a shard to the end of the last shard. */
export function walkShards<E>(
  from: { readonly shard: number; readonly after: E | null },
  { load, candidate, print }: ShardWalk<E>,
): Walk {
  let { shard, after } = from;
  let width = 1;
  return {
    async next(count) {
      const first = shard;
      const parts = await Promise.all(
        Array.from({ length: Math.min(width, userShards - first) }, (_, offset) =>
          load(first + offset, offset === 0 ? after : null, count),
        ),
      );
      const candidates: Candidate[] = [];
      const taken: { readonly shard: number; readonly entries: readonly E[]; readonly from: number }[] = [];
      let isFull = false;
      for (const [offset, { entries, isEnd }] of parts.entries()) {
        const here = first + offset;
        const fitting = entries.slice(0, count - candidates.length);
        taken.push({ shard: here, entries: fitting, from: candidates.length });
        for (const entry of fitting) candidates.push(candidate(entry, candidates.length));
        isFull = !isEnd || fitting.length < entries.length;
        shard = isFull ? here : here + 1;
        after = isFull ? (fitting.at(-1) ?? (offset === 0 ? after : null)) : null;
        if (isFull) break;
      }
      width = isFull ? Math.max(1, Math.floor(width / 2)) : Math.min(concurrentShardsMax, 2 * width);
      return {
        candidates,
        position: shard >= userShards ? null : print(shard, after),
        positionAfter({ nth }) {
          const part = taken.findLast(({ from }) => from <= nth);
          return print(part?.shard ?? first, part?.entries[nth - part.from] ?? null);
        },
      };
    },
  };
}
