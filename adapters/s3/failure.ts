/** Why a request to the service has no answer that can be used. */

import { AppError } from "../../lib/errors/mod.ts";
import { retryAfterMs } from "./bounds.ts";

/** No answer came, or not all of it. */
export function lost(cause: unknown, { isWrite }: { readonly isWrite: boolean }): AppError {
  if (isWrite) {
    return new AppError("outcome_unknown", "Cannot tell whether the blob store applied the change", {
      cause,
    });
  }
  return new AppError("storage_unavailable", "Cannot use the blob store: it does not answer", {
    cause,
    retryAfterMs,
  });
}

/** The service answered, and would not. What it says of the reason goes to logs alone. */
export function refused(status: number, reason: string): AppError {
  const message = `Cannot use the blob store: it answered ${status} ${reason}`.trimEnd();
  return isBusy(status)
    ? new AppError("storage_unavailable", message, { retryAfterMs })
    : new AppError("internal_error", message);
}

/** Whether the same request may succeed later. */
export function isBusy(status: number): boolean {
  return status === 429 || status >= 500;
}

/** The code in an answer that is an error, such as `NoSuchKey`; empty where it names none. */
export function reasonOf(xml: string): string {
  return elementOf(xml, "Code");
}

/** The content of the first element of a name in an answer; empty where there is none. */
export function elementOf(xml: string, name: string): string {
  const content = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "";
  const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
  return content.replace(/&(lt|gt|amp|quot|apos);/g, (_, entity: string) => entities[entity] ?? "");
}
