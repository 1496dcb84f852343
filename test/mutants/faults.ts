/** One-line mistakes of a tired colleague, each with the tests that must find it. `npm run mutants` plants them one by one. */

import type { Mutant } from "../support/mutation.ts";
import { authoring } from "./authoring.ts";
import { fans } from "./fans.ts";
import { platform } from "./platform.ts";

/** The mistakes. */
export const mutants: readonly Mutant[] = [...authoring, ...fans, ...platform];
