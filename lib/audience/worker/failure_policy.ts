/**
 * What the failure of an action means for it.
 *
 * @module
 */

import { AppError, type ErrorCode } from "../../errors/mod.ts";

/** Failures that no repetition cures: what was reported is not what the space takes. */
const permanent: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "validation_failed",
  "forbidden",
  "not_found",
  "rate_limited",
]);

/**
 * `refused`: it will never take effect. `outage`: the store is out of reach, which says nothing about the action. `failed`:
 * it may take effect at another try.
 */
export type Verdict = "refused" | "outage" | "failed";

/** Judges a failure. */
export function verdictOf(error: unknown): Verdict {
  if (!(error instanceof AppError)) return "failed";
  if (error.code === "storage_unavailable") return "outage";
  return permanent.has(error.code) ? "refused" : "failed";
}

/** The failure in words, for dead letters. */
export function reasonOf(error: unknown): { readonly code: ErrorCode; readonly message: string } {
  if (!(error instanceof AppError))
    return { code: "internal_error", message: "The action failed unexpectedly" };
  const [field] = error.fields ?? [];
  const where = field === undefined ? "" : ` (${field.pointer}: ${field.detail})`;
  return { code: error.code, message: error.message + where };
}
