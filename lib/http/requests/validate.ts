/**
 * Valibot's issues as located errors that never repeat the rejected value.
 *
 * @module
 */

import { type BaseIssue, type GenericSchema, type InferOutput, safeParse } from "valibot";
import { AppError, type FieldError } from "../../errors/mod.ts";
import { issueDetail } from "../errors/issue_detail.ts";

/** Most errors that one answer lists. */
export const fieldErrorsMax = 20;
/** Longest pointer in an answer, in UTF-16 units; a longer one is cut. */
export const pointerCharsMax = 256;

const objectSchemas: ReadonlySet<string> = new Set(["object", "loose_object", "strict_object"]);

/** What is validated: the body is located by JSON Pointers, parameters by their names. */
export type Subject = "body" | "parameters";

/**
 * The value as the schema gives it out.
 *
 * @throws `validation_failed` with up to {@linkcode fieldErrorsMax} located errors.
 */
export function validate<S extends GenericSchema>(
  schema: S,
  value: unknown,
  subject: Subject,
): InferOutput<S> {
  // An object schema takes a list for an object, of which nothing but the members is missing.
  const isStray = Array.isArray(value) && objectSchemas.has(schema.type);
  const result = safeParse(schema, isStray ? null : value);
  if (result.success) return result.output;
  const fields = result.issues.slice(0, fieldErrorsMax).map(issue => fieldError(issue, subject));
  const what = subject === "body" ? "body" : "parameters";
  throw new AppError("validation_failed", `Cannot accept the request: its ${what} must match the schema`, {
    fields,
  });
}

function fieldError(issue: BaseIssue<unknown>, subject: Subject): FieldError {
  const keys = (issue.path ?? []).map(item => String(item.key));
  const pointer = subject === "body" ? keys.map(escapeKey).join("") : keys.join(".");
  return { pointer: pointer.slice(0, pointerCharsMax).toWellFormed(), detail: issueDetail(issue) };
}

function escapeKey(key: string): string {
  return `/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
}
