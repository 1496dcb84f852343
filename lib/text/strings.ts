const utf8 = new TextEncoder();
const fnvOffset = 0x811c9dc5;
const fnvPrime = 0x01000193;
const firstBeyondAscii = 0x80;

/**
 * Spreads names evenly over a number of shards, the same on every runtime and for ever: FNV-1a (Fowler, Noll, Vo; 32 bits)
 * over the UTF-8 bytes of the name, modulo the number of shards.
 */
export function shardOf(name: string, shards: number): number {
  if (shards === 1) return 0;
  let hash = fnvOffset;
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    // Most ids are ASCII, whose units are the bytes already.
    if (unit >= firstBeyondAscii) return hashOf(utf8.encode(name)) % shards;
    hash = Math.imul(hash ^ unit, fnvPrime);
  }
  return (hash >>> 0) % shards;
}

function hashOf(bytes: Uint8Array): number {
  let hash = fnvOffset;
  for (const byte of bytes) hash = Math.imul(hash ^ byte, fnvPrime);
  return hash >>> 0;
}

/**
 * Returns the same text in one piece of memory. V8 keeps what `JSON.stringify` or joining made as a tree of pieces until
 * a character is read: half as large again, and copied piece by piece by garbage collection.
 */
export function flattenString(text: string): string {
  // Reading a character joins the pieces. The result depends on it, or the compiler could drop the read.
  return Number.isNaN(text.charCodeAt(0)) ? "" : text;
}
