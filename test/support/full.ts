/** True in a full run (`npm test -- --full`, as in CI): on Redis and PostgreSQL, and on every runtime. */
export const isFullRun: boolean = process.env.TEST_FULL === "1" || process.env.TEST_FULL === "long";
/** True in a long run (`npm test -- --long`, before a release): a full one with every suite on every store, and every random case. */
export const isLongRun: boolean = process.env.TEST_FULL === "long";

/** The reason to leave something to a full run, or false in one. */
export function skipUnlessFull(what: string): string | false {
  return isFullRun ? false : `${what} in a full run: npm test -- --full`;
}

/** The number of random cases, seeds or users of a test: `long` in a long run, else `usual`. */
export function sampleSize(long: number, usual: number): number {
  return isLongRun ? long : usual;
}

/** True where a store in memory answers as late as a busy database does. */
export const isSlowRun: boolean = process.env.TEST_SLOW === "1";
