/**
 * Repairs the board of distinct scores from which dense ranks are counted: after a fault, or when a board that has entries
 * is declared dense.
 *
 * @module
 */

import {
  type BoardEntry,
  decide,
  type Partition,
  type Read,
  type ReadBoard,
  type ReadStanding,
  readPageAfter,
  type Store,
  type Write,
} from "../../../storage/mod.ts";
import { boardKey, distinctKey } from "./board_location.ts";
import { guardKey } from "./guarded_scores.ts";

const walkPageMax = 500;
/** Most scores that one decision repairs. */
const repairedScoresMax = 200;

/**
 * Reads all entries of a board, page by page. An entry that does not move meanwhile is read exactly once; one that moves may
 * be read twice or not at all.
 */
export async function* walkBoard(
  store: Store,
  partition: Partition,
  key: string,
): AsyncGenerator<readonly BoardEntry[], void, void> {
  for (let after: BoardEntry | null = null; ; ) {
    const query = { key, direction: "asc", after, limit: walkPageMax } as const;
    const { entries, isEnd } = await readPageAfter(store, partition, query);
    if (entries.length > 0) yield entries;
    if (isEnd) return;
    after = entries.at(-1) ?? after;
  }
}

/** Makes every score of an entry one member of the board of distinct scores, and removes all other members. */
export async function repairDistinctScores(store: Store, partition: Partition): Promise<void> {
  for await (const page of walkBoard(store, partition, boardKey)) {
    const scores = [...new Set(page.map(({ score }) => String(score)))];
    const reads = scores.map((member): ReadStanding => ({ type: "standing", key: distinctKey, member }));
    const found = await store.read(partition, reads);
    const missing = scores.filter((member, index) => found[index]?.score !== Number(member));
    await repair(store, partition, missing);
  }
  for await (const page of walkBoard(store, partition, distinctKey)) {
    const found = await store.read(
      partition,
      page.map(({ member }) => firstHolder(member)),
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

/** Decides for each text whether an entry has it as its score, and adds or removes the member. */
async function repair(store: Store, partition: Partition, members: readonly string[]): Promise<void> {
  for (let from = 0; from < members.length; from += repairedScoresMax) {
    const some = members.slice(from, from + repairedScoresMax);
    const reads: readonly Read[] = [{ type: "record", key: guardKey }, ...some.map(firstHolder)];
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

/** Reads one entry that has the score which a text stands for; a text that is no number stands for 0 here. */
function firstHolder(member: string): ReadBoard {
  const score = Number(member);
  const value = Number.isFinite(score) ? score : 0;
  return { type: "board", key: boardKey, min: value, max: value, limit: 1 };
}
