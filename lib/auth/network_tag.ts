/** Addresses coarsened to their network, because one client of IPv6 has many, and because trails need no whole one. */

import { formatAddress, parseAddress } from "./ip_address.ts";

/** How many leading bits of an address count. */
export interface NetworkBits {
  /** Of an IPv4 address, mapped ones included; 0 to 32. */
  readonly ipv4: number;
  /** Of an IPv6 address; 0 to 128. */
  readonly ipv6: number;
}

/** The network of an address as `address/bits`, or undefined where the text is no address. A zone id is left out. */
export function networkTag(address: string, bits: NetworkBits): string | undefined {
  const groups = parseAddress(address.split("%", 1)[0] ?? "");
  if (groups === undefined) return undefined;
  const isIpv4 = formatAddress(groups).includes(".");
  const kept = isIpv4 ? 96 + bits.ipv4 : bits.ipv6;
  const network = groups.map((group, index) => {
    const ofGroup = Math.min(16, Math.max(0, kept - index * 16));
    return group & (0xffff << (16 - ofGroup)) & 0xffff;
  });
  return `${formatAddress(network)}/${isIpv4 ? bits.ipv4 : bits.ipv6}`;
}
