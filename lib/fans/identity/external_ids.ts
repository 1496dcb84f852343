/**
 * External ids as they are stored. The external id of a user without credentials is a capability, so that neither a key nor a
 * value of the store contains one: lookup keys have its digest, and records have it sealed.
 *
 * @module
 */

import { gcmsiv } from "@noble/ciphers/aes.js";
import { sha256 } from "@noble/hashes/sha2.js";
import { base64url, fromBase64url, fromUtf8, keyedTag, utf8 } from "../../auth/crypto/mod.ts";
import { deriveKey, type MasterSecret } from "../../auth/mod.ts";
import { Cache } from "../../storage/background/mod.ts";

const nonceBytes = 12;
/** Opening costs some 20 microseconds, and users come back soon after a registration or login. */
const openedMax = 10_000;

export interface UserIds {
  readonly userId: string;
  /** The external id, sealed for this user. */
  readonly sealedId: string;
}

/** Digests, seals and opens external ids under keys of the master secret. */
export class ExternalIds {
  readonly #digestKey: Uint8Array;
  readonly #sealingKey: Uint8Array;
  readonly #opened = new Cache<string>({ entriesMax: openedMax });

  constructor(secret: MasterSecret) {
    this.#digestKey = deriveKey(secret, "external_id_digest");
    this.#sealingKey = deriveKey(secret, "external_id_seal");
  }

  /** Returns the digest by which a project finds an external id. */
  digest(projectId: string, externalId: string): string {
    return keyedTag(this.#digestKey, [projectId, externalId]);
  }

  /** Seals the external id of a user: always the same text, which opens for this user alone. */
  seal(userId: string, externalId: string): UserIds {
    const sealedId = base64url(this.#cipher(userId).encrypt(utf8(externalId)));
    this.#opened.set(userId + sealedId, externalId);
    return { userId, sealedId };
  }

  /** @throws {Error} It was sealed under another master secret or for another user. */
  open({ userId, sealedId }: UserIds): string {
    const name = userId + sealedId;
    const cached = this.#opened.get(name);
    if (cached !== undefined) return cached;
    const externalId = fromUtf8(this.#cipher(userId).decrypt(fromBase64url(sealedId) ?? new Uint8Array()));
    this.#opened.set(name, externalId);
    return externalId;
  }

  /** AES-GCM-SIV (RFC 8452), which stays safe although a user's nonce is always the same. */
  #cipher(userId: string): ReturnType<typeof gcmsiv> {
    const user = utf8(userId);
    return gcmsiv(this.#sealingKey, sha256(user).subarray(0, nonceBytes), user);
  }
}
