/** Values in the storage of the browser; in memory where it is refused. */

const memory = new Map<string, string>();

export function readStored<T>(key: string, otherwise: T): T {
  let text = memory.get(key) ?? null;
  try {
    text ??= localStorage.getItem(key);
    return text === null ? otherwise : (JSON.parse(text) as T);
  } catch {
    return otherwise;
  }
}

export function store(key: string, value: unknown): void {
  const text = JSON.stringify(value);
  try {
    localStorage.setItem(key, text);
    memory.delete(key);
  } catch {
    memory.set(key, text);
  }
}
