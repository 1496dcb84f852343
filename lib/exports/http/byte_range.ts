/**
 * Ranges of bytes (RFC 9110, section 14), one at a time.
 *
 * @module
 */

/** Bytes to send, both inclusive. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Longest field value that is looked at, in characters. */
export const rangeCharactersMax = 64;

/**
 * What a `Range` field asks for of `size` bytes: a range, `unsatisfiable`, or null for everything. Several ranges, other units
 * and what is malformed count as no field at all, as section 14.2 allows.
 */
export function byteRange(field: string | null, size: number): ByteRange | "unsatisfiable" | null {
  if (field === null || field.length > rangeCharactersMax) return null;
  const [, from, to] = /^bytes=[\t ]*(\d*)-(\d*)[\t ]*$/i.exec(field) ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return null;
  if (from === "") {
    const length = Math.min(Number(to), size);
    return length === 0 ? "unsatisfiable" : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  const last = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== "" && Number(to) < first) return null;
  return first >= size ? "unsatisfiable" : { first, last };
}

/** Whether an `If-Range` field lets the range count: it names this very entity, strongly. Dates never do. */
export function rangeStillCounts(field: string | null, etag: string): boolean {
  return field === null || field === etag;
}
