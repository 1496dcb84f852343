/**
 * Marks of transactions that were taken back, so that each is taken back once: kept by the time of the transaction, and as
 * long as anything of that time is in the history.
 *
 * @module
 */

import type { LogEntry, Partition, ReadLog, ReadRecord, Store, Stored, Write } from "../../storage/mod.ts";

/** Marks are kept together for so long a time of their transactions, in ms. */
export const reversedGenerationMs: number = 28 * 24 * 60 * 60 * 1_000;

/** Reads of which times there are marks. */
export const reversalGenerationsRead: ReadRecord = { type: "record", key: "reversed" };
const readOldest: ReadLog = { type: "log", key: "history", limit: 1 };

/** What {@linkcode reversalMarkWrites} needs to know. */
export const reversalMarkReads: readonly [ReadRecord, ReadLog] = [reversalGenerationsRead, readOldest];

/** Marks a transaction; the store refuses a second mark. Marks older than all of the history are removed. */
export function reversalMarkWrites(
  { id, recordAt }: { readonly id: string; readonly recordAt: number },
  [stored, history]: readonly [Stored | null, readonly LogEntry[]],
): readonly Write[] {
  const own = generationOf(recordAt);
  const oldest = generationOf(history[0]?.at ?? recordAt);
  const known = generationsOf(stored);
  const kept = [...new Set([...known, own])].filter(generation => generation >= oldest);
  const over = known.filter(generation => generation < oldest);
  const isSame = over.length === 0 && known.includes(own);
  return [
    { type: "add", key: keyOf(own), field: id, by: 1, max: 1 },
    ...over.map((generation): Write => ({ type: "delete", shape: "tally", key: keyOf(generation) })),
    ...(isSame
      ? []
      : [{ type: "put", key: reversalGenerationsRead.key, value: JSON.stringify(kept) } as const]),
  ];
}

/** What is looked for among the marks. */
export interface ReversalMarksQuery {
  /** The result of {@linkcode reversalGenerationsRead}. */
  readonly generations: Stored | null;
  /** Entries of the history. */
  readonly entries: readonly LogEntry[];
}

/** The ids of transactions that were taken back, those of the entries among them. Mostly none were, and then nothing is read. */
export async function readReversedIds(
  store: Store,
  partition: Partition,
  { generations, entries }: ReversalMarksQuery,
): Promise<ReadonlySet<string>> {
  const wanted = new Set(entries.map(({ at }) => generationOf(at)));
  const known = generationsOf(generations).filter(generation => wanted.has(generation));
  if (known.length === 0) return new Set();
  const tallies = await store.read(
    partition,
    known.map(generation => ({ type: "tally", key: keyOf(generation) }) as const),
  );
  return new Set(tallies.flatMap(tally => [...tally.keys()]));
}

function generationOf(at: number): number {
  return Math.floor(at / reversedGenerationMs);
}

function keyOf(generation: number): string {
  return `reversed:${generation}`;
}

function generationsOf(stored: Stored | null): readonly number[] {
  return stored === null ? [] : (JSON.parse(stored.value) as readonly number[]);
}
