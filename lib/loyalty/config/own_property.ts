/** The own property of a record, so that `toString` and its like are never found where nobody stored them. */
export function ownValue<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Whether a record has any entry. */
export function hasEntries(record: object): boolean {
  for (const _ in record) return true;
  return false;
}
