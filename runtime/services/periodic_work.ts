/**
 * Work that a process repeats while it runs.
 *
 * @module
 */

const pauseMsDefault = 5_000;

/** Calls a function after a time in ms. Returns the function that cancels the call. */
export type StartTimer = (ms: number, act: () => void) => () => void;

/** Options of {@linkcode startPeriodicWork}. */
export interface PeriodicWorkOptions {
  /** Does one round. */
  readonly work: () => Promise<unknown>;
  /** Receives the error of a failed round; the next one runs all the same. */
  readonly onFailed: (error: unknown) => void;
  /** Receives the duration of a round in ms, and its outcome. @default nothing */
  readonly onRound?: (ms: number, outcome: "ok" | "failed") => void;
  /** @default 5_000 */
  readonly pauseMs?: number;
  /** @default the timer of the process, which does not keep it alive */
  readonly startTimer?: StartTimer;
}

/** A part of the process that runs until it is stopped. */
export interface Stoppable {
  /** Resolves when the current round is over; no further one begins. */
  stop(): Promise<void>;
}

/** Repeats work after a pause. The first round follows the first pause, and rounds never overlap. */
export function startPeriodicWork(options: PeriodicWorkOptions): Stoppable {
  const { work, onFailed, onRound, pauseMs = pauseMsDefault, startTimer = processTimer } = options;
  let isStopped = false;
  let round: Promise<void> = Promise.resolve();
  let cancel = startTimer(pauseMs, begin);

  function begin(): void {
    round = run();
  }

  async function run(): Promise<void> {
    const startedAt = performance.now();
    try {
      await work();
      onRound?.(performance.now() - startedAt, "ok");
    } catch (error) {
      onRound?.(performance.now() - startedAt, "failed");
      onFailed(error);
    }
    if (!isStopped) cancel = startTimer(pauseMs, begin);
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
