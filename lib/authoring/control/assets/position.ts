/**
 * Takes the position at which a photo was taken out of its metadata. Bytes are overwritten in place, so that a file keeps its length, and
 * everything in it its offset.
 */

import { ascii, uint } from "./bytes.ts";

/** Directories of one block that are looked into: that of the picture, that of its thumbnail, and some to spare. */
const directoriesMax = 8;
/** Most fields of a directory with a position; the standard knows 32. */
const positionFieldsMax = 64;
const fieldBytes = 12;
const orientationTag = 0x0112;
const positionTag = 0x8825;
/** Bytes of a value by the number of its type. */
const typeBytes = [0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8];

/** Reads a number at an offset of a block, in the order of its bytes. */
type Read = (at: number, length: number) => number;

/**
 * Removes the position from a block of Exif. A block that cannot be parsed becomes empty.
 *
 * @returns the orientation of the picture, 1 to 8; null where the block has none
 */
export function removeExifPosition(block: Uint8Array): number | null {
  const tiff = ascii(block, 0, 6) === "Exif\0\0" ? block.subarray(6) : block;
  const order = ascii(tiff, 0, 2);
  if (order !== "II" && order !== "MM") return null;
  const read: Read = (at, length) => uint(tiff, at, length, order === "II");
  let orientation: number | null = null;
  let at = read(4, 4);
  for (let index = 0; index < directoriesMax && at > 0 && at < tiff.length; index++) {
    const count = read(at, 2);
    const end = at + 2 + count * fieldBytes;
    const [first, ...others] = fieldsOf(at, Math.min(count, tiff.length), positionTag, read);
    if (index === 0) {
      const [field] = fieldsOf(at, Math.min(count, tiff.length), orientationTag, read);
      orientation = field === undefined ? null : read(field + 8, 2);
    }
    if (first === undefined) {
      at = read(end, 4);
      continue;
    }
    const isUnderstood = others.length === 0 && end <= tiff.length && clear(tiff, read(first + 8, 4), read);
    if (!isUnderstood) {
      block.fill(0);
      return null;
    }
    // The link to the next directory follows the last field, so it moves too.
    tiff.copyWithin(first, first + fieldBytes, end + 4);
    tiff.fill(0, end + 4 - fieldBytes, end + 4);
    const left = count - 1;
    tiff.set(order === "II" ? [left & 0xff, left >> 8] : [left >> 8, left & 0xff], at);
    at = read(end - fieldBytes, 4);
  }
  return orientation;
}

function fieldsOf(directory: number, count: number, tag: number, read: Read): readonly number[] {
  const fields = Array.from({ length: count }, (_, index) => directory + 2 + index * fieldBytes);
  return fields.filter(field => read(field, 2) === tag);
}

/** Overwrites a directory and its values by zeros. Returns false if it is none. */
function clear(tiff: Uint8Array, directory: number, read: Read): boolean {
  const count = read(directory, 2);
  const end = directory + 2 + count * fieldBytes;
  if (directory < 8 || count > positionFieldsMax || end > tiff.length) return false;
  for (let field = directory + 2; field < end; field += fieldBytes) {
    const bytes = read(field + 4, 4) * (typeBytes[read(field + 2, 2)] ?? 0);
    const value = read(field + 8, 4);
    if (bytes <= 4) continue;
    if (value < 8 || value + bytes > tiff.length) return false;
    tiff.fill(0, value, value + bytes);
  }
  tiff.fill(0, directory, end + 4);
  return true;
}

const positionName = /gps|latitude|longitude/i;

/** Removes the properties of a position from XMP: attributes and elements become spaces. */
export function removeXmpPosition(xmp: Uint8Array): void {
  // One character for a byte, as names are in ASCII.
  const text = new TextDecoder("latin1").decode(xmp);
  if (!positionName.test(text)) return;
  const hide = (start: number, length: number) => xmp.fill(0x20, start, start + length);
  const attributes = /(?<![\w:.-])([\w:.-]+)\s*=\s*(?:"[^"]*"|'[^']*')/g;
  for (const { 0: attribute, 1: name = "", index } of text.matchAll(attributes))
    if (positionName.test(name) && !name.startsWith("xmlns")) hide(index, attribute.length);
  let hidden: string | null = null;
  for (const { 0: part, index } of text.matchAll(/<[^<>]*>?|[^<]+/g)) {
    const [, closing = "", name = ""] = /^<(\/?)([\w:.-]+)/.exec(part) ?? [];
    const isBegin = hidden === null && closing === "" && positionName.test(name);
    if (!isBegin && hidden === null) continue;
    hide(index, part.length);
    if (isBegin && !part.endsWith("/>")) hidden = name;
    else if (closing !== "" && name === hidden) hidden = null;
  }
}
