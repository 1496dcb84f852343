/**
 * IP addresses and networks. An IPv4 address is treated as its IPv4-mapped IPv6 address (RFC 4291, 2.5.5.2), so that
 * both spellings are one address.
 *
 * @module
 */

/** An address as eight 16-bit groups. */
export type IpAddress = readonly number[];

/** A network in CIDR notation, parsed. */
export interface Network {
  readonly address: IpAddress;
  /** Length of the prefix in bits of the 128. */
  readonly bits: number;
}

const mappedPrefix: IpAddress = [0, 0, 0, 0, 0, 0xffff];
const mappedBits = 96;
const decimalByte = /^(?:0|[1-9][0-9]{0,2})$/;
const hexGroup = /^[0-9a-f]{1,4}$/i;

/** The address that a text spells, or undefined. Zone ids, leading zeros in IPv4 and ports are no part of one. */
export function parseAddress(text: string): IpAddress | undefined {
  if (text.length > 45) return undefined;
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/** The canonical text: dotted for IPv4 and IPv4-mapped addresses, RFC 5952 for the others. */
export function formatAddress(address: IpAddress): string {
  if (isMapped(address)) {
    return address
      .slice(6)
      .flatMap(group => [group >> 8, group & 0xff])
      .join(".");
  }
  const groups = address.map(group => group.toString(16));
  const zeros = longestZeroRun(address);
  if (zeros.length < 2) return groups.join(":");
  return `${groups.slice(0, zeros.start).join(":")}::${groups.slice(zeros.start + zeros.length).join(":")}`;
}

/** The network that `address/bits` or a single address spells, or undefined. */
export function parseNetwork(text: string): Network | undefined {
  const [addressText = "", bitsText, ...rest] = text.split("/");
  const address = parseAddress(addressText);
  if (address === undefined || rest.length > 0) return undefined;
  if (bitsText === undefined) return { address, bits: 128 };
  if (!decimalByte.test(bitsText)) return undefined;
  const offset = addressText.includes(":") ? 0 : mappedBits;
  const bits = Number(bitsText) + offset;
  return bits <= 128 ? { address, bits } : undefined;
}

/** Whether the network holds the address. */
export function contains(network: Network, address: IpAddress): boolean {
  return network.address.every((group, index) => {
    const bits = Math.min(16, Math.max(0, network.bits - index * 16));
    const mask = (0xffff << (16 - bits)) & 0xffff;
    return (group & mask) === ((address[index] ?? 0) & mask);
  });
}

function parseIpv4(text: string): IpAddress | undefined {
  const parts = text.split(".");
  if (parts.length !== 4 || !parts.every(part => decimalByte.test(part) && Number(part) <= 255))
    return undefined;
  const [a = 0, b = 0, c = 0, d = 0] = parts.map(Number);
  return [...mappedPrefix, (a << 8) | b, (c << 8) | d];
}

function parseIpv6(text: string): IpAddress | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const [head = "", tail] = halves;
  const left = parseGroups(head, tail === undefined);
  const right = tail === undefined ? [] : parseGroups(tail, true);
  if (left === undefined || right === undefined) return undefined;
  const missing = 8 - left.length - right.length;
  if (tail === undefined ? missing !== 0 : missing < 1) return undefined;
  return [...left, ...new Array<number>(missing).fill(0), ...right];
}

/** The groups of one side of `::`. Only the last one of the address may be a dotted IPv4 address. */
function parseGroups(text: string, mayEndDotted: boolean): number[] | undefined {
  if (text === "") return [];
  const groups: number[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const dotted =
      mayEndDotted && index === parts.length - 1 && part.includes(".") ? parseIpv4(part) : undefined;
    if (dotted !== undefined) groups.push(...dotted.slice(6));
    else if (hexGroup.test(part)) groups.push(Number.parseInt(part, 16));
    else return undefined;
  }
  return groups;
}

function isMapped(address: IpAddress): boolean {
  return mappedPrefix.every((group, index) => address[index] === group);
}

function longestZeroRun(address: IpAddress): { readonly start: number; readonly length: number } {
  let best = { start: 0, length: 0 };
  let start = 0;
  for (const [index, group] of address.entries()) {
    if (group !== 0) start = index + 1;
    else if (index - start + 1 > best.length) best = { start, length: index - start + 1 };
  }
  return best;
}
