/**
 * How a version of a space's loyalty configuration is stored.
 *
 * @module
 */

import { documentDigest } from "./document_digest.ts";

/** What is known of a version without its document. */
export interface LoyaltyVersion {
  /** Counts up from 1 within the space; never used again. */
  readonly number: number;
  /** Digest of the document: {@linkcode documentDigest}. */
  readonly digest: string;
  /** When it became the current one, in Unix ms. */
  readonly at: number;
  /** Who made it: `apiKey:<key>`, `file` or `seed`. */
  readonly by: string;
  /** The version whose document this one brought back. */
  readonly rollbackOf?: number;
}

/** A version with its document, as it was written. */
export interface LoyaltyRevision extends LoyaltyVersion {
  readonly document: unknown;
}

/** The record of the current version; each earlier one has a record of its own. */
export const currentKey = "loyalty";
/** The record that lists the versions which are kept, oldest first. */
export const versionsKey = "loyalty:versions";

/** The record of a version that is not the current one. */
export function versionKey(number: number): string {
  return `loyalty:${number}`;
}

/** Parses the record of a version. */
export function parseRevision(text: string): LoyaltyRevision {
  const value: unknown = JSON.parse(text);
  if (isRevision(value)) return value;
  // Before versions were kept, the record was the document alone.
  return { number: 1, digest: documentDigest(value), at: 0, by: "seed", document: value };
}

/** A version without its document. */
export function versionOf({ document: _, ...version }: LoyaltyRevision): LoyaltyVersion {
  return version;
}

function isRevision(value: unknown): value is LoyaltyRevision {
  return typeof value === "object" && value !== null && "number" in value && "document" in value;
}
