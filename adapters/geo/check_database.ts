/**
 * Decides whether a file may serve as a country database: every record of its tree, every value that the tree leads to,
 * and that some of them tell of countries.
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import type { Reader, Response } from "mmdb-lib";
import { dataOffsets, separatorBytes, treeBytes } from "./search_tree.ts";
import { Section } from "./section.ts";
import { UnusableDatabaseError } from "./unusable_database.ts";

/** Largest database in bytes: several times the largest that tells of countries alone. */
export const databaseBytesMax: number = 256 * 1_024 * 1_024;
/** How far from the end the metadata may begin, in bytes, as the format says. */
export const metadataBytesMax = 131_072;
/** Largest sum of the sizes of all values, pointers followed: what a check costs at most. */
export const checkedBytesMax: number = 1_024 * 1_024 * 1_024;
/** Bytes of values that are checked before other work gets its turn. */
export const checkedBytesPerTurn = 131_072;

const metadataMarker = "\xab\xcd\xefMaxMind.com";
/** How much of the type a message repeats. */
const typeCharactersMax = 100;
const formatVersion = 2;
const recordSizes = [24, 28, 32];
/** Members of a record that tell of a country. */
const countryMembers: ReadonlySet<string> = new Set([
  "country",
  "registered_country",
  "represented_country",
  "country_code",
]);

/** What a file says of itself. */
export type Metadata = Reader<Response>["metadata"];

/** A file that has metadata. */
export interface Described {
  readonly bytes: Buffer;
  readonly metadata: Metadata;
  /** Where the data ends and the marker of the metadata begins. */
  readonly dataEnd: number;
}

/**
 * Finds the metadata and checks that it can be decoded; answers where its marker begins.
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
  const { names } = new Section(bytes.subarray(marker + metadataMarker.length)).check(0);
  if (!names.includes("node_count")) throw new UnusableDatabaseError("it is damaged: its metadata is no map");
  return marker;
}

/**
 * Checks everything that look-ups may reach. Other work gets its turn through `pause`.
 *
 * @throws {UnusableDatabaseError}
 */
export async function checkDatabase(
  { bytes, metadata, dataEnd }: Described,
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
  const data = new Section(bytes.subarray(dataStart, dataEnd));
  const tree = { ...shape, bytes: bytes.subarray(0, treeEnd), dataBytes: dataEnd - dataStart };
  const names = await checkValues(data, { offsets: await dataOffsets(tree, pause), pause });
  if (![...names].some(name => countryMembers.has(name))) {
    const type = metadata.databaseType.slice(0, typeCharactersMax);
    throw new UnusableDatabaseError(`it tells of no countries: it is a ${type} database`);
  }
}

/** Answers the names that members of the values have. */
async function checkValues(
  data: Section,
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

/** The decoder passes on whatever the file has under these names. */
function checkMetadata(metadata: Metadata): void {
  const { binaryFormatMajorVersion, nodeCount, recordSize, ipVersion, databaseType, buildEpoch } = metadata;
  const faults = [
    [binaryFormatMajorVersion === formatVersion, "the version of its format"],
    [Number.isSafeInteger(nodeCount) && nodeCount > 0, "the number of its nodes"],
    [recordSizes.includes(recordSize), "the size of its records"],
    [ipVersion === 4 || ipVersion === 6, "its version of IP"],
    [typeof databaseType === "string", "its type"],
    [Number.isFinite(buildEpoch.getTime()), "the time of its making"],
  ] as const;
  const fault = faults.find(([isFine]) => !isFine);
  if (fault !== undefined) {
    throw new UnusableDatabaseError(`its metadata cannot be used: ${fault[1]} is not one that exists`);
  }
}
