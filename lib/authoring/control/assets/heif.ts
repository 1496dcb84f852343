/** The `meta` box of an AVIF or HEIC: the size of its picture, and where its metadata are (ISO/IEC 14496-12 and 23008-12). */

import type { Size } from "./byte_flow.ts";
import { ascii, uint } from "./bytes.ts";

/** A piece of metadata by its place in the file. A part is no block of its own: its item is stored in several. */
export interface Metadata {
  readonly start: number;
  readonly end: number;
  readonly format: "exif" | "xmp" | "part";
}

interface Box {
  readonly type: string;
  /** The box without its header. */
  readonly content: Uint8Array;
}

function boxesIn(bytes: Uint8Array): readonly Box[] {
  const boxes: Box[] = [];
  for (let at = 0; at + 8 <= bytes.length; ) {
    const size = uint(bytes, at, 4);
    const length = size === 1 ? uint(bytes, at + 8, 8) : size;
    if (length < 8) break;
    const content = bytes.subarray(at + (size === 1 ? 16 : 8), at + length);
    boxes.push({ type: ascii(bytes, at + 4, 4), content });
    at += length;
  }
  return boxes;
}

class Numbers {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#bytes.length;
  }

  next(length: number): number {
    this.#at += length;
    return uint(this.#bytes, this.#at - length, length);
  }
}

/** Reads a `meta` box that is at an offset of its file. Metadata come in the order of the file. */
export function readIndex(
  box: Uint8Array,
  offset: number,
): { readonly size: Size | null; readonly metadata: readonly Metadata[] } {
  const [meta] = boxesIn(box);
  const boxes = boxesIn(meta?.content.subarray(4) ?? box.subarray(0, 0));
  const contentOf = (type: string) => boxes.find(each => each.type === type)?.content ?? new Uint8Array(0);
  const placeOf = (content: Uint8Array): number => offset + content.byteOffset - box.byteOffset;
  const formats = formatsOf(contentOf("iinf"));
  const metadata = extentsOf(contentOf("iloc"), formats, placeOf(contentOf("idat")));
  return {
    size: sizeOf(contentOf("pitm"), contentOf("iprp")),
    metadata: metadata.toSorted((a, b) => a.start - b.start),
  };
}

function formatsOf(iinf: Uint8Array): ReadonlyMap<number, "exif" | "xmp"> {
  const formats = new Map<number, "exif" | "xmp">();
  for (const { type, content } of boxesIn(iinf.subarray(iinf[0] === 0 ? 6 : 8))) {
    const [version = 0] = content;
    if (type !== "infe" || version < 2) continue;
    const idBytes = version === 2 ? 2 : 4;
    const itemType = ascii(content, 4 + idBytes + 2, 4);
    const isXmp = itemType === "mime" && ascii(content, 4 + idBytes + 6, 200).includes("rdf+xml");
    if (itemType === "Exif" || isXmp) formats.set(uint(content, 4, idBytes), isXmp ? "xmp" : "exif");
  }
  return formats;
}

/** Returns where items are. Positions of what is within the `meta` box count from `idat`. */
function extentsOf(
  iloc: Uint8Array,
  formats: ReadonlyMap<number, "exif" | "xmp">,
  idat: number,
): readonly Metadata[] {
  const found: Metadata[] = [];
  const numbers = new Numbers(iloc);
  const version = numbers.next(1);
  numbers.next(3);
  const sizes = numbers.next(2);
  const [offsetBytes, lengthBytes, baseBytes] = [sizes >> 12, (sizes >> 8) & 15, (sizes >> 4) & 15];
  const indexBytes = version === 0 ? 0 : sizes & 15;
  for (let items = numbers.next(version < 2 ? 2 : 4); items > 0 && !numbers.isAtEnd; items--) {
    const format = formats.get(numbers.next(version < 2 ? 2 : 4));
    const isInside = version > 0 && (numbers.next(2) & 15) === 1;
    numbers.next(2);
    const base = numbers.next(baseBytes) + (isInside ? idat : 0);
    const extents = numbers.next(2);
    for (let left = extents; left > 0 && !numbers.isAtEnd; left--) {
      numbers.next(indexBytes);
      const start = base + numbers.next(offsetBytes);
      const length = numbers.next(lengthBytes) || Number.POSITIVE_INFINITY;
      if (format !== undefined)
        found.push({ start, end: start + length, format: extents === 1 ? format : "part" });
      // Without numbers of its own, every extent is the same.
      if (indexBytes + offsetBytes + lengthBytes === 0) break;
    }
  }
  return found;
}

/** Returns the size of the main picture, turned as it is shown. */
function sizeOf(pitm: Uint8Array, iprp: Uint8Array): Size | null {
  const main = uint(pitm, 4, pitm[0] === 0 ? 2 : 4);
  const boxes = boxesIn(iprp);
  const properties = boxesIn(boxes.find(({ type }) => type === "ipco")?.content ?? new Uint8Array(0));
  const own = boxes
    .filter(({ type }) => type === "ipma")
    .flatMap(({ content }) => propertiesOf(content, main).map(index => properties[index - 1]));
  const ispe = own.find(property => property?.type === "ispe")?.content;
  if (ispe === undefined) return null;
  const [width, height] = [uint(ispe, 4, 4), uint(ispe, 8, 4)];
  const quarters = own.find(property => property?.type === "irot")?.content[0] ?? 0;
  return quarters % 2 === 1 ? [height, width] : [width, height];
}

/** Returns the numbers of the properties of an item; they count from 1. */
function propertiesOf(ipma: Uint8Array, item: number): readonly number[] {
  const numbers = new Numbers(ipma);
  const version = numbers.next(1);
  const indexBytes = numbers.next(3) % 2 === 1 ? 2 : 1;
  for (let items = numbers.next(4); items > 0 && !numbers.isAtEnd; items--) {
    const id = numbers.next(version === 0 ? 2 : 4);
    const indexes = Array.from({ length: numbers.next(1) }, () => numbers.next(indexBytes));
    if (id === item) return indexes.map(index => index & (indexBytes === 2 ? 0x7fff : 0x7f));
  }
  return [];
}
