/** Why a request to the service has no answer that can be used. */

import { AppError } from "../../lib/base/errors/mod.ts";
import { s3RetryMs } from "./bounds.ts";

/** No answer came, or not all of it. */
export function lostAnswer(cause: unknown, { isWrite }: { readonly isWrite: boolean }): AppError {
  if (isWrite) {
    return new AppError("outcome_unknown", "Cannot tell if the blob store applied the change", {
      cause,
    });
  }
  return new AppError("storage_unavailable", "Cannot use the blob store: it does not answer", {
    cause,
    retryAfterMs: s3RetryMs,
  });
}

/** Returns the error for a refusal by the service. The reason that it gives goes to logs alone. */
export function refusedRequest(status: number, reason: string): AppError {
  const message = `Cannot use the blob store: it answered ${status} ${reason}`.trimEnd();
  return isBusy(status)
    ? new AppError("storage_unavailable", message, { retryAfterMs: s3RetryMs })
    : new AppError("internal_error", message);
}

/** Returns true if the same request may succeed later. */
export function isBusy(status: number): boolean {
  return status === 429 || status >= 500;
}

/** Returns the code in an answer that is an error, such as `NoSuchKey`; empty if it names none. */
export function errorCodeOf(xml: string): string {
  return elementOf(xml, "Code");
}

/** Returns the content of the first element of a name in an answer; empty if there is none. */
export function elementOf(xml: string, name: string): string {
  const content = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "";
  const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
  return content.replace(/&(lt|gt|amp|quot|apos);/g, (_, entity: string) => entities[entity] ?? "");
}
