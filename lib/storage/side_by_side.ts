/**
 * Does the work for every item, at most `atOnceMax` at a time, and answers the results in the order of the items. Rejects with the
 * first error; the rest of the items may be worked on all the same.
 */
export async function mapConcurrent<T, R>(
  items: readonly T[],
  atOnceMax: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const results: R[] = [];
  const waiting = items.entries();
  async function next(): Promise<void> {
    // All share one iterator, so each item is taken once.
    for (const [index, item] of waiting) results[index] = await work(item);
  }
  await Promise.all(Array.from({ length: Math.min(atOnceMax, items.length) }, next));
  return results;
}
