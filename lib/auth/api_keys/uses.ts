/**
 * When API keys were last used. Requests only note it in memory; what was noted is written apart from them, for each key at
 * most once in {@linkcode apiKeyUseMs} over all processes.
 *
 * @module
 */

import type { Store } from "../../storage/contract.ts";
import { apiKeyPartition, apiKeyRecord, apiKeyUse } from "./partitions.ts";

/** Shortest time between two writes of a key's last use, in ms. */
export const apiKeyUseMs = 60_000;
/** Most keys whose use is noted and not yet written. */
export const apiKeyUsesMax = 10_000;
/** Most uses that are written side by side. */
export const apiKeyUseLanesMax = 16;

/** Notes and writes last uses. */
export class ApiKeyUses {
  readonly #store: Store;
  /** Unix ms by key. */
  readonly #noted = new Map<string, number>();
  /** What is known to be written, Unix ms by key. */
  readonly #written = new Map<string, number>();
  #flush: Promise<void> | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Notes that a key was used at a time, Unix ms. */
  note(keyId: string, at: number): void {
    if (this.#noted.size < apiKeyUsesMax || this.#noted.has(keyId)) this.#noted.set(keyId, at);
  }

  /** Writes what was noted and is due. What cannot be written stays noted; the first error is thrown. */
  flush(): Promise<void> {
    this.#flush ??= this.#writeAll().finally(() => {
      this.#flush = null;
    });
    return this.#flush;
  }

  async #writeAll(): Promise<void> {
    const due: [keyId: string, at: number][] = [];
    for (const [keyId, at] of this.#noted) {
      if (at - (this.#written.get(keyId) ?? Number.NEGATIVE_INFINITY) >= apiKeyUseMs) due.push([keyId, at]);
    }
    const waiting = due.values();
    const lane = async (): Promise<void> => {
      for (const [keyId, at] of waiting) await this.#write(keyId, at);
    };
    const lanes = await Promise.allSettled(Array.from({ length: apiKeyUseLanesMax }, lane));
    for (const result of lanes) if (result.status === "rejected") throw result.reason;
  }

  async #write(keyId: string, at: number): Promise<void> {
    const partition = apiKeyPartition(keyId);
    const [key, use] = await this.#store.read(partition, [
      { type: "record", key: apiKeyRecord },
      { type: "record", key: apiKeyUse },
    ]);
    const before = use === null ? Number.NEGATIVE_INFINITY : Number(use.value);
    if (key !== null && at - before >= apiKeyUseMs) {
      // Whoever lost a check was not needed: the key is gone, or another process has written its use.
      await this.#store.commit(partition, {
        checks: [
          { key: apiKeyRecord, version: key.version },
          { key: apiKeyUse, version: use?.version ?? null },
        ],
        writes: [{ type: "put", key: apiKeyUse, value: String(at) }],
      });
      this.#remember(keyId, at);
    } else if (key !== null) this.#remember(keyId, before);
    if (this.#noted.get(keyId) === at) this.#noted.delete(keyId);
  }

  #remember(keyId: string, at: number): void {
    this.#written.delete(keyId);
    this.#written.set(keyId, at);
    if (this.#written.size <= apiKeyUsesMax) return;
    const [oldest] = this.#written.keys();
    if (oldest !== undefined) this.#written.delete(oldest);
  }
}
