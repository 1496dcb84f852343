/** Failures, as the user sees them. */

import { GrandstandError } from "../../../client/mod.ts";

const detailCharactersMax = 300;

const meanings: Readonly<Record<number, string>> = {
  0: "The platform cannot be reached. Check your connection.",
  401: "Your access token is not valid, or it has ended.",
  403: "Your role does not allow this.",
  404: "There is nothing here, or you have no role that shows it.",
  429: "Too many requests at once. Wait a moment.",
};

export function messageOf(error: unknown): string {
  if (!(error instanceof GrandstandError)) return "The page has a fault. Reload it.";
  const { status } = error;
  const general = status < 500 ? "The platform refused the request." : "The platform has a problem.";
  const detail = detailOf(error).slice(0, detailCharactersMax);
  const meaning = meanings[status] ?? (status < 500 && detail !== "" ? "" : general);
  return `${meaning} ${detail}`.trim();
}

/** Returns the explanation of the server, if it says more than the status. */
export function detailOf({ code, status, message }: GrandstandError): string {
  return status === 0 || status === 404 || code === "bad_answer" ? "" : message;
}

/** Least pause between two runs while nobody sees the page, in ms. */
const hiddenMs = 15_000;
const failedMsMax = 30_000;

interface RepeatOptions {
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
