/** What tabs of a browser that share a session know of each other. Elsewhere there are none. */

/** Lets one holder of the name at a time run, where the runtime has locks and gives them. */
export async function withLock(name: string, run: () => Promise<void>): Promise<void> {
  const { locks } = (globalThis.navigator ?? {}) as Partial<Navigator>;
  let isHeld = false;
  try {
    await locks?.request(name, () => {
      isHeld = true;
      return run();
    });
  } catch (error) {
    // Sandboxed frames are refused locks.
    if (isHeld) throw error;
  }
  if (!isHeld) await run();
}

/** Runs a task whenever another tab has written the value or cleared the storage. */
export function onOtherTab(storage: object, key: string, task: () => void): void {
  // The browser sends the event to the other tabs alone.
  (globalThis as Partial<typeof globalThis>).window?.addEventListener?.("storage", event => {
    const isKey = event.key === null || event.key === key;
    if (isKey && event.storageArea === storage) task();
  });
}
