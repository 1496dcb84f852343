/**
 * What a producer has typed and no server has yet: it lies in the browser per user and element, so that a closed tab, a crash or the end of
 * a session loses nothing.
 */

import type { Attributes } from "./merge.ts";

export interface Draft {
  /** What the server had when the producer began. */
  readonly base: Attributes;
  readonly mine: Attributes;
  readonly etag: string;
  /** Unix ms of the last change. */
  readonly at: number;
}

const storeName = "drafts";

/** The drafts of a user. Where the browser stores nothing, they last as long as the page. */
export class Drafts {
  readonly #userId: string;
  readonly #unstored = new Map<string, Draft>();
  #opened: Promise<IDBDatabase> | undefined;

  constructor(userId: string) {
    this.#userId = userId;
  }

  async read(elementId: string): Promise<Draft | null> {
    const unstored = this.#unstored.get(elementId);
    if (unstored !== undefined) return unstored;
    const stored = await this.#request("readonly", store => store.get(this.#keyOf(elementId))).catch(
      () => null,
    );
    return (stored as Draft | null | undefined) ?? null;
  }

  /** Resolves with false if the browser does not store it. */
  async write(elementId: string, draft: Draft): Promise<boolean> {
    this.#unstored.set(elementId, draft);
    try {
      await this.#request("readwrite", store => store.put(draft, this.#keyOf(elementId)));
    } catch {
      return false;
    }
    if (this.#unstored.get(elementId) === draft) this.#unstored.delete(elementId);
    return true;
  }

  async remove(elementId: string): Promise<void> {
    this.#unstored.delete(elementId);
    await this.#request("readwrite", store => store.delete(this.#keyOf(elementId))).catch(() => {});
  }

  #keyOf(elementId: string): string {
    return `${this.#userId} ${elementId}`;
  }

  /** Resolves once the browser has it on disk, or throws: a full disk ends the transaction after the request. */
  async #request(mode: IDBTransactionMode, ask: (store: IDBObjectStore) => IDBRequest): Promise<unknown> {
    this.#opened ??= openDatabase();
    const database = await this.#opened.catch(error => {
      this.#opened = undefined;
      throw error;
    });
    const transaction = database.transaction(storeName, mode);
    return await new Promise((resolve, reject) => {
      const request = ask(transaction.objectStore(storeName));
      transaction.oncomplete = () => resolve(request.result);
      transaction.onabort = () => reject(transaction.error);
    });
  }
}

function openDatabase(): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    const request = indexedDB.open("grandstand-studio", 1);
    request.onupgradeneeded = () => request.result.createObjectStore(storeName);
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}
