/**
 * The file journal: makes the in-memory store durable in a directory of this machine.
 *
 * @module
 */
export { createFileJournal } from "./file_journal.ts";
export { openFileStore } from "./file_store.ts";
export type { FileJournalOptions, FsyncPolicy } from "./options.ts";
export type { RecoveredTail } from "./recovery.ts";
