/**
 * Maps items by an asynchronous function, at most `concurrency` at a time, and returns the results in the order of the items.
 * Rejects with the first error; the function may still be called for other items.
 */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  concurrency: number,
  map: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  async function work(): Promise<void> {
    // All workers share one iterator, so each item is taken once.
    for (const [index, item] of waiting) results[index] = await map(item);
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work));
  return results;
}
