import type { Store } from "../../../lib/storage/contract.ts";
import type { PartitionLister } from "../../../lib/storage/ports.ts";
import { createMemoryStore, type MemoryStoreOptions } from "../../memory/mod.ts";
import { createFileJournal } from "./file_journal.ts";
import type { FileJournalOptions } from "./options.ts";

/**
 * Opens a store that lives in memory and is kept in a directory, and resolves once everything kept is there.
 *
 * ```ts
 * await using store = await openFileStore("data", { fsync: "always" });
 * ```
 *
 * @throws AppError `storage_unavailable` where another process uses the directory or its files are damaged
 */
export async function openFileStore(
  directory: string,
  options: FileJournalOptions & Omit<MemoryStoreOptions, "journal"> = {},
): Promise<Store & PartitionLister> {
  const store = createMemoryStore({ ...options, journal: createFileJournal(directory, options) });
  await store.ping();
  return store;
}
