/**
 * What a producer has typed and no server has yet: it lies in the browser per user, element and tab, so that a closed tab, a crash or the
 * end of a session loses nothing, and two tabs never overwrite each other.
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

/** A draft with the key that it lies under. */
export interface KeptDraft extends Draft {
  readonly key: string;
  /** True if this tab kept it. */
  readonly isOwn: boolean;
}

const storeName = "drafts";
const tabId = [...crypto.getRandomValues(new Uint8Array(8))].join("-");
const lockOf = (tab: string): string => `grandstand-studio tab ${tab}`;
// The browser lets go of it when the tab ends, however it ends. Insecure pages have no locks.
navigator.locks?.request(lockOf(tabId), () => new Promise(() => {})).catch(() => {});

/** The drafts of a user. Where the browser stores nothing, they last as long as the page. */
export class Drafts {
  readonly #userId: string;
  readonly #unstored = new Map<string, Draft>();
  #opened: Promise<IDBDatabase> | undefined;

  constructor(userId: string) {
    this.#userId = userId;
  }

  /** Lists what this tab and tabs that have ended kept of an element, newest first. Open tabs keep theirs to themselves. */
  async list(elementId: string): Promise<readonly KeptDraft[]> {
    const start = `${this.#userId} ${elementId} `;
    const range = IDBKeyRange.bound(start, `${start}\uffff`);
    const [keys, drafts, locks] = await Promise.all([
      this.#request("readonly", store => store.getAllKeys(range)) as Promise<readonly string[]>,
      this.#request("readonly", store => store.getAll(range)) as Promise<readonly Draft[]>,
      navigator.locks?.query().catch(() => undefined),
    ]).catch(() => [[], [], undefined] as const);
    const open = new Set(locks?.held?.map(({ name }) => name));
    const own = this.#keyOf(elementId);
    const unstored = this.#unstored.get(elementId);
    return drafts
      .map((draft, index): KeptDraft => {
        const key = keys[index] ?? "";
        return { ...draft, key, isOwn: key === own };
      })
      .filter(({ key, isOwn }) =>
        isOwn ? unstored === undefined : !open.has(lockOf(key.slice(start.length))),
      )
      .concat(unstored === undefined ? [] : [{ ...unstored, key: own, isOwn: true }])
      .toSorted((one, other) => other.at - one.at);
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

  /** Removes what this tab kept of an element, or what lies under another key. */
  async remove(elementId: string, key: string = this.#keyOf(elementId)): Promise<void> {
    if (key === this.#keyOf(elementId)) this.#unstored.delete(elementId);
    await this.#request("readwrite", store => store.delete(key)).catch(() => {});
  }

  #keyOf(elementId: string): string {
    return `${this.#userId} ${elementId} ${tabId}`;
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
