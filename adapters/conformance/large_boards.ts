/** Tests of boards that are large enough for an adapter to count them in parts. */
import type { Store } from "../../lib/storage/contract.ts";
import {
  around,
  before,
  board,
  type Cases,
  drop,
  equal,
  home,
  members,
  must,
  type StoreCase,
  score,
  standing,
  unscore,
} from "./harness.ts";
import { createRandom } from "./random.ts";

const size = 20_000;
/** Members that share a score, about. */
const shared = 4;
const pageSize = 1_000;

export const largeBoardCases: Cases<StoreCase> = {
  async "a board of 20,000 is counted exactly while it grows, moves, shrinks and is deleted"({ store }) {
    const random = createRandom(7);
    const scores = new Map<string, number>();
    const names = Array.from({ length: size }, (_, index) => `m${String(index).padStart(5, "0")}`);
    const randomScore = (): number => random.integer(size / shared);
    for (const name of names) scores.set(name, randomScore());
    await setScores(store, scores, names);
    await requireExact(store, scores);

    // A part that becomes crowded, and one that becomes empty.
    const moved = names.filter((_, index) => index % 10 === 0);
    for (const name of moved) scores.set(name, size);
    const left = names.filter(name => (scores.get(name) ?? 0) < size / shared / 2);
    for (const name of left) scores.delete(name);
    await setScores(
      store,
      scores,
      moved.filter(name => scores.has(name)),
    );
    await inBatches(store, left, name => unscore("b", name));
    await requireExact(store, scores);

    for (const name of left) scores.set(name, randomScore());
    await setScores(store, scores, left);
    await requireExact(store, scores);
    const ordered = order(scores);
    for (let offset = 0; offset < size; offset += pageSize) {
      const expected = ordered.slice(offset, offset + pageSize).map(([name]) => name);
      equal(await members(store, board("b", { offset, limit: pageSize })), expected, `from ${offset}`);
    }

    await must(store, drop("board", "b"), score("b", "new", 5));
    equal(await store.read(home, [board("b"), standing("b", "m00007"), before("b", 9)]), [
      { entries: [{ member: "new", score: 5, tie: 0 }], size: 1 },
      null,
      1,
    ]);
  },
};

async function inBatches(
  store: Store,
  names: readonly string[],
  write: (name: string) => Parameters<typeof must>[1],
): Promise<void> {
  const { maxWrites } = store.traits;
  for (let from = 0; from < names.length; from += maxWrites) {
    await must(store, ...names.slice(from, from + maxWrites).map(write));
  }
}

async function setScores(
  store: Store,
  scores: ReadonlyMap<string, number>,
  names: readonly string[],
): Promise<void> {
  await inBatches(store, names, name => score("b", name, scores.get(name) ?? 0));
}

function order(scores: ReadonlyMap<string, number>): [member: string, score: number][] {
  return [...scores].sort(([a, x], [b, y]) => x - y || (a < b ? -1 : 1));
}

/** Expects ranks, windows and pages, near and far, to be those of the scores. */
async function requireExact(store: Store, scores: ReadonlyMap<string, number>): Promise<void> {
  const ordered = order(scores);
  const last = ordered.length - 1;
  const points = [0, 1, last >> 2, last >> 1, (last * 3) >> 2, last - 1, last];
  const queries = points.flatMap(index => {
    const [member = "", value = 0] = ordered[index] ?? [];
    return [
      standing("b", member, { position: true }),
      before("b", value + 0.5),
      board("b", { offset: index, limit: 5 }),
      board("b", { offset: last - index, limit: 5, reverse: true }),
      around("b", member, 3),
    ];
  });
  const below = (value: number): number => ordered.findIndex(([, other]) => other >= value);
  const range = (from: number, to: number): unknown => ({
    entries: ordered.slice(from, to).map(([member, value]) => ({ member, score: value, tie: 0 })),
    size: ordered.length,
  });
  const expected = points.flatMap((index): unknown[] => {
    const value = ordered[index]?.[1] ?? 0;
    const above = below(value + 0.5);
    const first = Math.max(0, Math.min(index - 1, last - 2));
    const back = range(Math.max(0, index - 4), index + 1) as { entries: unknown[] };
    return [
      { score: value, tie: 0, below: below(value), position: index },
      above === -1 ? ordered.length : above,
      range(index, index + 5),
      { ...back, entries: back.entries.toReversed() },
      { ...(range(first, first + 3) as object), offset: first, below: below(ordered[first]?.[1] ?? 0) },
    ];
  });
  equal(await store.read(home, queries), expected);
}
