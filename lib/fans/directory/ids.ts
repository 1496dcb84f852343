/**
 * Ids of authored records: UUIDs of version 8 (RFC 9562) that begin with the first 48 bits of the id of their owner, so that
 * an id leads to its partition without an index.
 *
 * @module
 */

/** Returns the first 48 bits of an id, as 12 hexadecimal digits. */
export function idPrefix(id: string): string {
  return id.slice(0, 8) + id.slice(9, 13);
}

/** Makes an id under an owner from 10 random bytes. */
export function childId(ownerId: string, random: Uint8Array): string {
  const hex = Array.from(random.subarray(0, 10), byte => byte.toString(16).padStart(2, "0")).join("");
  const variant = ((Number.parseInt(hex.slice(3, 4), 16) & 0x3) | 0x8).toString(16);
  return `${ownerId.slice(0, 13)}-8${hex.slice(0, 3)}-${variant}${hex.slice(4, 7)}-${hex.slice(7, 19)}`;
}

/** Returns true if the id may have been made by {@linkcode childId}. */
export function isChildId(id: string): boolean {
  return id.charAt(14) === "8";
}
