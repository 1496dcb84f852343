/**
 * Checks the search tree and the values of a MaxMind DB file (file format 2.0) without decoding them.
 *
 * The decoder that reads the values later checks no bounds and follows every pointer, so a damaged or hostile file could
 * make it loop or fill the memory. Values that pass these checks decode within the bounds below.
 */

import type { Buffer } from "node:buffer";
import type { Reader, Response } from "mmdb-lib";

/** A file that cannot serve as a country database; the message says why. */
export class UnusableDatabaseError extends Error {
  override readonly name = "UnusableDatabaseError";
}

/** Nodes that are checked before other work runs: less than a millisecond's worth. */
export const nodesPerTurn = 16_384;

/** Bytes between the tree and the data. */
const separatorBytes = 16;

interface TreeShape {
  readonly nodeCount: number;
  /** 24, 28 or 32. */
  readonly recordBits: number;
}

interface Tree extends TreeShape {
  readonly bytes: Buffer;
  readonly dataBytes: number;
}

function treeBytes({ nodeCount, recordBits }: TreeShape): number {
  return (nodeCount * recordBits) / 4;
}

/**
 * Returns the offsets in the data section that the tree points to. Lets other work run through `pause`.
 *
 * @throws {UnusableDatabaseError} A record of the tree points outside the data.
 */
async function dataOffsets(tree: Tree, pause: () => Promise<void>): Promise<readonly number[]> {
  const { nodeCount, dataBytes } = tree;
  const read = recordReader(tree);
  const offsets: number[] = [];
  const isKnown = new Uint8Array(Math.ceil(dataBytes / 8));
  function note(value: number, node: number): void {
    if (value <= nodeCount) return;
    const offset = value - nodeCount - separatorBytes;
    const bits = offset < 0 ? undefined : isKnown[offset >> 3];
    if (bits === undefined || offset >= dataBytes) {
      throw new UnusableDatabaseError(`it is damaged: node ${node} points outside the data`);
    }
    const bit = 1 << (offset & 7);
    if ((bits & bit) !== 0) return;
    isKnown[offset >> 3] = bits | bit;
    offsets.push(offset);
  }
  for (let node = 0; node < nodeCount; node++) {
    if (node % nodesPerTurn === nodesPerTurn - 1) await pause();
    note(read.left(node), node);
    note(read.right(node), node);
  }
  return offsets;
}

/** Reads four bytes at once and masks the bits of the record. */
function recordReader({ bytes, recordBits }: Tree): Record<"left" | "right", (node: number) => number> {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  switch (recordBits) {
    case 24:
      return {
        left: node => view.getUint32(node * 6) >>> 8,
        right: node => view.getUint32(node * 6 + 2) & 0xff_ffff,
      };
    case 28:
      // The byte in the middle holds the highest four bits of both records.
      return {
        left: node => (view.getUint32(node * 7) >>> 8) | ((view.getUint8(node * 7 + 3) >> 4) << 24),
        right: node => view.getUint32(node * 7 + 3) & 0xfff_ffff,
      };
    default:
      return { left: node => view.getUint32(node * 8), right: node => view.getUint32(node * 8 + 4) };
  }
}

const valueDepthMax = 16;
/** Largest value in bytes, including everything that it points to, counted each time. */
const valueBytesMax = 65_536;

const nameBytesMax = 256;

const pointerType = 1;
const stringType = 2;
const mapType = 7;
const arrayType = 11;
/** Offset that the format adds to a pointer, by the number of its bytes. */
const pointerBases = [0, 2_048, 526_336, 0];
/** Fewest and most payload bytes of the other types. */
const payloads: Readonly<Record<number, readonly [min: number, max: number]>> = {
  2: [0, valueBytesMax],
  3: [8, 8],
  4: [0, valueBytesMax],
  5: [0, 2],
  6: [0, 4],
  8: [0, 4],
  9: [0, 8],
  10: [0, 16],
  15: [4, 4],
};
const booleanType = 14;

interface Head {
  readonly type: number;
  /** Payload bytes, members of a map or array, or the target of a pointer. */
  readonly size: number;
  readonly next: number;
}

interface CheckedValue {
  readonly bytes: number;
  /** The names of its members where it is a map. */
  readonly names: readonly string[];
}

