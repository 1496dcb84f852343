/** Repeats a task while a view is shown. */

import { GrandstandError } from "../../../client/mod.ts";

/** Least pause between two runs while nobody sees the page, in ms. */
const hiddenMs = 15_000;
/** Longest pause after failures, in ms. */
const failedMsMax = 30_000;

export interface RepeatOptions {
  /** Pause between two runs, in ms. */
  readonly everyMs: number;
  readonly signal: AbortSignal;
  /** Called after each run with its error, or null. */
  readonly report: (error: unknown) => void;
}

/** Runs a task again and again, less often while the page is hidden or the task fails. Runs never overlap. */
export function repeat(task: () => Promise<void>, { everyMs, signal, report }: RepeatOptions): void {
  let failures = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  async function run(): Promise<void> {
    timer = undefined;
    const error = await task().then(
      () => null,
      thrown => thrown ?? new Error(),
    );
    if (signal.aborted) return;
    report(error);
    failures = error === null ? 0 : failures + 1;
    const failedMs = failures === 0 ? 0 : Math.min(failedMsMax, 1_000 * 2 ** failures);
    const askedMs = error instanceof GrandstandError ? error.retryAfterMs : 0;
    timer = setTimeout(run, Math.max(everyMs, failedMs, askedMs, document.hidden ? hiddenMs : 0));
  }
  function hurry(): void {
    if (document.hidden || timer === undefined || failures > 0) return;
    clearTimeout(timer);
    run();
  }
  document.addEventListener("visibilitychange", hurry, { signal });
  signal.addEventListener("abort", () => clearTimeout(timer));
  run();
}
