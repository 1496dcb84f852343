/** Ciphers of external ids. They load when first used, as their tables take a tenth of the package's import. */

import { gcmsiv } from "@noble/ciphers/aes.js";
import { sha256 } from "@noble/hashes/sha2.js";
import {
  base64url,
  deriveKeys,
  fromBase64url,
  fromUtf8,
  type Keys,
  keyedTag,
  utf8,
} from "../../auth/crypto/mod.ts";
import type { MasterSecret } from "../../auth/mod.ts";
import { Cache } from "../../storage/background/mod.ts";

const nonceBytes = 12;
/** Opening costs some 20 microseconds, and users come back soon after a registration or login. */
const openedMax = 10_000;

export interface UserIds {
  readonly userId: string;
  readonly sealedId: string;
}

/** Digests, seals and opens external ids under keys of the master secret. */
export class ExternalIds {
  readonly #digestKeys: Keys;
  readonly #sealingKeys: Keys;
  readonly #opened = new Cache<string>({ entriesMax: openedMax });

  constructor(secret: MasterSecret) {
    this.#digestKeys = deriveKeys(secret, "external_id_digest");
    this.#sealingKeys = deriveKeys(secret, "external_id_seal");
  }

  /** Returns the digest of an external id, and those under other secrets. */
  digests(projectId: string, externalId: string): readonly [newest: string, ...older: string[]] {
    const [newest, ...older] = this.#digestKeys;
    const digestOf = (key: Uint8Array) => keyedTag(key, [projectId, externalId]);
    return [digestOf(newest), ...older.map(digestOf)];
  }

  /** Seals the external id of a user: always the same text, which opens for this user alone. */
  seal(userId: string, externalId: string): UserIds {
    const sealedId = base64url(cipherOf(this.#sealingKeys[0], userId).encrypt(utf8(externalId)));
    this.#opened.set(userId + sealedId, externalId);
    return { userId, sealedId };
  }

  /** @throws {Error} It was sealed under another master secret or for another user. */
  open({ userId, sealedId }: UserIds): string {
    const name = userId + sealedId;
    const cached = this.#opened.get(name);
    if (cached !== undefined) return cached;
    const externalId = this.#decrypt(userId, fromBase64url(sealedId) ?? new Uint8Array());
    this.#opened.set(name, externalId);
    return externalId;
  }

  #decrypt(userId: string, sealed: Uint8Array): string {
    const [newest, ...older] = this.#sealingKeys;
    for (const key of older) {
      try {
        return fromUtf8(cipherOf(key, userId).decrypt(sealed));
      } catch {
        // Another secret sealed it.
      }
    }
    return fromUtf8(cipherOf(newest, userId).decrypt(sealed));
  }
}

/** AES-GCM-SIV (RFC 8452), which stays safe although a user's nonce is always the same. */
function cipherOf(key: Uint8Array, userId: string): ReturnType<typeof gcmsiv> {
  const user = utf8(userId);
  return gcmsiv(key, sha256(user).subarray(0, nonceBytes), user);
}
