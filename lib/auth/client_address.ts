/**
 * The address of the client behind trusted proxies.
 *
 * Every proxy appends the address of its peer to X-Forwarded-For or Forwarded (RFC 7239): our own proxies write the right
 * end, anybody the left one. So the list is read from the right, and the first address that is not a trusted proxy is the client.
 */

import type { ClientAddress, Logger } from "../http/mod.ts";

const forwardedHopsMax = 16;

/** The proxies in front of a process. */
export interface TrustedProxies {
  /** Addresses and networks of the proxies whose header fields count: `10.0.0.0/8`, `2001:db8::/32`, `192.0.2.1`. */
  readonly trustedProxies: readonly string[];
}

/**
 * Reads client addresses behind the given proxies. The peer counts where it is no trusted proxy, and where the chain is
 * malformed before the client is reached; a warning, once, names a peer whose header fields do not count.
 *
 * @throws {RangeError} A proxy is neither an address nor a network.
 */
export function createClientAddress({ trustedProxies }: TrustedProxies, logger: Logger): ClientAddress {
  const networks = trustedProxies.map(trustedNetwork);
  const warned = new Set<string>();
  const warn = (event: string, fields: Readonly<Record<string, string>>): void => {
    if (warned.has(event)) return;
    warned.add(event);
    logger.log("warn", event, fields);
  };
  // Requests of a connection follow each other, and those of a proxy are all: parsing was 7 % of a session check.
  let last = peerOf("");
  function peerOf(socketAddress: string) {
    const address = parseAddress(withoutZone(socketAddress));
    const isProxy = address !== undefined && isTrusted(address, networks);
    return { socketAddress, address, isProxy, text: address && formatAddress(address) };
  }
  return ({ headers }, { address: socketAddress }) => {
    if (socketAddress === undefined) return undefined;
    if (last.socketAddress !== socketAddress) last = peerOf(socketAddress);
    const { address: peer, isProxy, text = socketAddress } = last;
    const forwardedFor = headers.get("x-forwarded-for");
    const forwarded = headers.get("forwarded");
    if (!isProxy && (forwardedFor !== null || forwarded !== null)) {
      warn("forwarded_ignored", { peer: socketAddress, consequence: ignored });
    }
    if (peer === undefined || !isProxy) return text;
    const clients = [
      forwardedFor === null ? null : (forwardedClient(forwardedFor, parseHop, networks) ?? peer),
      forwarded === null ? null : (forwardedClient(forwarded, parseElement, networks) ?? peer),
    ].flatMap(client => (client === null ? [] : [formatAddress(client)]));
    const [client = formatAddress(peer), other = client] = clients;
    if (client === other) return client;
    // The proxy wrote one of the fields and let the client's own pass: nothing says which.
    warn("forwarded_contradicts", { peer: socketAddress, consequence: contradicted });
    return undefined;
  };
}

const ignored =
  "the peer counts as the client, and all clients behind it as one: if it is your proxy, trust it with clientAddress: { trustedProxies }, or with GRANDSTAND_TRUSTED_PROXIES";
const contradicted =
  "the client has no address, as X-Forwarded-For and Forwarded differ: let the proxy remove the one that it does not write";

/** Finds the first untrusted hop from the right, or the leftmost if all are trusted; undefined for a malformed chain. */
function forwardedClient(
  chain: string,
  parse: (hop: string) => IpAddress | undefined,
  networks: readonly Network[],
): IpAddress | undefined {
  let end = chain.length;
  for (let hop = 0; hop < forwardedHopsMax; hop++) {
    const comma = chain.lastIndexOf(",", end - 1);
    const address = end === 0 ? undefined : parse(chain.slice(comma + 1, end));
    if (address === undefined || comma === -1 || !isTrusted(address, networks)) return address;
    end = comma;
  }
  return undefined;
}

