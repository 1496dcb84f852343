import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

/**
 * The digest of a JSON document: `sha256:` and the SHA-256 of its canonical form (RFC 8785) in hexadecimal digits. Equal
 * documents have equal digests however they are laid out and in whatever order their members stand.
 */
export function documentDigest(document: unknown): string {
  return `sha256:${bytesToHex(sha256(utf8ToBytes(canonicalJson(document))))}`;
}

/** RFC 8785: members ordered by their UTF-16 units; numbers and texts are what ECMAScript writes anyway. */
function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join()}}`;
}
