/** Texts that are longer than a record may be, in several records of one partition. */

import type { Partition, ReadRecord, Store, Write } from "../storage/mod.ts";
import { keyName } from "../storage/names.ts";

/** UTF-16 units of a part: at most three bytes each, within the largest record. */
const partUnits = 300_000;

/** Returns the writes that store a text, which `count` finds again. */
export function partWrites(
  kind: string,
  id: string,
  text: string,
  expireAt: number,
): { readonly writes: readonly Write[]; readonly count: number } {
  const writes: Write[] = [];
  for (let from = 0; from < text.length || writes.length === 0; ) {
    let end = Math.min(from + partUnits, text.length);
    // A part must not end between the surrogates of one character.
    if (end < text.length && (text.charCodeAt(end) & 0xfc00) === 0xdc00) end += 1;
    const key = keyName(kind, id, String(writes.length));
    writes.push({ type: "put", key, value: text.slice(from, end), expireAt });
    from = end;
  }
  return { writes, count: writes.length };
}

/** Reads a text; null if a part of it is gone. */
export async function readParts(
  store: Store,
  partition: Partition,
  kind: string,
  id: string,
  count: number,
): Promise<string | null> {
  const reads = keysOf(kind, id, count).map((key): ReadRecord => ({ type: "record", key }));
  const parts = await store.read(partition, reads);
  const texts = parts.map(part => part?.value);
  return texts.includes(undefined) ? null : texts.join("");
}

export function partRemovals(kind: string, id: string, count: number): readonly Write[] {
  return keysOf(kind, id, count).map(key => ({ type: "delete", shape: "record", key }));
}

function keysOf(kind: string, id: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => keyName(kind, id, String(index)));
}
