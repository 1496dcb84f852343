/** The stored password of an export: sealed, and bound to its job. */

import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import { seal, unseal } from "../../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../../auth/mod.ts";
import type { ExportSecret } from "../file/secret.ts";
import type { ExportRef } from "./partitions.ts";

/** The key that seals secrets, and the randomness for it. */
export interface SecretSeal {
  readonly key: Uint8Array;
  readonly random: RandomBytes;
}

/** Seals a secret as text. */
export async function sealSecret(
  { key, random }: SecretSeal,
  ref: ExportRef,
  { password, salt, iv }: ExportSecret,
): Promise<string> {
  const text = [password, bytesToHex(salt), bytesToHex(iv)].join(" ");
  return await seal(key, text, { context: contextOf(ref), random });
}

/** Opens a sealed secret; returns null if it is missing, of another job, or sealed under another master secret. */
export async function openSecret(
  { key }: Pick<SecretSeal, "key">,
  ref: ExportRef,
  sealed: string | null,
): Promise<ExportSecret | null> {
  if (sealed === null) return null;
  const text = await unseal(key, sealed, { context: contextOf(ref) });
  const [password, salt, iv] = text?.split(" ") ?? [];
  if (password === undefined || salt === undefined || iv === undefined) return null;
  return { password, salt: hexToBytes(salt), iv: hexToBytes(iv) };
}

function contextOf({ organisationId, exportId }: ExportRef): readonly string[] {
  return ["export", organisationId, exportId];
}
