/**
 * The addresses at which a service may be told of exports: what it is told is a link to personal data and often the password.
 *
 * @module
 */

/** Longest address of a service, in characters. */
export const serviceUrlCharactersMax = 2_048;

/** What an address has to be, for whoever configures one. */
export const serviceUrlExpectation =
  "Expected an https address without credentials; http only on the machine itself, or at an IP address of a private network";

/** Hosts on the machine itself and in private networks, as URLs write them (RFC 1918, 4193 and 6598). */
const nearby: readonly RegExp[] = [
  /^localhost$/,
  /^(127|10)(\.\d+){3}$/,
  /^192\.168(\.\d+){2}$/,
  /^172\.(1[6-9]|2\d|3[01])(\.\d+){2}$/,
  /^100\.(6[4-9]|[7-9]\d|1[01]\d|12[0-7])(\.\d+){2}$/,
  /^\[::1\]$/,
  /^\[f[cd][0-9a-f]{2}:/,
];

/**
 * Whether a service may be told at this address. A name says nothing of the network that it leads into, so http needs an IP
 * address; whether the operator has allowed its network is decided by the sender.
 */
export function isServiceUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname, username, password } = new URL(text);
  if (username !== "" || password !== "") return false;
  return protocol === "https:" || (protocol === "http:" && nearby.some(host => host.test(hostname)));
}
