/** Faults that are planted in the source, to show that tests find such. The working tree stays as it is. */

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** A change of one place of the source. */
export interface Mutation {
  /** Path from the root of the project. */
  readonly file: string;
  /** Text that is there once. */
  readonly text: string;
  readonly replacement: string;
}

/** A change that is a mistake. */
export interface Mutant extends Mutation {
  readonly name: string;
  /** Texts that the paths of the test files contain which must find it. */
  readonly tests: readonly string[];
}

/**
 * Returns the source of a file with a change.
 *
 * @throws {Error} The text of the mutation is not in its file exactly once.
 */
export function mutated({ file, text, replacement }: Mutation): string {
  const source = readFileSync(root + file, "utf8");
  const [before, after, ...more] = source.split(text);
  if (before === undefined || after === undefined || more.length > 0) {
    throw new Error(`Expected the text once in ${file}: ${text}`);
  }
  return before + replacement + after;
}
