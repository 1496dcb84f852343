/**
 * Why exports fail.
 *
 * @module
 */

import { AppError, type ErrorCode } from "../../errors/mod.ts";
import type { ExportFault } from "./job.ts";

/** Faults that trying again would not mend: what was asked for is wrong, and whoever asked may read why. */
const lasting: ReadonlySet<ErrorCode> = new Set(["limit_reached", "validation_failed", "not_available"]);

/** The fault that an error is, where trying again would not mend it; null where it may. */
export function lastingFault(error: unknown): ExportFault | null {
  if (!(error instanceof AppError) || !lasting.has(error.code)) return null;
  const details = error.fields?.map(({ pointer, detail }) => `${pointer}: ${detail}`) ?? [];
  return { code: error.code, message: [error.message, ...details].join("; ") };
}

/** The fault of a job whose last try ended with this error. */
export function lastFault(error: unknown): ExportFault {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return { code: "internal_error", message: "Something unexpected failed" };
}

/** The fault as messages tell it: nothing of the inside leaves with them. */
export function toldFault({ code, message }: ExportFault): ExportFault {
  return { code, message: lasting.has(code) ? message : "The file could not be made; ask for it again" };
}

/** The export expired while it was made. */
export const expiredFault: ExportFault = {
  code: "not_available",
  message: "Cannot finish the export as it expired before its file was there",
};

/** The password cannot be read any more. */
export const lostSecretFault: ExportFault = {
  code: "internal_error",
  message: "Cannot finish the export: its password cannot be read under the master secret of today",
};
