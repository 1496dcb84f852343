/**
 * Error bodies by response family: a family is one file with one {@linkcode ErrorFamily} and one row in `families.ts`.
 *
 * @module
 */

import type { ErrorCode, FieldError } from "../../errors/mod.ts";

/** An error with everything that a body may tell of it. */
export interface ErrorReport {
  readonly code: ErrorCode;
  readonly status: number;
  readonly title: string;
  readonly message: string;
  readonly retryable: boolean;
  /** Seconds, with 429 and 503. */
  readonly retryAfter: number | undefined;
  readonly fields: readonly FieldError[] | undefined;
  /** Members beside those that every error has; they never replace one of those. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly requestId: string;
  /** The request's path as sent, without the query. */
  readonly path: string;
  /** Address of the platform without a slash at its end, or the empty string. */
  readonly publicUrl: string;
}

/** How one family writes errors. */
export interface ErrorFamily {
  /** Of errors. */
  readonly mediaType: string;
  /** Of the JSON that routes of the family answer when all is well. */
  readonly successMediaType: string;
  /** Name of the schema in the OpenAPI document. */
  readonly schemaName: string;
  /** JSON Schema of the body. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** Builds the JSON body. */
  readonly body: (failure: ErrorReport) => unknown;
}

/** JSON Schema of one located input error. */
export const fieldErrorSchema: Readonly<Record<string, unknown>> = {
  type: "object",
  required: ["pointer", "detail"],
  properties: {
    pointer: { type: "string", description: "JSON Pointer into the body, or the name of a parameter" },
    detail: { type: "string" },
    reason: { type: "string", description: "Short code of the fault" },
  },
};