/** A part of the file whose pointers count from its beginning. */
class DataSection {
  readonly #bytes: Buffer;
  #spent = 0;
  #names: string[] = [];

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  /**
   * Checks the value at an offset.
   *
   * @throws {UnusableDatabaseError} The value leaves the section or a bound, or is malformed.
   */
  check(offset: number): CheckedValue {
    this.#spent = 0;
    this.#names = [];
    this.#value(offset, 0);
    return { bytes: this.#spent, names: this.#names };
  }

  #value(offset: number, depth: number): number {
    if (depth > valueDepthMax) throw malformed(offset, "is nested too deeply");
    const { type, size, next } = this.#head(offset);
    this.#spend(next - offset, offset);
    if (type === pointerType) {
      if (this.#head(size).type === pointerType) throw malformed(offset, "points to a pointer");
      this.#value(size, depth + 1);
      return next;
    }
    if (type === mapType) return this.#map(size, next, depth);
    if (type === arrayType) return this.#array(size, next, depth);
    if (type === booleanType && size <= 1) return next;
    const [min, max] = payloads[type] ?? [1, 0];
    if (size < min || size > max) throw malformed(offset, "has a type or size that does not exist");
    this.#spend(size, offset);
    return this.#inside(next + size);
  }

  #map(size: number, start: number, depth: number): number {
    let offset = start;
    for (let index = 0; index < size; index++) {
      const name = this.#name(offset);
      if (depth === 0) this.#names.push(this.#text(name));
      offset = this.#value(this.#value(offset, depth + 1), depth + 1);
    }
    return offset;
  }

  #array(size: number, start: number, depth: number): number {
    let offset = start;
    for (let index = 0; index < size; index++) offset = this.#value(offset, depth + 1);
    return offset;
  }

  #name(offset: number): Head {
    const direct = this.#head(offset);
    const name = direct.type === pointerType ? this.#head(direct.size) : direct;
    if (name.type !== stringType || name.size > nameBytesMax) {
      throw malformed(offset, "has a member without a name");
    }
    return name;
  }

  #text({ size, next }: Head): string {
    return this.#bytes.toString("utf8", next, this.#inside(next + size));
  }

  #head(offset: number): Head {
    const control = this.#byte(offset);
    let next = offset + 1;
    let type = control >> 5;
    if (type === pointerType) return this.#pointer(control, next);
    if (type === 0) {
      type = 7 + this.#byte(next);
      next += 1;
      if (type <= mapType) throw malformed(offset, "has a type that does not exist");
    }
    const short = control & 31;
    if (short < 29) return { type, size: short, next };
    const base = [29, 285, 65_821][short - 29] ?? 0;
    const width = short - 28;
    return { type, size: base + this.#integer(next, width), next: next + width };
  }

  #pointer(control: number, next: number): Head {
    const width = ((control >> 3) & 3) + 1;
    const high = width === 4 ? 0 : (control & 7) * 256 ** width;
    const size = (pointerBases[width - 1] ?? 0) + high + this.#integer(next, width);
    return { type: pointerType, size, next: next + width };
  }

  #integer(offset: number, width: number): number {
    this.#inside(offset + width);
    return this.#bytes.readUIntBE(offset, width);
  }

  #byte(offset: number): number {
    const byte = this.#bytes[offset];
    if (byte === undefined) throw malformed(offset, "lies outside its section");
    return byte;
  }

  #inside(end: number): number {
    if (end > this.#bytes.length) throw malformed(end, "ends outside its section");
    return end;
  }

  #spend(bytes: number, offset: number): void {
    this.#spent += bytes;
    if (this.#spent > valueBytesMax) throw malformed(offset, "is too large");
  }
}

function malformed(offset: number, what: string): UnusableDatabaseError {
  return new UnusableDatabaseError(`it is damaged: the value at ${offset} ${what}`);
}

/** Largest database in bytes: several times the largest one of countries. */
export const databaseBytesMax: number = 256 * 1_024 * 1_024;
/** Largest distance of the metadata from the end, in bytes, according to the format. */
const metadataBytesMax = 131_072;
/** Largest sum of the sizes of all values, pointers followed: bounds the work of a check. */
const checkedBytesMax = 1_024 * 1_024 * 1_024;
/** Bytes of values that are checked before other work runs. */
const checkedBytesPerTurn = 131_072;

