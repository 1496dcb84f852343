/**
 * Error bodies by response family: a family is one file with one {@linkcode ErrorFamily} and one row in `families.ts`.
 *
 * @module
 */

import type { ErrorCode, FieldError } from "../../base/errors/mod.ts";

/** An error with everything that its body may contain. */
export interface ErrorReport {
  readonly code: ErrorCode;
  readonly status: number;
  readonly title: string;
  readonly message: string;
  readonly retryable: boolean;
  /** Seconds, with 429 and 503. */
  readonly retryAfter: number | undefined;
  readonly fields: readonly FieldError[] | undefined;
  /** Further members of the body. They never replace a standard one. */
  readonly details: Readonly<Record<string, unknown>> | undefined;
  readonly requestId: string;
  /** The request's path as sent, without the query. */
  readonly path: string;
  /** Address of the platform without a slash at its end, or the empty string. */
  readonly publicUrl: string;
}

/** The error format of a response family. */
export interface ErrorFamily {
  readonly mediaType: string;
  /** Media type of successful JSON replies. */
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
