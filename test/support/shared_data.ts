/** Data sets of real input, which only some machines have; tests that need one are skipped elsewhere. */

import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

/** The path of a data set, or the reason to skip the tests that need it. */
export type SharedData =
  | { readonly path: string; readonly skip: false }
  | { readonly path: null; readonly skip: string };

/** Looks for a data set by its path in the folder of data sets. */
export function sharedData(name: string): SharedData {
  const place = `../shared/data/${name}`;
  const path = fileURLToPath(new URL(`../../${place}`, import.meta.url));
  return existsSync(path) ? { path, skip: false } : { path: null, skip: `the data is not there: ${place}` };
}
