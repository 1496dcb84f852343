/** Returns an own property of a record, so that `toString` and other inherited names have no value. */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Checks whether a record has entries, without making an array of them. */
export function hasEntries(record: object): boolean {
  for (const _ in record) return true;
  return false;
}
