/**
 * Writes small databases in MaxMind's format (file format 2.0) for tests: a map of networks to records, or any damage that
 * a test wants in it.
 */

import { parseNetwork } from "../../lib/auth/client_address.ts";

/** Contents of a database. A `Uint8Array` among the values is written as it is; one record of many networks once. */
export interface DatabaseSketch {
  /** Records by network, in CIDR notation. */
  readonly networks: Readonly<Record<string, unknown>>;
  /** @default 28 */
  readonly recordBits?: 24 | 28 | 32;
  /** @default 6 */
  readonly ipVersion?: 4 | 6;
  /** Replaces or adds members of the metadata. */
  readonly metadata?: Readonly<Record<string, unknown>>;
  /** Written before the first record, so that pointers may lead there. */
  readonly data?: Uint8Array;
}

type Child = Node | { readonly offset: number } | null;
type Node = [Child, Child];

const separator = Buffer.alloc(16);
const marker = Buffer.from("\xab\xcd\xefMaxMind.com", "latin1");

/** Writes a database. */
export function buildDatabase(sketch: DatabaseSketch): Buffer {
  const { networks, recordBits = 28, ipVersion = 6, metadata = {}, data = Buffer.alloc(0) } = sketch;
  const root: Node = [null, null];
  const parts: Buffer[] = [Buffer.from(data)];
  let offset = data.length;
  const written = new Map<unknown, number>();
  for (const [network, record] of Object.entries(networks)) {
    const known = written.get(record);
    insert(root, bitsOf(network, ipVersion), known ?? offset);
    if (known !== undefined) continue;
    const encoded = encodeValue(record);
    parts.push(encoded);
    written.set(record, offset);
    offset += encoded.length;
  }
  const nodes = collect(root);
  const described = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_750_000_000n,
    database_type: "Test-Country",
    description: { en: "A test" },
    ip_version: ipVersion,
    languages: ["en"],
    node_count: nodes.length,
    record_size: recordBits,
    ...metadata,
  };
  return Buffer.concat([writeTree(nodes, recordBits), separator, ...parts, marker, encodeValue(described)]);
}

/** One value as the data section holds it. */
export function encodeValue(value: unknown): Buffer {
  if (value instanceof Uint8Array) return Buffer.from(value);
  if (typeof value === "string") return withHead(2, Buffer.byteLength(value), Buffer.from(value));
  if (typeof value === "boolean") return withHead(14, value ? 1 : 0, Buffer.alloc(0));
  if (typeof value === "bigint") return integer(9, value, 8);
  if (typeof value === "number" && Number.isInteger(value)) return integer(6, BigInt(value), 4);
  if (typeof value === "number") {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    return withHead(3, 8, bytes);
  }
  if (Array.isArray(value)) return withHead(11, value.length, Buffer.concat(value.map(encodeValue)));
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  const members = entries.flatMap(([name, member]) => [encodeValue(name), encodeValue(member)]);
  return withHead(7, entries.length, Buffer.concat(members));
}

/** A pointer to an offset of the data section, always in its longest form. */
export function pointerTo(offset: number): Buffer {
  const bytes = Buffer.from([0b00111000, 0, 0, 0, 0]);
  bytes.writeUInt32BE(offset, 1);
  return bytes;
}

/** A value's head with any type and size before any payload. */
export function withHead(type: number, size: number, payload: Uint8Array): Buffer {
  const [short, rest] =
    size < 29
      ? [size, []]
      : size < 285
        ? [29, [size - 29]]
        : size < 65_821
          ? [30, [(size - 285) >> 8, (size - 285) & 255]]
          : [31, [(size - 65_821) >> 16, ((size - 65_821) >> 8) & 255, (size - 65_821) & 255]];
  const control = type > 7 ? [short, type - 7] : [(type << 5) | short];
  return Buffer.concat([Buffer.from([...control, ...rest]), payload]);
}

function integer(type: number, value: bigint, bytesMax: number): Buffer {
  const hex = value === 0n ? "" : value.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex");
  if (bytes.length > bytesMax) throw new RangeError(`${value} does not fit`);
  return withHead(type, bytes.length, bytes);
}

function bitsOf(network: string, ipVersion: 4 | 6): number[] {
  const parsed = parseNetwork(network);
  if (parsed === undefined) throw new RangeError(`${network} is no network`);
  const isIpv4 = !network.includes(":");
  const groups = isIpv4 ? [0, 0, 0, 0, 0, 0, ...parsed.address.slice(6)] : parsed.address;
  const bits = groups.flatMap(group => Array.from({ length: 16 }, (_, index) => (group >> (15 - index)) & 1));
  return bits.slice(ipVersion === 4 ? 96 : 0, parsed.bits);
}

function insert(root: Node, bits: readonly number[], offset: number): void {
  let node = root;
  for (const bit of bits.slice(0, -1)) {
    const child = node[bit];
    const next: Node = Array.isArray(child) ? child : [null, null];
    node[bit] = next;
    node = next;
  }
  node[bits.at(-1) ?? 0] = { offset };
}

function collect(root: Node): readonly Node[] {
  const nodes = [root];
  for (const node of nodes) for (const child of node) if (Array.isArray(child)) nodes.push(child);
  return nodes;
}

function writeTree(nodes: readonly Node[], recordBits: number): Buffer {
  const numbers = new Map(nodes.map((node, index) => [node, index]));
  const tree = Buffer.alloc((nodes.length * recordBits) / 4);
  nodes.forEach((node, index) => {
    const [left = 0, right = 0] = node.map(child => {
      if (child === null) return nodes.length;
      return Array.isArray(child) ? (numbers.get(child) ?? 0) : nodes.length + 16 + child.offset;
    });
    writeNode(tree.subarray((index * recordBits) / 4), [left, right], recordBits);
  });
  return tree;
}

function writeNode(bytes: Buffer, [left, right]: readonly [number, number], recordBits: number): void {
  if (recordBits === 24 || recordBits === 32) {
    bytes.writeUIntBE(left, 0, recordBits / 8);
    bytes.writeUIntBE(right, recordBits / 8, recordBits / 8);
    return;
  }
  bytes.writeUIntBE(left % 2 ** 24, 0, 3);
  bytes.writeUInt8(Math.floor(left / 2 ** 24) * 16 + Math.floor(right / 2 ** 24), 3);
  bytes.writeUIntBE(right % 2 ** 24, 4, 3);
}
