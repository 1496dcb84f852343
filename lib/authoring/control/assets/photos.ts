/**
 * Photos on their way into the store: their size as it is shown, and their metadata without the position at which they were
 * taken.
 */

import { type AppError, invalidField } from "../../../base/errors/mod.ts";
import type { ByteFlow, Size, Walk } from "./byte_flow.ts";
import { ascii, crc32, uint } from "./bytes.ts";
import { type Metadata, readIndex } from "./heif.ts";
import { removeExifPosition, removeXmpPosition } from "./position.ts";

/** Most bytes of metadata in one piece: 4 MiB. */
const metadataBytesMax = 4_194_304;
const toTheEnd = Number.POSITIVE_INFINITY;

/** The ways through photos, which leave their position behind, by media type. */
export const photos: Readonly<Record<string, Walk>> = {
  "image/jpeg": walkJpeg,
  "image/png": walkPng,
  "image/webp": walkWebp,
  "image/avif": walkHeif,
  "image/heic": walkHeif,
};

/** Returns the size at which a picture is shown: from the fifth on, orientations lie on their side. */
function shown(size: Size | null, orientation: number | null): Size | null {
  const isTurned = orientation !== null && orientation >= 5 && orientation <= 8;
  return size !== null && isTurned ? [size[1], size[0]] : size;
}

async function held(flow: ByteFlow, count: number): Promise<Uint8Array> {
  if (count <= metadataBytesMax) return await flow.take(count);
  throw unclean(`Expected at most ${metadataBytesMax} bytes of metadata in one piece`);
}

function unclean(detail: string): AppError {
  return invalidField(
    "Cannot store the picture as its metadata cannot be searched for a position",
    "",
    `${detail}: save the picture without metadata`,
  );
}

const soi = 0xd8;
const eoi = 0xd9;

async function* walkJpeg(flow: ByteFlow): AsyncGenerator<Uint8Array, Size | null> {
  let size: Size | null = null;
  let orientation: number | null = null;
  for (let isBetween = false; ; ) {
    yield* passToMarker(flow, isBetween);
    const head = await flow.peek(9);
    const marker = head[1] ?? eoi;
    if (head.length < 4) break;
    if (marker === soi || marker === eoi) {
      // Cameras append further pictures, such as a preview.
      isBetween = marker === eoi;
      yield* flow.pass(2);
      continue;
    }
    const length = 2 + uint(head, 2, 2);
    if (marker === 0xe1) {
      const segment = await flow.take(length);
      if (ascii(segment, 4, 6) === "Exif\0\0") {
        const found = removeExifPosition(segment.subarray(4));
        if (size === null) orientation ??= found;
      } else if (ascii(segment, 4, 20) === "http://ns.adobe.com/") removeXmpPosition(segment.subarray(4));
      yield segment;
      continue;
    }
    const isFrame = marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker);
    if (isFrame && head.length === 9) size ??= [uint(head, 7, 2), uint(head, 5, 2)];
    yield* flow.pass(length);
  }
  yield* flow.pass(toTheEnd);
  return shown(size, orientation);
}

/** Passes a JPEG on up to the next marker that means something; `isBetween` two pictures, up to the next picture. */
async function* passToMarker(flow: ByteFlow, isBetween: boolean): AsyncGenerator<Uint8Array, void> {
  for (;;) {
    const ahead = await flow.available(2);
    if (ahead.length < 2) return;
    let at = ahead.indexOf(0xff);
    while (at !== -1 && at + 1 < ahead.length && !isMarker(ahead[at + 1] ?? 0, isBetween))
      at = ahead.indexOf(0xff, at + 1);
    if (at === 0) return;
    yield* flow.pass(at === -1 ? ahead.length : at);
  }
}

/** Behind 0xff, zero stands for 0xff itself, and 0xd0 to 0xd7 are marks within the data of the picture. */
function isMarker(marker: number, isBetween: boolean): boolean {
  if (isBetween) return marker === soi;
  return marker > 0x01 && marker !== 0xff && (marker < 0xd0 || marker > 0xd7);
}

/** Texts of a PNG with metadata of other formats. */
const pngProfiles = /^(?:XML:com\.adobe\.xmp|Raw profile type (?:exif|APP1|xmp))\0/i;
const keywordMax = 79;

