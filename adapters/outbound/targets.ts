/**
 * The addresses that requests may go to. Callers name the host, so without a check they could make the platform connect to services
 * of its own network.
 */

import { lookup } from "node:dns/promises";
import { BlockList, isIP, isIPv6 } from "node:net";
import { OutboundError } from "../../lib/base/outbound/outbound.ts";

/** An address of a host. */
export interface HostAddress {
  readonly address: string;
  readonly family: number;
}

/** Finds the addresses of a host name. */
export type Resolve = (hostname: string) => Promise<readonly HostAddress[]>;

export interface Networks {
  check(address: string, family: "ipv4" | "ipv6"): boolean;
}

export interface Targets {
  /**
   * Returns the addresses of a URL's host, all of them allowed.
   *
   * @throws {OutboundError} The host has no address, or one that is not allowed. The message does not name it.
   */
  addressesOf(url: URL): Promise<readonly [HostAddress, ...HostAddress[]]>;
}

/** The IANA registries of special-purpose addresses, which are not public. */
const special = networks([
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
  "2001::/23",
  "2001:db8::/32",
  "2002::/16",
  "3fff::/20",
]);
/** The IPv6 range of global unicast addresses. */
const globalUnicast = networks(["2000::/3"]);

/**
 * Parses networks; an address alone is a network of one.
 *
 * @throws {TypeError} A text is not in CIDR notation.
 */
export function networks(texts: readonly string[]): Networks {
  const list = new BlockList();
  for (const text of texts) {
    const [address = "", bits = isIPv6(text) ? "128" : "32", ...more] = text.split("/");
    const isNetwork =
      isIP(address) !== 0 &&
      more.length === 0 &&
      /^\d{1,3}$/.test(bits) &&
      Number(bits) <= (isIPv6(address) ? 128 : 32);
    if (!isNetwork) throw new TypeError(`Cannot use "${text}": expected a network like 10.0.0.0/8`);
    list.addSubnet(address, Number(bits), familyOf(address));
  }
  return list;
}

/** Creates the targets: public addresses over https, and those of the given networks over http too. */
export function createTargets(allowed: Networks, resolve: Resolve = resolveHost): Targets {
  return {
    async addressesOf({ hostname, protocol }) {
      const bare = hostname.replace(/^\[|\]$/g, "");
      const addresses = isIP(bare) === 0 ? await resolve(bare) : [{ address: bare, family: isIP(bare) }];
      const [first, ...others] = addresses;
      if (first === undefined) throw new OutboundError("address", "its host has no address");
      if (![first, ...others].every(({ address }) => isAllowed(address, allowed))) {
        throw new OutboundError(
          "address",
          "its host is not at a public address, and no setting allows its network",
        );
      }
      if (protocol !== "https:" && ![first, ...others].every(({ address }) => isNamed(address, allowed))) {
        throw new OutboundError("address", "its address is not https, and no setting allows its network");
      }
      return [first, ...others];
    },
  };
}

/** Stops waiting for a look-up, which cannot be cancelled. */
export async function withinTime<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const over = new Promise<never>((_, reject) => {
    const giveUp = (): void => reject(new OutboundError("time", "there was no answer in time"));
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
  });
  return await Promise.race([work, over]);
}

async function resolveHost(hostname: string): Promise<readonly HostAddress[]> {
  try {
    return await lookup(hostname, { all: true });
  } catch {
    throw new OutboundError("address", "its host has no address");
  }
}

function isAllowed(text: string, allowed: Networks): boolean {
  const address = withoutZone(text);
  return isNamed(address, allowed) || (isIP(address) !== 0 && isPublic(address));
}

/** Returns true if an address is in one of the operator's networks. */
function isNamed(text: string, allowed: Networks): boolean {
  const address = withoutZone(text);
  return isIP(address) !== 0 && allowed.check(address, familyOf(address));
}

function withoutZone(address: string): string {
  return address.replace(/%.*$/, "");
}

/** An IPv4 address in the notation of IPv6 is no global unicast address, so it is refused in any case. */
function isPublic(address: string): boolean {
  const family = familyOf(address);
  const isGiven = family === "ipv4" || globalUnicast.check(address, family);
  return isGiven && !special.check(address, family);
}

function familyOf(address: string): "ipv4" | "ipv6" {
  return isIPv6(address) ? "ipv6" : "ipv4";
}
