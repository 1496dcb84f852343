import type { RecoveredTail } from "./recovery.ts";

/**
 * Time at which appended frames are forced to the disk: `always` before they are acknowledged, `interval` at most a second later,
 * `never` whenever the operating system likes. With the latter two a commit survives the end of the process, but the
 * last ones before a crash of the whole system may be lost.
 */
export type FsyncPolicy = "always" | "interval" | "never";

/** Options of the file journal. */
export interface FileJournalOptions {
  /** @default "always" */
  readonly fsync?: FsyncPolicy;
  /** The logs are compacted once they are this many times the size of the last snapshot. @default 2 */
  readonly compactRatio?: number;
  /** The logs are never compacted below this size, in bytes. @default 16777216 */
  readonly compactBytesMin?: number;
  /** Receives a report when a frame that was being written at the last crash has been cut off. */
  readonly onRecover?: (tail: RecoveredTail) => void;
  /** Receives the error of a failed compaction, which is tried again after more commits. */
  readonly onCompactionFailed?: (error: unknown) => void;
}

/** Most characters of frames that may wait to be written; past it commits are refused with `busy`. */
export const backlogCharsMax = 67_108_864;
/** Most characters of frames that are written, and synced, as one group. */
export const groupCharsMax = 4_194_304;
