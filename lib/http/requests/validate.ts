/**
 * Valibot's issues as located errors that never repeat the rejected value.
 *
 * @module
 */

import { type BaseIssue, type GenericSchema, type InferOutput, safeParse } from "valibot";
import { AppError, type FieldError } from "../../errors/mod.ts";

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

/** What an issue means; a message that the schema's author wrote stays. The rejected value is never repeated. */
export function issueDetail(issue: BaseIssue<unknown>): string {
  if (issue.type === "strict_object" && issue.expected === "never") return "Is not a known member";
  if (issue.received === "undefined") return "Is required";
  const received = `eceived ${issue.received}`;
  if (!issue.message.startsWith("Invalid ") || !issue.message.endsWith(received)) return issue.message;
  return expectation(issue) ?? issue.message.slice(0, -received.length).replace(/(?: but r|: R)$/, "");
}

function expectation({ type, expected, requirement, input }: BaseIssue<unknown>): string | null {
  switch (type) {
    case "min_length":
    case "max_length":
      return `Expected at ${bound(type)} ${counted(Number(requirement), input)}`;
    case "min_value":
    case "max_value":
      return typeof requirement === "number" ? `Expected at ${bound(type)} ${requirement}` : null;
    case "max_entries":
      return `Expected no more members than ${requirement}`;
    case "integer":
    case "safe_integer":
      return "Expected a whole number";
    case "finite":
      return "Expected a finite number";
    case "uuid":
      return "Expected a UUID";
    default:
      return expected === null || type === "regex" ? null : `Expected ${named(expected)}`;
  }
}

function bound(type: "min_length" | "max_length" | "min_value" | "max_value"): "least" | "most" {
  return type.startsWith("min") ? "least" : "most";
}

function counted(count: number, input: unknown): string {
  const thing = typeof input === "string" ? "character" : "item";
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** `Object` or `("a" | "b")` as a reader would say it. */
function named(expected: string): string {
  const isChoice = expected.startsWith("(") && expected.endsWith(")");
  const choices = isChoice ? expected.slice(1, -1).split(" | ") : [expected];
  const [last = "", ...others] = choices.map(withArticle).reverse();
  return others.length === 0 ? last : `${others.reverse().join(", ")} or ${last}`;
}

function withArticle(name: string): string {
  if (name === "Object" || name === "Array") return `an ${name.toLowerCase()}`;
  return ["string", "number", "boolean"].includes(name) ? `a ${name}` : name;
}
