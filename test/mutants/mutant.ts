import type { Mutation } from "../support/mutation.ts";

/** A mistake to plant. */
export interface Mutant extends Mutation {
  readonly name: string;
  /** Texts that the paths of the test files contain. */
  readonly tests: readonly string[];
}
