/**
 * Which shard of a board a user's entry is in: FNV-1a (Fowler, Noll, Vo; 32 bits) over the UTF-8 bytes of the user id,
 * modulo the number of shards.
 *
 * @module
 */

const offsetBasis = 0x811c9dc5;
const prime = 0x01000193;
const encoder = new TextEncoder();

/** The index of the user's shard among so many. */
export function shardOf(userId: string, shards: number): number {
  return shards === 1 ? 0 : fnv1a(userId) % shards;
}

/** The hash of a well-formed text, as an unsigned integer. */
export function fnv1a(text: string): number {
  let hash = offsetBasis;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit > 0x7f) return hashBytes(encoder.encode(text));
    hash = Math.imul(hash ^ unit, prime);
  }
  return hash >>> 0;
}

function hashBytes(bytes: Uint8Array): number {
  let hash = offsetBasis;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, prime);
  return hash >>> 0;
}
