/**
 * Does again and again, while a server runs, what no request waits for.
 *
 * @module
 */

/** Pause between two rounds of work, in ms. */
export const workPauseMs = 5_000;

/** Calls a function after so many ms, unless what it answers is called before. */
export type After = (ms: number, act: () => void) => () => void;

/** What a worker needs. */
export interface WorkerOptions {
  /** One round. */
  readonly work: () => Promise<unknown>;
  /** Told of a round that failed; the next one comes all the same. */
  readonly onFailed: (error: unknown) => void;
  /** @default {@linkcode workPauseMs} */
  readonly pauseMs?: number;
  /** @default the timer of the process, which does not keep it alive */
  readonly after?: After;
}

/** A worker that goes round. */
export interface Worker {
  /** Begins no further round, and resolves when the one under way is over. */
  stop(): Promise<void>;
}

/** Starts a worker. Its first round comes after the first pause, and rounds never overlap. */
export function startWorker(options: WorkerOptions): Worker {
  const { work, onFailed, pauseMs = workPauseMs, after = processTimer } = options;
  let isStopped = false;
  let round: Promise<void> = Promise.resolve();
  let cancel = after(pauseMs, begin);

  function begin(): void {
    round = run();
  }

  async function run(): Promise<void> {
    try {
      await work();
    } catch (error) {
      onFailed(error);
    }
    if (!isStopped) cancel = after(pauseMs, begin);
  }

  return {
    async stop() {
      isStopped = true;
      cancel();
      await round;
    },
  };
}

function processTimer(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  timer.unref();
  return () => clearTimeout(timer);
}
