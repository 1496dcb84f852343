/**
 * Adapters on the files of this machine: a durable in-memory store and blobs.
 *
 * @module
 */
export { createFileBlobs, type FileBlobsOptions } from "./blobs.ts";
export { type BackupFacts, backUpJournal, restoreJournal } from "./journal/backup.ts";
export type { FileJournalOptions } from "./journal/file_journal.ts";
export { createFileJournal, openFileStore } from "./journal/file_journal.ts";
