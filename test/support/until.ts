import assert from "node:assert/strict";

/** Longest wait for a condition, in ms. */
const waitMsMax = 60_000;
const pollMs = 10;
/** Longest time for which a busy machine lets a process wait, in ms. */
const stallMsMax = 10_000;

/** Polls a real condition until it holds, for at most {@linkcode waitMsMax}. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + waitMsMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Cannot wait longer than ${waitMsMax} ms until ${what}`);
    await new Promise(resolve => setTimeout(resolve, pollMs));
  }
}

/** Fails if a call that is promised within some ms took longer, with room for a machine that stands still for a while. */
export function assertInTime(startedAt: number, promisedMs: number): void {
  const tookMs = performance.now() - startedAt;
  assert.ok(tookMs < promisedMs + stallMsMax, `took ${Math.round(tookMs)} ms instead of ${promisedMs}`);
}
