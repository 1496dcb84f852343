import type { AppError } from "../../lib/base/errors/mod.ts";

/** The store whose commits a journal keeps. */
export interface JournalClient {
  /**
   * Takes one kept frame during {@linkcode Journal.open}, in the order in which they were appended.
   *
   * @throws where the frame is not one that a store has written
   */
  apply(frame: string): void;
  /**
   * Starts to describe the whole state in frames, which replace every frame appended before this call.
   *
   * The iterator is lazy: commits may change the state between two of its steps. This is sound because frames hold
   * results, not operations: replaying the frames appended after this call over the description gives the exact state.
   * A description during which a frame was lost must be thrown away.
   */
  snapshot(): Iterator<string>;
}

/** Receives the outcome of a frame, once and never before `append` has returned: an error unless it is kept. */
export type Settle = (failure?: AppError) => void;

/**
 * The port through which the in-memory store keeps its commits: an ordered list of frames that outlives the process.
 * A frame is well-formed text without line breaks.
 */
export interface Journal {
  /** True if a kept frame survives the end of the process and of the operating system. */
  readonly durable: boolean;
  /**
   * Replays what was kept into the client, once, before any append.
   *
   * @throws AppError `storage_unavailable` where what was kept cannot be read
   */
  open(client: JournalClient): Promise<void>;
  /**
   * Accepts a frame behind all earlier ones. Frames settle in order. Where one is lost, every frame accepted after it
   * is lost too, and all of them settle before another is accepted: with `storage_unavailable`, or with
   * `outcome_unknown` if it is unknown which of them will exist after a restart.
   *
   * @throws AppError at once, accepting nothing: `busy` while too much is waiting, `storage_unavailable` once the
   *   medium cannot be trusted any more
   */
  append(frame: string, settle: Settle): void;
  /** Resolves while frames are accepted, else rejects with `storage_unavailable`. */
  ping(): Promise<void>;
  /** Keeps the waiting frames and closes the medium. */
  close(): Promise<void>;
}
