/** What tabs of a browser that share a session know of each other. Elsewhere there are none. */

/** Lets one tab at a time renew, where the browser has locks. */
export async function withLock(name: string, run: () => Promise<void>): Promise<void> {
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  return locks === undefined ? await run() : await locks.request(name, run);
}

/** Runs a task whenever another tab has written the value or cleared the storage. */
export function onOtherTab(storage: object, key: string, task: () => void): void {
  // The browser sends the event to the other tabs alone.
  (globalThis as Partial<typeof globalThis>).window?.addEventListener?.("storage", event => {
    const isKey = event.key === null || event.key === key;
    if (isKey && event.storageArea === storage) task();
  });
}
