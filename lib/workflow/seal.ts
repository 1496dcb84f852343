/**
 * The sealed payload: the memory of a dialogue, which frontends carry from request to request and can neither read nor change.
 *
 * It is bound to workflow, user and context, and expires. Several secrets may be in use at a time: the first seals, all open.
 */

import { xchacha20poly1305 } from "@noble/ciphers/chacha.js";
import { base64url, deriveKey, fromBase64url, fromUtf8, keyedTag, utf8 } from "../auth/crypto/mod.ts";
import type { MasterSecret, RandomBytes } from "../auth/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import { BoundedCache } from "../storage/mod.ts";
import type { ViewContent } from "./blocks.ts";
import type { WorkflowPorts } from "./ports.ts";

const nonceBytes = 24;
const textsKeptMax = 1_024;
/** Length up to which a text is kept: with most texts 8 MB of memory. */
const keptUnitsMax = 4_096;

export const payloadMsMax = 3_600_000;
export const sealedMember = "_s";

export interface Memory {
  /** Names the view: each of its actions takes effect once. */
  readonly nonce: string;
  readonly state: unknown;
  readonly view: ViewContent;
  readonly taskId: string | null;
  /** Unix ms. */
  readonly expiresAt: number;
}

/**
 * Seals texts under the newest of several secrets, by XChaCha20-Poly1305 with random nonces. It takes no thread of the crypto pool,
 * which costs more than the cipher itself for so short texts.
 */
export class Seals {
  readonly #keys: readonly { readonly id: string; readonly key: Uint8Array }[];
  readonly #name: string;
  readonly #random: RandomBytes;
  /** What was sealed here, as most of it comes back to be opened: the cipher costs more than all else of a turn. */
  readonly #texts = new BoundedCache<{ readonly text: string; readonly place: string }>(textsKeptMax);

  /** @throws {TypeError} There is no secret. */
  constructor(secrets: readonly MasterSecret[], { name, random }: WorkflowPorts) {
    if (secrets.length === 0) throw new TypeError("Cannot create the workflow: it has no secret");
    this.#keys = secrets.map(secret => {
      const key = deriveKey(secret, "workflow", name);
      return { id: keyedTag(key, ["key id"]).slice(0, 8), key };
    });
    this.#name = name;
    this.#random = random;
  }

  seal(text: string, place: readonly string[]): string {
    const [{ id, key } = { id: "", key: new Uint8Array() }] = this.#keys;
    const bound = this.#bound(place);
    const nonce = this.#random(nonceBytes);
    const body = xchacha20poly1305(key, nonce, utf8(bound)).encrypt(utf8(text));
    const bytes = new Uint8Array(nonceBytes + body.length);
    bytes.set(nonce);
    bytes.set(body, nonceBytes);
    const sealed = `v1.${id}.${base64url(bytes)}`;
    if (text.length <= keptUnitsMax) this.#texts.set(sealed, { text, place: bound });
    return sealed;
  }

  /** Opens a text. @throws {AppError} `validation_failed`: it was changed, cut, or made for another place. */
  open(sealed: unknown, place: readonly string[]): string {
    const bound = this.#bound(place);
    const given = typeof sealed === "string" ? sealed : "";
    const kept = this.#texts.get(given);
    if (kept?.place === bound) return kept.text;
    const [, id, body = ""] = /^v1\.([\w-]{8})\.([\w-]+)$/.exec(given) ?? [];
    const key = this.#keys.find(each => each.id === id)?.key;
    const bytes = fromBase64url(body) ?? new Uint8Array();
    try {
      if (key !== undefined) {
        const cipher = xchacha20poly1305(key, bytes.slice(0, nonceBytes), utf8(bound));
        return fromUtf8(cipher.decrypt(bytes.slice(nonceBytes)));
      }
    } catch {
      // The library says why it does not open, which is nobody's business.
    }
    throw new AppError("validation_failed", "Cannot continue the dialogue: start it again", {
      fields: [{ pointer: `/payload/${sealedMember}`, detail: "Is not the payload of this dialogue" }],
    });
  }

  #bound(place: readonly string[]): string {
    return JSON.stringify([this.#name, ...place]);
  }
}
