import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { canonicalJson } from "../http/mod.ts";

/**
 * The digest of a JSON document: `sha256:` and the SHA-256 of its canonical form (RFC 8785) in hexadecimal digits. Equal
 * documents have equal digests however they are laid out and in whatever order their members stand.
 */
export function documentDigest(document: unknown): string {
  return `sha256:${bytesToHex(sha256(utf8ToBytes(canonicalJson(document))))}`;
}
