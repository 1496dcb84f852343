/**
 * The address of the client behind trusted proxies.
 *
 * Every proxy appends the address of its peer to X-Forwarded-For: our own proxies write the right end, anybody the left
 * one. So the list is read from the right, and the first address that is not a trusted proxy is the client.
 *
 * @module
 */

import {
  formatAddress,
  type IpAddress,
  isInNetwork,
  type Network,
  parseAddress,
  parseNetwork,
} from "./ip_address.ts";

/** Most proxies between a client and this process. A longer chain is ignored. */
const forwardedHopsMax = 16;

/** The facts of a connection that name its client. */
export interface Connection {
  /** Address of the peer, as the runtime gives it. */
  readonly socketAddress: string;
  /** The X-Forwarded-For header, joined by commas where there are several. */
  readonly forwardedFor: string | null;
}

/** Finds the address of the client of a connection, in canonical form. */
export type ClientAddress = (connection: Connection) => string;

/**
 * Reads client addresses behind the given proxies (`10.0.0.0/8`, `2001:db8::/32` or single addresses). If the chain is
 * malformed before the client is reached, the peer counts as the client.
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

/** Finds the first untrusted hop from the right, or the leftmost if all are trusted; undefined for a malformed chain. */
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

/** Parses a hop with or without its port: `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1`, `[2001:db8::1]`, `[2001:db8::1]:443`. */
function parseHop(text: string): IpAddress | undefined {
  const hop = text.trim();
  const bracketed = /^\[([^\]]*)\](?::[0-9]{1,5})?$/.exec(hop)?.[1];
  if (bracketed !== undefined) return bracketed.includes(":") ? parseAddress(bracketed) : undefined;
  return parseAddress(hop.replace(/^([0-9.]+):[0-9]{1,5}$/, "$1"));
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