async function* walkPng(flow: ByteFlow): AsyncGenerator<Uint8Array, Size | null> {
  yield* flow.pass(8);
  let size: Size | null = null;
  let orientation: number | null = null;
  for (;;) {
    const head = await flow.peek(8 + keywordMax + 1);
    if (head.length < 8) break;
    const length = uint(head, 0, 4);
    const type = ascii(head, 4, 4);
    const isProfile = /^[tiz][TX][EX][tT]/.test(type) && pngProfiles.test(ascii(head, 8, keywordMax + 1));
    if (type === "IHDR") size ??= [uint(head, 8, 4), uint(head, 12, 4)];
    if (type !== "eXIf" && !isProfile) {
      yield* flow.pass(12 + length);
      continue;
    }
    const chunk = await held(flow, 12 + length);
    const data = chunk.subarray(8, 8 + length);
    if (type === "eXIf") orientation ??= removeExifPosition(data);
    else if (type === "iTXt" && data[18] === 0) removeXmpPosition(data);
    else {
      // What is compressed cannot be changed in place: the chunk becomes an empty one, of a type that readers pass over.
      chunk.set([0x6e, 0x6f, 0x4f, 0x70], 4);
      data.fill(0);
    }
    if (chunk.length === 12 + length)
      new DataView(chunk.buffer).setUint32(8 + length, crc32(chunk.subarray(4, 8 + length)));
    yield chunk;
  }
  yield* flow.pass(toTheEnd);
  return shown(size, orientation);
}

async function* walkWebp(flow: ByteFlow): AsyncGenerator<Uint8Array, Size | null> {
  const size = webpSize(await flow.peek(30));
  let orientation: number | null = null;
  yield* flow.pass(12);
  for (;;) {
    const head = await flow.peek(8);
    if (head.length < 8) break;
    const length = uint(head, 4, 4, true);
    const type = ascii(head, 0, 4);
    if (type !== "EXIF" && type !== "XMP ") {
      yield* flow.pass(8 + length + (length % 2));
      continue;
    }
    const chunk = await held(flow, 8 + length + (length % 2));
    const data = chunk.subarray(8, 8 + length);
    if (type === "EXIF") orientation ??= removeExifPosition(data);
    else removeXmpPosition(data);
    yield chunk;
  }
  yield* flow.pass(toTheEnd);
  return shown(size, orientation);
}

function webpSize(head: Uint8Array): Size | null {
  const little = (at: number, length: number): number => uint(head, at, length, true);
  const form = ascii(head, 12, 4);
  if (form === "VP8X") return [little(24, 3) + 1, little(27, 3) + 1];
  if (form === "VP8 ") return [little(26, 2) & 0x3fff, little(28, 2) & 0x3fff];
  const bits = little(21, 4);
  return form === "VP8L" ? [(bits & 0x3fff) + 1, ((bits >>> 14) & 0x3fff) + 1] : null;
}

const piecesMax = 64;

/** The first `meta` box of an AVIF or HEIC says where its metadata are: within it or behind it. */
async function* walkHeif(flow: ByteFlow): AsyncGenerator<Uint8Array, Size | null> {
  for (let at = 0; ; ) {
    const head = await flow.peek(16);
    const short = uint(head, 0, 4);
    const length = short === 1 ? uint(head, 8, 8) : short || toTheEnd;
    if (head.length < 8 || length < 8) break;
    if (ascii(head, 4, 4) !== "meta") {
      yield* flow.pass(length);
      at += length;
      continue;
    }
    const box = await held(flow, length);
    const { size, metadata } = readIndex(box, at);
    const [begin, end] = [at, at + box.length];
    const isInside = (piece: Metadata): boolean => piece.start >= begin && piece.end <= end;
    for (const piece of metadata.filter(isInside))
      clean(box.subarray(piece.start - begin, piece.end - begin), piece.format);
    yield box;
    yield* cleanBehind(
      flow,
      end,
      metadata.filter(piece => !isInside(piece)),
    );
    yield* flow.pass(toTheEnd);
    return size;
  }
  yield* flow.pass(toTheEnd);
  return null;
}

async function* cleanBehind(
  flow: ByteFlow,
  begin: number,
  metadata: readonly Metadata[],
): AsyncGenerator<Uint8Array, void> {
  let at = begin;
  for (const { start, end, format } of metadata) {
    if (start < at || metadata.length > piecesMax)
      throw unclean("Expected metadata behind the box that says where they are");
    yield* flow.pass(start - at);
    const piece = await held(flow, end - start);
    if (piece.length === 0) return;
    clean(piece, format);
    yield piece;
    at = end;
  }
}

function clean(piece: Uint8Array, format: Metadata["format"]): void {
  if (format === "xmp") removeXmpPosition(piece);
  else if (format === "exif") removeExifPosition(piece.subarray(4 + uint(piece, 0, 4)));
  else piece.fill(0);
}
