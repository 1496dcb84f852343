/**
 * Requests that take effect once under their `Idempotency-Key`, also where the reply of the first one was not stored: the commit of the
 * change notes the key and the ids. Storage of replies alone could lose that note when the process dies behind the commit.
 *
 * @module
 */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { RandomBytes } from "../../auth/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import { keyName, type Stored, type Write } from "../../storage/mod.ts";
import type { AuthorCall } from "./jsonapi/calls.ts";

/** Time for which a key is noted, in ms: as long as replies are stored. That of a new home is noted for good, as its id follows from it. */
const notedMs = 86_400_000;

/** A request with an idempotency key. */
export interface Once {
  /** Key of the record that notes it. */
  readonly key: string;
  /** Digest of what is asked for. */
  readonly fingerprint: string;
}

/** Returns what identifies a request; null where it has no key. */
export function onceOf({ idempotency, principal, request }: AuthorCall): Once | null {
  if (idempotency === undefined) return null;
  // Requests of HTTP/1.0 may have no host in their URL.
  const { pathname } = new URL(request.url, "http://localhost");
  const name = JSON.stringify([principal.user.id, request.method, pathname, idempotency.key]);
  const digest = bytesToHex(sha256(utf8ToBytes(name)));
  return { key: keyName("once", digest), fingerprint: idempotency.fingerprint };
}

/** Returns the chance behind the id of a new home: a repetition has to meet the partition of the first request. */
export function chanceOf(once: Once | null, index: number, random: RandomBytes): RandomBytes {
  return once === null ? random : bytesFrom(`${once.key} ${index}`);
}

/** Returns bytes in place of chance: up to 32, always the same for a name. */
export function bytesFrom(name: string): RandomBytes {
  return length => sha256(utf8ToBytes(name)).slice(0, length);
}

/**
 * Returns the ids that the first request under a key left; null where there was none.
 *
 * @throws {AppError} `idempotency_mismatch`: it asked for something else.
 */
export function notedIds(stored: Stored | null, { fingerprint }: Once): readonly string[] | null {
  if (stored === null) return null;
  const note = JSON.parse(stored.value) as { readonly fingerprint: string; readonly ids: readonly string[] };
  if (note.fingerprint === fingerprint) return note.ids;
  throw new AppError("idempotency_mismatch", "Cannot use the idempotency key: another request had it");
}

/** Returns the write that notes a request; `makesHome` if one of the ids is that of a new home. */
export function onceWrite(
  { key, fingerprint }: Once,
  {
    ids,
    makesHome,
    nowMs,
  }: { readonly ids: readonly string[]; readonly makesHome: boolean; readonly nowMs: number },
): Write {
  const note = { type: "put", key, value: JSON.stringify({ fingerprint, ids }) } as const;
  return makesHome ? note : { ...note, expireAt: nowMs + notedMs };
}
