/**
 * Checks the search tree of a MaxMind DB file (file format 2.0, "Binary Search Tree Section").
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import { UnusableDatabaseError } from "./unusable_database.ts";

/** Nodes that are checked before other work gets its turn: less than a millisecond's worth. */
export const nodesPerTurn = 16_384;

/** Bytes between the tree and the data. */
export const separatorBytes = 16;

/** The shape of a tree. */
export interface TreeShape {
  readonly nodeCount: number;
  /** 24, 28 or 32. */
  readonly recordBits: number;
}

/** A tree to check. */
export interface Tree extends TreeShape {
  readonly bytes: Buffer;
  /** Length of the data section. */
  readonly dataBytes: number;
}

/** Length of a tree in bytes. */
export function treeBytes({ nodeCount, recordBits }: TreeShape): number {
  return (nodeCount * recordBits) / 4;
}

/**
 * The offsets in the data section that the tree leads to. Other work gets its turn through `pause`.
 *
 * @throws {UnusableDatabaseError} A record of the tree leads nowhere.
 */
export async function dataOffsets(tree: Tree, pause: () => Promise<void>): Promise<readonly number[]> {
  const { nodeCount, dataBytes } = tree;
  const read = recordReader(tree);
  const offsets: number[] = [];
  const isKnown = new Uint8Array(Math.ceil(dataBytes / 8));
  function note(value: number, node: number): void {
    if (value <= nodeCount) return;
    const offset = value - nodeCount - separatorBytes;
    const known = offset < 0 ? undefined : isKnown[offset >> 3];
    if (known === undefined || offset >= dataBytes) {
      throw new UnusableDatabaseError(`it is damaged: node ${node} leads outside the data`);
    }
    const bit = 1 << (offset & 7);
    if ((known & bit) !== 0) return;
    isKnown[offset >> 3] = known | bit;
    offsets.push(offset);
  }
  for (let node = 0; node < nodeCount; node++) {
    if (node % nodesPerTurn === nodesPerTurn - 1) await pause();
    note(read.left(node), node);
    note(read.right(node), node);
  }
  return offsets;
}

/** Reads four bytes at once and takes what belongs to the record. */
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
