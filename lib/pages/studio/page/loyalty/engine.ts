/** The loyalty engine of the platform, as it checks configurations. It loads where it is needed. */

import { AppError, type FieldError } from "../../../../base/errors/mod.ts";
import { compileConfig } from "../../../../fans/loyalty/config/compile.ts";

/** Lists what is wrong with a configuration. */
export function faultsOf(document: unknown): readonly FieldError[] {
  return attempt(() => void compileConfig(document)).faults;
}

/** Runs something with the engine, and says what it refuses. */
export function attempt<T>(run: () => T): { readonly value?: T; readonly faults: readonly FieldError[] } {
  try {
    return { value: run(), faults: [] };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return { faults: error.fields ?? [{ pointer: "", detail: error.message }] };
  }
}
