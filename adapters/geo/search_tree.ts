/**
 * Checks the search tree of a MaxMind DB file (file format 2.0, "Binary Search Tree Section").
 *
 * @module
 */

import type { Buffer } from "node:buffer";
import { UnusableDatabaseError } from "./unusable_database.ts";

/** Nodes that are checked before other work gets its turn: below a millisecond's worth. */
export const nodesPerTurn = 65_536;

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
export async function dataOffsets(tree: Tree, pause: () => Promise<void>): Promise<ReadonlySet<number>> {
  const { nodeCount, dataBytes } = tree;
  const read = recordReader(tree);
  const offsets = new Set<number>();
  for (let node = 0; node < nodeCount; node++) {
    if (node % nodesPerTurn === nodesPerTurn - 1) await pause();
    for (const side of [0, 1]) {
      const value = read(node, side);
      if (value <= nodeCount) continue;
      const offset = value - nodeCount - separatorBytes;
      if (offset < 0 || offset >= dataBytes) {
        throw new UnusableDatabaseError(`it is damaged: node ${node} leads outside the data`);
      }
      offsets.add(offset);
    }
  }
  return offsets;
}

function recordReader({ bytes, recordBits }: Tree): (node: number, side: number) => number {
  const nodeBytes = recordBits / 4;
  if (recordBits === 24) return (node, side) => bytes.readUIntBE(node * nodeBytes + side * 3, 3);
  if (recordBits === 32) return (node, side) => bytes.readUInt32BE(node * nodeBytes + side * 4);
  return (node, side) => {
    const start = node * nodeBytes;
    const middle = bytes.readUInt8(start + 3);
    // The byte in the middle holds the highest four bits of both records.
    return side === 0
      ? (middle >> 4) * 2 ** 24 + bytes.readUIntBE(start, 3)
      : (middle & 15) * 2 ** 24 + bytes.readUIntBE(start + 4, 3);
  };
}
