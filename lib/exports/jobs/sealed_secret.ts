/** The password of an export as it is stored: sealed, and bound to its job. */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { seal, unseal } from "../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../auth/mod.ts";
import type { ExportSecret } from "../file/mod.ts";
import type { ExportAddress } from "./partitions.ts";

/** Seals and opens secrets under a key of the deployment. */
export interface SecretSeal {
  readonly key: Uint8Array;
  readonly random: RandomBytes;
}

/** The sealed text of a secret. */
export function sealSecret(
  { key, random }: SecretSeal,
  address: ExportAddress,
  { password, salt, iv }: ExportSecret,
): string {
  const text = [password, bytesToHex(salt), bytesToHex(iv)].join(" ");
  return seal(key, text, { context: contextOf(address), random });
}

/** The secret, or undefined where the text was sealed for another job or under another master secret. */
export function openSecret(
  { key }: Pick<SecretSeal, "key">,
  address: ExportAddress,
  sealed: string,
): ExportSecret | undefined {
  const [password, salt, iv] = unseal(key, sealed, { context: contextOf(address) })?.split(" ") ?? [];
  if (password === undefined || salt === undefined || iv === undefined) return undefined;
  return { password, salt: hexToBytes(salt), iv: hexToBytes(iv) };
}

function contextOf({ organisationId, exportId }: ExportAddress): readonly string[] {
  return ["export", organisationId, exportId];
}
