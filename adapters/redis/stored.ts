/** Layout of values in Redis: fixed-width heads, so that Lua and JavaScript cut them without parsing. */
import type { Append, Stored } from "../../lib/storage/contract.ts";
import { versionLength } from "../../lib/storage/versions.ts";
import { expirySlackMs } from "./keys.ts";

const headLength = 32;
export const noExpiry = "0000000000000000";
const noAsOf = "                ";
const tieLength = 13;

/** Returns a record as a STRING: 16 characters of version, 16 digits of expireAt (zeros: never), the value. */
export function encodeRecord(version: string, value: string, expireAt: number | undefined): string {
  const expiry = expireAt === undefined ? noExpiry : String(expireAt).padStart(noExpiry.length, "0");
  return version + expiry + value;
}

/** After how many ms Redis may clear a record away that expires at `expireAt`, as text. */
export function msUntilCleared(expireAt: number, now: number): string {
  return String(expireAt - now + expirySlackMs);
}

/** Reads a record, or null if it has expired at `now`. */
export function decodeRecord(stored: unknown, now: number): Stored | null {
  if (typeof stored !== "string") return null;
  const expiry = stored.slice(versionLength, headLength);
  if (expiry !== noExpiry && Number(expiry) <= now) return null;
  return { version: stored.slice(0, versionLength), value: stored.slice(headLength) };
}

/** Returns the argument of a check: the version, empty for an absent record. Stored versions have one length. */
export function encodeCheck(version: string | null): string {
  if (version === null) return "";
  return version.length === versionLength ? version : "-";
}

/** Returns the head of a record that does not expire: what a check mostly finds. */
export function encodeHead(version: string): string {
  return version.length === versionLength ? version + noExpiry : "-";
}

/** Returns an entry as an element of a LIST: its id, a space, its value. */
export function encodeEntry(write: Append): string {
  return `${entryIdOf(write)} ${write.value}`;
}

/** Returns the id of an entry that is later than the one before it. */
export function entryIdOf({ at }: Append): string {
  return `${at}-1`;
}

/** Returns the tie (13 digits) and version (16 digits or spaces) of a score; empty if it has neither. */
export function encodeStamp(tie: number | undefined, asOf: number | undefined): string {
  if (asOf === undefined && !tie) return "";
  const digits = asOf === undefined ? noAsOf : String(asOf).padStart(noAsOf.length, "0");
  return String(tie ?? 0).padStart(tieLength, "0") + digits;
}

/** Reads a member of a ZSET: `0<member>`, or `1<13 digits of tie><member>`. */
export function decodeMember(encoded: string): { member: string; tie: number } {
  if (encoded.startsWith("0")) return { member: encoded.slice(1), tie: 0 };
  return { member: encoded.slice(1 + tieLength), tie: Number(encoded.slice(1, 1 + tieLength)) };
}

/** Returns a point among entries of equal score, as it would stand in their ZSET; empty for the point before all of them. */
export function encodePoint({ tie = 0, member = "" }: { tie?: number; member?: string }): string {
  if (tie === 0) return member === "" ? "" : `0${member}`;
  return `1${String(tie).padStart(tieLength, "0")}${member}`;
}