/** Parses a hop with or without its port: `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`. */
function parseHop(text: string): IpAddress | undefined {
  const hop = text.trim();
  const bracketed = /^\[([^\]]*)\](?::[0-9]{1,5})?$/.exec(hop)?.[1];
  if (bracketed !== undefined) return bracketed.includes(":") ? parseAddress(bracketed) : undefined;
  return parseAddress(hop.replace(/^([0-9.]+):[0-9]{1,5}$/, "$1"));
}

/** Parses an element of Forwarded: `for=192.0.2.1;proto=https`, `For="[2001:db8::1]:443"`. No address contains a comma or semicolon. */
function parseElement(element: string): IpAddress | undefined {
  const nodes = element.split(";").flatMap(pair => /^\s*for=(?:"([^"\\]*)"|([^"\s]*))\s*$/i.exec(pair) ?? []);
  const [, quoted, token, ...others] = nodes;
  return others.length > 0 ? undefined : parseHop(quoted ?? token ?? "");
}

function isTrusted(address: IpAddress, networks: readonly Network[]): boolean {
  return networks.some(network => isInNetwork(network, address));
}

function trustedNetwork(text: string): Network {
  const network = parseNetwork(text);
  if (network === undefined)
    throw new RangeError(`Cannot trust the proxy "${text}": it is no IP address or CIDR network`);
  return network;
}

/** Drops the interface of link-local peers (`fe80::1%eth0`). */
function withoutZone(address: string): string {
  return address.split("%", 1)[0] ?? address;
}

/** An address as eight 16-bit groups. */
export type IpAddress = readonly number[];

export interface Network {
  readonly address: IpAddress;
  /** Length of the prefix in bits of the 128. */
  readonly bits: number;
}

const mappedPrefix: IpAddress = [0, 0, 0, 0, 0, 0xffff];
const mappedBits = 96;
const decimalByte = /^(?:0|[1-9][0-9]{0,2})$/;
const hexGroup = /^[0-9a-f]{1,4}$/i;

/** Parses an address; undefined for anything else, such as a zone id, leading zeros in IPv4 or a port. */
export function parseAddress(text: string): IpAddress | undefined {
  if (text.length > 45) return undefined;
  return text.includes(":") ? parseIpv6(text) : parseIpv4(text);
}

/** Writes the canonical text: dotted for IPv4 and IPv4-mapped addresses, RFC 5952 for the others. */
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

/** Parses `address/bits` or a single address; undefined for anything else. */
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

export function areNetworks(texts: readonly string[]): boolean {
  return texts.every(text => parseNetwork(text) !== undefined);
}

export function isInNetwork(network: Network, address: IpAddress): boolean {
  return network.address.every((group, index) => {
    const mask = maskOf(network.bits, index);
    return (group & mask) === ((address[index] ?? 0) & mask);
  });
}

/** Returns the bits of a group of an address that are among the first `bits` of all. */
function maskOf(bits: number, index: number): number {
  return (0xffff << (16 - Math.min(16, Math.max(0, bits - index * 16)))) & 0xffff;
}

interface NetworkBits {
  /** Of an IPv4 address, mapped ones included; 0 to 32. */
  readonly ipv4: number;
  /** Of an IPv6 address; 0 to 128. */
  readonly ipv6: number;
}

/** Returns the network of an address as `address/bits`, without a zone id; undefined for a text that is no address. */
export function networkTag(address: string, bits: NetworkBits): string | undefined {
  const groups = parseAddress(withoutZone(address));
  if (groups === undefined) return undefined;
  const isIpv4 = formatAddress(groups).includes(".");
  const prefix = isIpv4 ? 96 + bits.ipv4 : bits.ipv6;
  const network = groups.map((group, index) => group & maskOf(prefix, index));
  return `${formatAddress(network)}/${isIpv4 ? bits.ipv4 : bits.ipv6}`;
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

/** Parses one side of `::`. Only the last group of an address may be a dotted IPv4 address. */
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
