/** Parameters that are arrays, and rows. Bytes go in PostgreSQL's binary format: as text they would be twice as long. */

/** Rows of an answer: each column as the text that the server sent, or null. */
export type Rows = readonly (readonly (string | null)[])[];

const byteaOid = 17;

/** Returns texts as a `bytea[]`. */
export function byteaArray(texts: readonly (string | null)[]): Buffer {
  let size = 20;
  for (const text of texts) size += 4 + (text === null ? 0 : Buffer.byteLength(text));
  const array = Buffer.allocUnsafe(size);
  let end = 0;
  // One dimension, which may have nulls, of so many elements from 1.
  for (const head of [1, 1, byteaOid, texts.length, 1]) end = array.writeInt32BE(head, end);
  for (const text of texts) {
    const length = text === null ? -1 : array.write(text, end + 4);
    array.writeInt32BE(length, end);
    end += 4 + Math.max(0, length);
  }
  return array;
}

/** Returns numbers, or texts without special characters, as an array; nothing is null. */
export function arrayOf(values: readonly (number | bigint | string | null | undefined)[]): string {
  return `{${values.map(value => value ?? "null").join(",")}}`;
}
