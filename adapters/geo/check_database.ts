/**
 * Checks whether a file can serve as a country database: its metadata, every record of its tree, every value that the tree
 * points to, and that some values contain countries.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import type { Reader, Response } from "mmdb-lib";
import {
  DataSection,
  dataOffsets,
  separatorBytes,
  treeBytes,
  UnusableDatabaseError,
} from "./format_checks.ts";

/** Largest database in bytes: several times the largest one of countries. */
export const databaseBytesMax: number = 256 * 1_024 * 1_024;
/** Largest distance of the metadata from the end, in bytes, according to the format. */
const metadataBytesMax = 131_072;
/** Largest sum of the sizes of all values, pointers followed: bounds the work of a check. */
const checkedBytesMax = 1_024 * 1_024 * 1_024;
/** Bytes of values that are checked before other work runs. */
const checkedBytesPerTurn = 131_072;

const metadataMarker = "\xab\xcd\xefMaxMind.com";
/** Most characters of the database type in a message. */
const typeCharactersMax = 100;
const formatVersion = 2;
const recordSizes = [24, 28, 32];
/** Members of a record that contain a country. */
const countryMembers: ReadonlySet<string> = new Set([
  "country",
  "registered_country",
  "represented_country",
  "country_code",
]);

/** The metadata of a file. */
export type DatabaseMetadata = Reader<Response>["metadata"];

/** A file with its metadata. */
export interface DatabaseFile {
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

/** Checks the values and returns the names of their members. */
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
