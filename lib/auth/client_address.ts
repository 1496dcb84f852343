/**
 * The address of the client behind trusted proxies.
 *
 * Every proxy appends the address of its peer to X-Forwarded-For, so the right end is written by our own proxies and the
 * left end by whoever likes. The list is read from the right: the first address that is not a trusted proxy is the
 * client. What stands to the left of it is never looked at.
 *
 * @module
 */

import {
  contains,
  formatAddress,
  type IpAddress,
  type Network,
  parseAddress,
  parseNetwork,
} from "./ip_address.ts";

/** Most proxies between a client and this process. A longer trusted chain is not believed. */
export const forwardedHopsMax = 16;

/** What is known of a connection. */
export interface Connection {
  /** Address of the peer, as the runtime gives it. */
  readonly socketAddress: string;
  /** The X-Forwarded-For header, joined by commas where there are several. */
  readonly forwardedFor: string | null;
}

/** The address of the client of a connection, in canonical form. */
export type ClientAddress = (connection: Connection) => string;

/**
 * Reads client addresses behind the given proxies (`10.0.0.0/8`, `2001:db8::/32` or single addresses). A chain that is
 * malformed before the client is reached is not believed: the answer is then the address of the peer.
 *
 * @throws {RangeError} A proxy is neither an address nor a network.
 */
export function createClientAddress(options: { readonly trustedProxies: readonly string[] }): ClientAddress {
  const networks = options.trustedProxies.map(trustedNetwork);
  return ({ socketAddress, forwardedFor }) => {
    const peer = parseAddress(withoutZone(socketAddress));
    if (peer === undefined) return socketAddress;
    if (forwardedFor === null || !isTrusted(peer, networks)) return formatAddress(peer);
    return formatAddress(forwardedClient(forwardedFor, networks) ?? peer);
  };
}

/** The first untrusted hop from the right, the leftmost hop where all are trusted, undefined for an unbelievable chain. */
function forwardedClient(forwardedFor: string, networks: readonly Network[]): IpAddress | undefined {
  let end = forwardedFor.length;
  for (let hop = 0; hop < forwardedHopsMax; hop++) {
    const comma = forwardedFor.lastIndexOf(",", end - 1);
    const address = end === 0 ? undefined : parseHop(forwardedFor.slice(comma + 1, end));
    if (address === undefined || comma === -1 || !isTrusted(address, networks)) return address;
    end = comma;
  }
  return undefined;
}

/** A hop with or without its port: `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`. */
function parseHop(text: string): IpAddress | undefined {
  const hop = text.trim();
  const bracketed = /^\[([^\]]*)\](?::[0-9]{1,5})?$/.exec(hop)?.[1];
  if (bracketed !== undefined) return bracketed.includes(":") ? parseAddress(bracketed) : undefined;
  return parseAddress(hop.replace(/^([0-9.]+):[0-9]{1,5}$/, "$1"));
}

function isTrusted(address: IpAddress, networks: readonly Network[]): boolean {
  return networks.some(network => contains(network, address));
}

function trustedNetwork(text: string): Network {
  const network = parseNetwork(text);
  if (network === undefined)
    throw new RangeError(`Cannot trust the proxy "${text}": it is no IP address or CIDR network`);
  return network;
}

/** Link-local peers come with the interface that they were seen on (`fe80::1%eth0`). */
function withoutZone(address: string): string {
  return address.split("%", 1)[0] ?? address;
}
