/** Places where a session is kept. */

/** A place for texts, such as `localStorage` of a browser, or an asynchronous store of a phone. */
export interface SessionStorage {
  getItem(key: string): string | null | Promise<string | null>;
  setItem(key: string, value: string): unknown;
  removeItem(key: string): unknown;
}

/** Keeps sessions until the page or process ends. */
export function memoryStorage(): SessionStorage {
  const items = new Map<string, string>();
  return {
    getItem: key => items.get(key) ?? null,
    setItem: (key, value) => items.set(key, value),
    removeItem: key => items.delete(key),
  };
}

/** Returns a storage; one in memory where there is none, or the page must not use it. */
export function openStorage(given: SessionStorage | (() => SessionStorage) = memoryStorage): SessionStorage {
  if (typeof given !== "function") return given;
  try {
    return given();
  } catch {
    return memoryStorage();
  }
}

/** One value in a storage that may throw, as in private windows and where the quota is used up: it is kept in memory then. */
export class StoredValue<T> {
  readonly #storage: SessionStorage;
  readonly #key: string;
  readonly #isValid: (value: unknown) => value is T;
  #value: T | null = null;
  #isStored = true;

  constructor(storage: SessionStorage, key: string, isValid: (value: unknown) => value is T) {
    this.#storage = storage;
    this.#key = key;
    this.#isValid = isValid;
  }

  /** Reads the value anew, as another tab may have changed it; null if there is none that is valid. */
  async read(): Promise<T | null> {
    if (!this.#isStored) return this.#value;
    try {
      const value: unknown = JSON.parse((await this.#storage.getItem(this.#key)) ?? "null");
      this.#value = this.#isValid(value) ? value : null;
    } catch {
      // Unreadable, or no JSON: what this process has goes on.
    }
    return this.#value;
  }

  /** Writes the value; null removes it. */
  async write(value: T | null): Promise<void> {
    this.#value = value;
    try {
      if (value === null) await this.#storage.removeItem(this.#key);
      else await this.#storage.setItem(this.#key, JSON.stringify(value));
      this.#isStored = true;
    } catch {
      this.#isStored = false;
    }
  }
}
