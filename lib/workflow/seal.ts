/**
 * The sealed payload: the memory of a dialogue, which frontends carry from request to request and can neither read nor change.
 *
 * It is bound to workflow, user and context, and expires. Several secrets may be in use at a time: the first seals, all open.
 *
 * @module
 */

import { keyedTag, seal, unseal } from "../auth/crypto/mod.ts";
import { deriveKey, type MasterSecret, type RandomBytes } from "../auth/mod.ts";
import { AppError } from "../errors/mod.ts";
import type { ViewContent } from "./blocks.ts";

/** Time for which a payload counts, in ms. */
export const payloadMsMax = 3_600_000;
/** The name of the sealed text in the payload. */
export const sealedMember = "_s";

/** The memory of a dialogue. */
export interface Memory {
  /** Names the view: each of its actions takes effect once. */
  readonly nonce: string;
  readonly state: unknown;
  readonly view: ViewContent;
  readonly taskId: string | null;
  /** Unix ms. */
  readonly expiresAt: number;
}

/** Seals texts under the newest of several secrets. */
export class Seals {
  readonly #keys: readonly { readonly id: string; readonly key: Uint8Array }[];
  readonly #name: string;
  readonly #random: RandomBytes;

  constructor(secrets: readonly MasterSecret[], name: string, random: RandomBytes) {
    if (secrets.length === 0) throw new TypeError("Cannot create the workflow: it has no secret");
    this.#keys = secrets.map(secret => {
      const key = deriveKey(secret, "workflow", name);
      return { id: keyedTag(key, ["key id"]).slice(0, 8), key };
    });
    this.#name = name;
    this.#random = random;
  }

  /** Seals a text for its place. @throws {RangeError} It is longer than 65,536 bytes. */
  async seal(text: string, place: readonly string[]): Promise<string> {
    const [newest = { id: "", key: new Uint8Array() }] = this.#keys;
    const sealed = await seal(newest.key, text, { context: [this.#name, ...place], random: this.#random });
    return `v1.${newest.id}.${sealed.slice(3)}`;
  }

  /** Opens a text. @throws {AppError} `validation_failed`: it was changed, cut, or made for another place. */
  async open(sealed: unknown, place: readonly string[]): Promise<string> {
    const [, id, body] = typeof sealed === "string" ? (/^v1\.([\w-]{8})\.([\w-]+)$/.exec(sealed) ?? []) : [];
    const key = this.#keys.find(each => each.id === id)?.key;
    const text =
      key === undefined ? undefined : await unseal(key, `v1.${body}`, { context: [this.#name, ...place] });
    if (text !== undefined) return text;
    throw new AppError("validation_failed", "Cannot continue the dialogue: start it again", {
      fields: [{ pointer: `/payload/${sealedMember}`, detail: "Is not the payload of this dialogue" }],
    });
  }
}
