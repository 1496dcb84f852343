/**
 * The address of the client behind trusted proxies.
 *
 * Every proxy appends the address of its peer to X-Forwarded-For or Forwarded (RFC 7239): our own proxies write the right
 * end, anybody the left one. So the list is read from the right, and the first address that is not a trusted proxy is the client.
 *
 * @module
 */

import type { ClientAddress, Logger } from "../http/mod.ts";
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
  return ({ headers }, { address: socketAddress }) => {
    if (socketAddress === undefined) return undefined;
    const forwardedFor = headers.get("x-forwarded-for");
    const forwarded = headers.get("forwarded");
    const peer = parseAddress(withoutZone(socketAddress));
    const isProxy = peer !== undefined && isTrusted(peer, networks);
    if (!isProxy && (forwardedFor !== null || forwarded !== null)) {
      warn("forwarded_ignored", { peer: socketAddress, consequence: ignored });
    }
    if (peer === undefined) return socketAddress;
    if (!isProxy) return formatAddress(peer);
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
