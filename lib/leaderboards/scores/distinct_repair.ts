/**
 * Bringing the distinct scores of a board with dense ranks in line with its entries: after a fault, or when a board that
 * has entries is declared dense.
 *
 * @module
 */

import {
  decide,
  type Partition,
  type Read,
  type ReadBoard,
  type ReadStanding,
  type Store,
  type Write,
} from "../../storage/mod.ts";
import { boardKey, distinctKey } from "./board_location.ts";
import { walkBoard } from "./board_walk.ts";
import { guardKey } from "./guarded_scores.ts";

/** Most scores that one decision puts right. */
export const repairedScoresMax = 200;

/** Makes every score that somebody has one member of the board of distinct scores, and removes all others. */
export async function repairDistinct(store: Store, partition: Partition): Promise<void> {
  for await (const page of walkBoard(store, { partition, key: boardKey })) {
    const scores = [...new Set(page.map(({ score }) => String(score)))];
    const found = await store.read(
      partition,
      scores.map((member): ReadStanding => ({ type: "standing", key: distinctKey, member })),
    );
    await repair(
      store,
      partition,
      scores.filter((member, index) => found[index]?.score !== Number(member)),
    );
  }
  for await (const page of walkBoard(store, { partition, key: distinctKey })) {
    const found = await store.read(
      partition,
      page.map(({ member }) => holdersOf(member)),
    );
    const wrong = page.filter(
      ({ member, score }, index) => found[index]?.entries.length !== 1 || String(score) !== member,
    );
    await repair(
      store,
      partition,
      wrong.map(({ member }) => member),
    );
  }
}

/** Decides for each text whether it is the score of somebody, and makes it a member or none. */
async function repair(store: Store, partition: Partition, members: readonly string[]): Promise<void> {
  for (let from = 0; from < members.length; from += repairedScoresMax) {
    const some = members.slice(from, from + repairedScoresMax);
    const reads: readonly Read[] = [{ type: "record", key: guardKey }, ...some.map(holdersOf)];
    await decide(store, partition, {
      reads,
      idempotent: true,
      apply: ([, ...ranges]) => {
        const writes = some.map((member, index): Write => {
          const range = ranges[index] as { readonly entries: readonly unknown[] };
          const isScore = Number.isFinite(Number(member)) && String(Number(member)) === member;
          const isHeld = isScore && range.entries.length > 0;
          if (!isHeld) return { type: "unscore", key: distinctKey, member };
          return { type: "score", op: "set", key: distinctKey, member, score: Number(member) };
        });
        return { writes: [{ type: "put", key: guardKey, value: "" }, ...writes], answer: undefined };
      },
    });
  }
}

/** One of those who have the score that a text stands for; nobody has one that is no number. */
function holdersOf(member: string): ReadBoard {
  const score = Number(member);
  const value = Number.isFinite(score) ? score : 0;
  return { type: "board", key: boardKey, min: value, max: value, limit: 1 };
}
