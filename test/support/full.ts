/** True in a full run (`npm test -- --full`, as in CI): every suite on every store, every random case. */
export const isFullRun: boolean = process.env.TEST_FULL === "1";

/** The reason to leave something to a full run, or false in one. */
export function skipUnlessFull(what: string): string | false {
  return isFullRun ? false : `${what} in a full run: npm test -- --full`;
}

/** The number of random cases, seeds or users of a test: `full` in a full run, else `quick`. */
export function sampleSize(full: number, quick: number): number {
  return isFullRun ? full : quick;
}