const metadataMarker = "\xab\xcd\xefMaxMind.com";
const typeCharactersMax = 100;
const formatVersion = 2;
const recordSizes = [24, 28, 32];
const countryMembers: ReadonlySet<string> = new Set([
  "country",
  "registered_country",
  "represented_country",
  "country_code",
]);

type DatabaseMetadata = Reader<Response>["metadata"];

interface DatabaseFile {
  readonly bytes: Buffer;
  readonly metadata: DatabaseMetadata;
  /** Position at which the data ends and the marker of the metadata begins. */
  readonly dataEnd: number;
}

/**
 * Finds the metadata and checks that it can be decoded. Returns the offset of its marker.
 *
 * @throws {UnusableDatabaseError}
 */
export function findMetadata(bytes: Buffer): number {
  if (bytes.length > databaseBytesMax) {
    throw new UnusableDatabaseError(`it is larger than ${databaseBytesMax} bytes`);
  }
  const marker = bytes.lastIndexOf(metadataMarker, undefined, "latin1");
  if (marker === -1 || bytes.length - marker > metadataBytesMax) {
    throw new UnusableDatabaseError("it is no MaxMind DB file, or its end is missing");
  }
  const { names } = new DataSection(bytes.subarray(marker + metadataMarker.length)).check(0);
  if (!names.includes("node_count")) throw new UnusableDatabaseError("it is damaged: its metadata is no map");
  return marker;
}

/**
 * Checks everything that look-ups can reach. Lets other work run through `pause`.
 *
 * @throws {UnusableDatabaseError}
 */
export async function checkDatabase(
  { bytes, metadata, dataEnd }: DatabaseFile,
  pause: () => Promise<void>,
): Promise<void> {
  checkMetadata(metadata);
  const shape = { nodeCount: metadata.nodeCount, recordBits: metadata.recordSize };
  const treeEnd = treeBytes(shape);
  const dataStart = treeEnd + separatorBytes;
  if (dataStart > dataEnd) throw new UnusableDatabaseError("it is damaged: its tree is longer than the file");
  if (bytes.subarray(treeEnd, dataStart).some(byte => byte !== 0)) {
    throw new UnusableDatabaseError("it is damaged: its tree does not end where it should");
  }
  const data = new DataSection(bytes.subarray(dataStart, dataEnd));
  const tree = { ...shape, bytes: bytes.subarray(0, treeEnd), dataBytes: dataEnd - dataStart };
  const names = await checkValues(data, { offsets: await dataOffsets(tree, pause), pause });
  if (![...names].some(name => countryMembers.has(name))) {
    const type = metadata.databaseType.slice(0, typeCharactersMax);
    throw new UnusableDatabaseError(`it contains no countries: it is a ${type} database`);
  }
}

async function checkValues(
  data: DataSection,
  { offsets, pause }: { readonly offsets: readonly number[]; readonly pause: () => Promise<void> },
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  let checkedBytes = 0;
  let turn = 0;
  for (const offset of offsets) {
    const checked = data.check(offset);
    for (const name of checked.names) names.add(name);
    checkedBytes += checked.bytes;
    if (checkedBytes > checkedBytesMax)
      throw new UnusableDatabaseError("its values are too many and too large");
    if (checkedBytes < (turn + 1) * checkedBytesPerTurn) continue;
    turn = Math.floor(checkedBytes / checkedBytesPerTurn);
    await pause();
  }
  return names;
}

/** Checks types and ranges, as the decoder returns these members unchecked. */
function checkMetadata(metadata: DatabaseMetadata): void {
  const { binaryFormatMajorVersion, nodeCount, recordSize, ipVersion, databaseType, buildEpoch } = metadata;
  const faults = [
    [binaryFormatMajorVersion === formatVersion, "its format version"],
    [Number.isSafeInteger(nodeCount) && nodeCount > 0, "its number of nodes"],
    [recordSizes.includes(recordSize), "its record size"],
    [ipVersion === 4 || ipVersion === 6, "its IP version"],
    [typeof databaseType === "string", "its type"],
    [Number.isFinite(buildEpoch.getTime()), "its build time"],
  ] as const;
  const fault = faults.find(([isFine]) => !isFine);
  if (fault !== undefined) {
    throw new UnusableDatabaseError(`its metadata cannot be used: ${fault[1]} is invalid`);
  }
}
