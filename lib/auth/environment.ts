/** Clock and randomness, injected so that tests control them, and the ids made of randomness. */

import { bytesToHex } from "@noble/hashes/utils.js";
import { base32 } from "./crypto/encoding.ts";

/** Clock and randomness, injected so that tests control them. */

/** Returns the current time in Unix ms. */
export type Clock = () => number;

/** Returns `length` unpredictable bytes. */
export type RandomBytes = (length: number) => Uint8Array;

/** Reads the clock of the machine. */
export function systemClock(): number {
  return Date.now();
}

/** Reads the cryptographic generator of the runtime, at most 65,536 bytes at once. */
export function systemRandom(length: number): Uint8Array {
  return crypto.getRandomValues(new Uint8Array(length));
}

/** 160 bits. */
const capabilityIdBytes = 20;

const uuidShape = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/** Makes a random UUID (RFC 9562, version 4) in lower case. It is an identifier and never a secret. */
export function uuid(random: RandomBytes): string {
  const bytes = random(16).slice();
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytesToHex(bytes);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** Accepts UUIDs of any version, in either case. */
export function isUuid(text: string): boolean {
  return text.length === 36 && uuidShape.test(text);
}

/** Makes an unguessable id that serves as a capability: 32 characters of `a-z2-7`, 160 bits. */
export function capabilityId(random: RandomBytes): string {
  return base32(random(capabilityIdBytes));
}

/** Compares two texts or byte strings. The duration depends on their lengths alone. */
export function constantTimeEqual<T extends string | Uint8Array>(left: T, right: T): boolean {
  if (left.length !== right.length) return false;
  let difference = 0;
  for (let index = 0; index < left.length; index++) difference |= unitAt(left, index) ^ unitAt(right, index);
  return difference === 0;
}

function unitAt(value: string | Uint8Array, index: number): number {
  return typeof value === "string" ? value.charCodeAt(index) : (value[index] ?? 0);
}
