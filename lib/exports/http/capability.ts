/**
 * Capabilities: links that carry the right to download one file until a time.
 *
 * Nothing of them is stored. What was changed, made up or has expired is no capability, and nothing tells which.
 *
 * @module
 */

import {
  base64url,
  constantTimeEqual,
  fromBase64url,
  fromUtf8,
  keyedTag,
  utf8,
} from "../../auth/crypto/mod.ts";
import type { Clock, RandomBytes } from "../../auth/mod.ts";
import type { ExportAddress } from "../jobs/partitions.ts";

/** How long the link of an answer is good, in ms: 15 minutes. */
export const downloadMs: number = 15 * 60_000;
/** Longest capability, in characters. */
export const capabilityCharactersMax = 512;

const nonceBytes = 9;

/** Makes and reads capabilities. */
export interface Capabilities {
  /** The capability to download the file until a time, Unix ms. No two are equal. */
  grant(address: ExportAddress, until: number): string;
  /** The file, or null where the text is no capability, or not any more. */
  read(text: string): ExportAddress | null;
}

/** What capabilities are made with. */
export interface CapabilityOptions {
  readonly key: Uint8Array;
  readonly clock: Clock;
  readonly random: RandomBytes;
}

/** Creates the capabilities of a deployment. */
export function createCapabilities({ key, clock, random }: CapabilityOptions): Capabilities {
  return {
    grant({ organisationId, exportId }, until) {
      const nonce = base64url(random(nonceBytes));
      const payload = base64url(utf8(JSON.stringify([organisationId, exportId, until, nonce])));
      return `${payload}.${keyedTag(key, [payload])}`;
    },
    read(text) {
      if (text.length > capabilityCharactersMax || !text.isWellFormed()) return null;
      const [payload = "", tag = "", ...more] = text.split(".");
      if (more.length > 0 || !constantTimeEqual(tag, keyedTag(key, [payload]))) return null;
      const bytes = fromBase64url(payload);
      if (bytes === undefined) return null;
      const [organisationId, exportId, until] = JSON.parse(fromUtf8(bytes)) as [string, string, number];
      return clock() < until ? { organisationId, exportId } : null;
    },
  };
}
