/**
 * Last uses of API keys. Requests note them in memory; background work writes them, at most once a minute for each key
 * over all processes.
 *
 * @module
 */

import { Cache, mapConcurrent } from "../../storage/background/mod.ts";
import type { Store } from "../../storage/mod.ts";
import { apiKeyPartition, apiKeyRecord, apiKeyUse } from "./record.ts";

/** Least time between two writes of a key's last use, in ms. */
const writeIntervalMs = 60_000;
const notedMax = 10_000;
const concurrentWritesMax = 16;

/** Notes and writes last uses. */
export class ApiKeyUses {
  readonly #store: Store;
  /** Unix ms by key, still to be written. */
  readonly #noted = new Map<string, number>();
  /** Unix ms of the last write by key. */
  readonly #written = new Cache<number>({ entriesMax: notedMax });
  #flush: Promise<void> | null = null;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Notes that a key was used at a time, Unix ms. Beyond 10,000 waiting keys further ones are left out. */
  note(keyId: string, at: number): void {
    if (this.#noted.size < notedMax || this.#noted.has(keyId)) this.#noted.set(keyId, at);
  }

  /** Writes the uses that are due. Failed writes stay noted, and the first error is thrown. */
  flush(): Promise<void> {
    this.#flush ??= this.#writeDue().finally(() => {
      this.#flush = null;
    });
    return this.#flush;
  }

  async #writeDue(): Promise<void> {
    const due = [...this.#noted].filter(
      ([keyId, at]) => at - (this.#written.get(keyId) ?? Number.NEGATIVE_INFINITY) >= writeIntervalMs,
    );
    const failures: unknown[] = [];
    await mapConcurrent(due, concurrentWritesMax, ([keyId, at]) =>
      this.#write(keyId, at).catch(error => failures.push(error)),
    );
    if (failures.length > 0) throw failures[0];
  }

  async #write(keyId: string, at: number): Promise<void> {
    const partition = apiKeyPartition(keyId);
    const [key, use] = await this.#store.read(partition, [
      { type: "record", key: apiKeyRecord },
      { type: "record", key: apiKeyUse },
    ]);
    const before = use === null ? Number.NEGATIVE_INFINITY : Number(use.value);
    if (key !== null && at - before >= writeIntervalMs) {
      // A failed check is harmless: the key is gone, or another process has written its use.
      await this.#store.commit(partition, {
        checks: [
          { key: apiKeyRecord, version: key.version },
          { key: apiKeyUse, version: use?.version ?? null },
        ],
        writes: [{ type: "put", key: apiKeyUse, value: String(at) }],
      });
      this.#written.set(keyId, at);
    } else if (key !== null) this.#written.set(keyId, before);
    if (this.#noted.get(keyId) === at) this.#noted.delete(keyId);
  }
}
