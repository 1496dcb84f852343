/**
 * Going from shard to shard: one at a time where shards are full, several side by side where there is little in each.
 *
 * @module
 */

import { userShards } from "../../users/mod.ts";

/** Most shards that are read side by side. */
export const shardLanesMax = 16;

/** Somebody who may fit. */
export interface Candidate {
  readonly userId: string;
  /** When the user came, Unix ms; null where the walk does not know. */
  readonly createdAt: number | null;
  /** Which one it is of those whom the walk met in this part. */
  readonly nth: number;
}

/** A part of a walk. It may be empty although there are more. */
export interface WalkPart {
  readonly candidates: readonly Candidate[];
  /** Where the walk goes on after the part; null: that was all. */
  readonly place: string | null;
  /** Where the walk goes on after one of the candidates. */
  placeAfter(candidate: Candidate): string;
}

/** Candidates, part by part. */
export interface Walk {
  /** The next candidates, at most so many. */
  next(count: number): Promise<WalkPart>;
}

/** How the entries of a shard become candidates. */
export interface ShardWalk<E> {
  /** Up to so many entries of a shard after one; null: from its beginning. */
  load(
    shard: number,
    after: E | null,
    limit: number,
  ): Promise<{ readonly entries: readonly E[]; readonly isEnd: boolean }>;
  /** What an entry tells of its user. */
  candidate(entry: E, nth: number): Candidate;
  /** The text of a place. */
  print(shard: number, after: E | null): string;
}

/** Walks on from an entry of a shard to the end of the last one. */
export function walkShards<E>(
  from: { readonly shard: number; readonly after: E | null },
  { load, candidate, print }: ShardWalk<E>,
): Walk {
  let { shard, after } = from;
  let lanes = 1;
  return {
    async next(count) {
      const first = shard;
      const width = Math.min(lanes, userShards - first);
      const parts = await Promise.all(
        Array.from({ length: width }, (_, lane) => load(first + lane, lane === 0 ? after : null, count)),
      );
      const candidates: Candidate[] = [];
      const met: { readonly shard: number; readonly entries: readonly E[]; readonly from: number }[] = [];
      let isFull = false;
      for (const [lane, { entries, isEnd }] of parts.entries()) {
        const here = first + lane;
        const taken = entries.slice(0, count - candidates.length);
        met.push({ shard: here, entries: taken, from: candidates.length });
        for (const entry of taken) candidates.push(candidate(entry, candidates.length));
        isFull = !isEnd || taken.length < entries.length;
        shard = isFull ? here : here + 1;
        after = isFull ? (taken.at(-1) ?? (lane === 0 ? after : null)) : null;
        if (isFull) break;
      }
      lanes = isFull ? Math.max(1, Math.floor(lanes / 2)) : Math.min(shardLanesMax, 2 * lanes);
      return {
        candidates,
        place: shard >= userShards ? null : print(shard, after),
        placeAfter({ nth }) {
          const lane = met.findLast(({ from }) => from <= nth);
          return print(lane?.shard ?? first, lane?.entries[nth - lane.from] ?? null);
        },
      };
    },
  };
}
