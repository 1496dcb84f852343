/** Identifiers, and the comparison that tells nothing by its duration. */

import { bytesToHex } from "@noble/hashes/utils.js";
import { base32 } from "./encoding.ts";
import type { RandomBytes } from "../environment.ts";

/** Randomness of a capability id, in bytes: 160 bits. */
export const capabilityIdBytes = 20;

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const capabilityShape = /^[a-z2-7]{32}$/;

/** A random UUID (RFC 9562, version 4), in lower case. It names something; it is never a secret. */
export function uuid(random: RandomBytes): string {
  const bytes = random(16).slice();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytesToHex(bytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Whether the text has the shape of a UUID of any version, in either case. */
export function isUuid(text: string): boolean {
  return text.length === 36 && uuidShape.test(text);
}

/** An id that cannot be guessed, so that knowing it is the right to use it: 32 characters of `a-z2-7`, 160 bits. */
export function capabilityId(random: RandomBytes): string {
  return base32(random(capabilityIdBytes));
}

/** Whether the text has the shape of a {@linkcode capabilityId}. */
export function isCapabilityId(text: string): boolean {
  return text.length === 32 && capabilityShape.test(text);
}

/** Whether two texts or two byte strings are equal. The duration depends on their lengths alone. */
export function constantTimeEqual<T extends string | Uint8Array>(left: T, right: T): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index++) difference |= unitAt(left, index) ^ unitAt(right, index);
  return difference === 0;
}

function unitAt(value: string | Uint8Array, index: number): number {
  return typeof value === "string" ? value.charCodeAt(index) : (value[index] ?? 0);
}
