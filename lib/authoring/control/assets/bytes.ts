/** Numbers and texts in bytes. What lies behind the end reads as zero, or as a shorter text. */

/** Reads a number: the highest byte comes first, or the lowest where `isLittle`. */
export function uint(bytes: Uint8Array, at: number, length: number, isLittle = false): number {
  let value = 0;
  for (let index = 0; index < length; index++)
    value = value * 256 + (bytes[isLittle ? at + length - 1 - index : at + index] ?? 0);
  return value;
}

/** Reads a text, one character for a byte. */
export function ascii(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}

const crcTable = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

export function crc32(bytes: Uint8Array): number {
  let crc = 0xffffffff;
  for (const byte of bytes) crc = (crcTable[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}
