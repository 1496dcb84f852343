/**
 * Capabilities: the secret part of a link, which grants the download of one file until a time. They are signed and not stored.
 * Forged, changed and expired ones are indistinguishable to the client.
 */

import {
  base64url,
  fromBase64url,
  fromUtf8,
  isKeyedTag,
  type Keys,
  keyedTag,
  utf8,
} from "../../../auth/crypto/mod.ts";
import type { Clock, RandomBytes } from "../../../auth/mod.ts";
import type { ExportRef } from "./job.ts";

export const downloadPath = "/v1/api/audience/exports/download/";
const capabilityCharactersMax = 512;
const nonceBytes = 9;

export type DownloadCapabilities = ReturnType<typeof createCapabilities>;

export function createCapabilities(keys: Keys, clock: Clock, random: RandomBytes) {
  return {
    /** Issues a unique capability for a file until a time, Unix ms. */
    grant({ organisationId, exportId }: ExportRef, until: number): string {
      const nonce = base64url(random(nonceBytes));
      const payload = base64url(utf8(JSON.stringify([organisationId, exportId, until, nonce])));
      return `${payload}.${keyedTag(keys[0], [payload])}`;
    },
    /** Returns the file of a valid capability, or null. */
    verify(text: string): ExportRef | null {
      if (text.length > capabilityCharactersMax || !text.isWellFormed()) return null;
      const [payload = "", tag = "", ...more] = text.split(".");
      if (more.length > 0 || !isKeyedTag(tag, keys, [payload])) return null;
      const bytes = fromBase64url(payload);
      if (bytes === undefined) return null;
      const [organisationId, exportId, until] = JSON.parse(fromUtf8(bytes)) as [string, string, number];
      return clock() < until ? { organisationId, exportId } : null;
    },
  };
}
