/**
 * Marks of reversed transactions, so that each is reversed once. They are kept in generations by the time of the transaction, for
 * as long as the history has records of that time.
 *
 * @module
 */

import type {
  LogEntry,
  Partition,
  ReadLog,
  ReadRecord,
  ReadTally,
  Store,
  Stored,
  Write,
} from "../../../storage/mod.ts";

/** Length of a generation, in ms. */
const generationMs: number = 28 * 24 * 60 * 60 * 1_000;

/** Reads the generations that have marks. */
export const reversalGenerationsRead: ReadRecord = { type: "record", key: "reversed" };
/** Reads the marks of transactions of a time. */
export function reversalMarksRead(recordAt: number): ReadTally {
  return { type: "tally", key: keyOf(generationOf(recordAt)) };
}

const readOldest: ReadLog = { type: "log", key: "history", limit: 1 };

/** The reads whose results {@linkcode reversalMarkWrites} takes. */
export const reversalMarkReads: readonly [ReadRecord, ReadLog] = [reversalGenerationsRead, readOldest];

/** Returns the writes that mark a transaction. The store refuses a second mark. Marks older than the history are removed. */
export function reversalMarkWrites(
  { id, recordAt }: { readonly id: string; readonly recordAt: number },
  [stored, history]: readonly [Stored | null, readonly LogEntry[]],
): readonly Write[] {
  const generation = generationOf(recordAt);
  const oldest = generationOf(history[0]?.at ?? recordAt);
  const marked = generationsOf(stored);
  const retained = [...new Set([...marked, generation])].filter(one => one >= oldest);
  const over = marked.filter(one => one < oldest);
  const isSame = over.length === 0 && marked.includes(generation);
  return [
    { type: "add", key: keyOf(generation), field: id, by: 1, max: 1 },
    ...over.map((one): Write => ({ type: "delete", shape: "tally", key: keyOf(one) })),
    ...(isSame
      ? []
      : [{ type: "put", key: reversalGenerationsRead.key, value: JSON.stringify(retained) } as const]),
  ];
}

/** Returns the keys of all marks. `generations` is the result of {@linkcode reversalGenerationsRead}. */
export function reversalMarkKeys(generations: Stored | null): readonly string[] {
  return generationsOf(generations).map(keyOf);
}

/**
 * Returns ids of reversed transactions, with at least those of the entries. Without any reversals it reads nothing.
 *
 * @param generations Result of {@linkcode reversalGenerationsRead}.
 */
export async function readReversedIds(
  store: Store,
  partition: Partition,
  generations: Stored | null,
  entries: readonly LogEntry[],
): Promise<ReadonlySet<string>> {
  const wanted = new Set(entries.map(({ at }) => generationOf(at)));
  const marked = generationsOf(generations).filter(generation => wanted.has(generation));
  if (marked.length === 0) return new Set();
  const tallies = await store.read(
    partition,
    marked.map(generation => ({ type: "tally", key: keyOf(generation) }) as const),
  );
  return new Set(tallies.flatMap(tally => [...tally.keys()]));
}

function generationOf(at: number): number {
  return Math.floor(at / generationMs);
}

function keyOf(generation: number): string {
  return `reversed:${generation}`;
}

function generationsOf(stored: Stored | null): readonly number[] {
  return stored === null ? [] : (JSON.parse(stored.value) as readonly number[]);
}
