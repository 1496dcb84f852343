/** Longest wait for a condition, in ms. */
const waitMsMax = 60_000;
const pollMs = 10;

/** Polls a real condition until it holds, for at most {@linkcode waitMsMax}. */
export async function until(what: string, holds: () => Promise<boolean> | boolean): Promise<void> {
  const deadline = Date.now() + waitMsMax;
  while (!(await holds())) {
    if (Date.now() > deadline) throw new Error(`Cannot wait longer than ${waitMsMax} ms until ${what}`);
    await new Promise(resolve => setTimeout(resolve, pollMs));
  }
}
