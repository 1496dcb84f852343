/** Configuration documents in bodies of the control API, and their errors. */

import { AppError, type FieldError } from "../../../base/errors/mod.ts";
import { isMembers, type Members } from "../../../base/json/mod.ts";
import { compileConfig } from "../config/compile.ts";

export const configurationType = "loyalty_configurations";

export const documentErrorsMax = 500;

/**
 * Finds the document in a body, with its JSON Pointer there: the attributes of a JSON:API resource, or the body itself, which then has no `data`.
 *
 * @throws {AppError} `validation_failed`: the body is no object or a malformed resource; `conflict`: the resource is of
 * another type or has another id.
 */
export function sentDocument(
  body: unknown,
  spaceId: string,
): { readonly document: unknown; readonly pointer: string } {
  if (!isMembers(body)) throw invalid([{ pointer: "", detail: "Expected an object" }]);
  if (!Object.hasOwn(body, "data")) return { document: body, pointer: "" };
  const { data } = body;
  if (!isMembers(data)) throw invalid([{ pointer: "/data", detail: "Expected a resource object" }]);
  const errors: FieldError[] = [];
  if (typeof data.type !== "string") errors.push({ pointer: "/data/type", detail: "Expected a text" });
  if (data.id !== undefined && typeof data.id !== "string") {
    errors.push({ pointer: "/data/id", detail: "Expected a text" });
  }
  if (!isMembers(data.attributes)) {
    errors.push({ pointer: "/data/attributes", detail: "Expected the configuration as an object" });
  }
  if (errors.length > 0) throw invalid(errors);
  requireIdentity(data, spaceId);
  return { document: data.attributes, pointer: "/data/attributes" };
}

/**
 * Checks that a document compiles.
 *
 * @throws {AppError} `validation_failed` with every error, located in the body, up to {@linkcode documentErrorsMax}.
 */
export function requireValid({ document, pointer }: ReturnType<typeof sentDocument>): void {
  requireCompiling(document, field => ({ ...field, pointer: pointer + field.pointer }));
}

/**
 * Checks that the document of an earlier version still compiles.
 *
 * @throws {AppError} `validation_failed`: every error is one of the number that names the version.
 */
export function requireUsable(document: unknown): void {
  requireCompiling(document, ({ pointer, detail }) => ({
    pointer: "/version",
    detail: `The document of the version is no longer valid at ${pointer}: ${detail}`,
  }));
}

function requireCompiling(document: unknown, locate: (field: FieldError) => FieldError): void {
  try {
    compileConfig(document);
  } catch (cause) {
    if (!(cause instanceof AppError) || cause.fields === undefined) throw cause;
    const { code, message, fields } = cause;
    const located = fields.slice(0, documentErrorsMax).map(locate);
    throw new AppError(code, message, {
      cause,
      fields: located,
      ...(fields.length > located.length ? { details: { errorsTotal: fields.length } } : {}),
    });
  }
}

function requireIdentity({ type, id }: Members, spaceId: string): void {
  const errors: FieldError[] = [];
  if (type !== configurationType) {
    errors.push({ pointer: "/data/type", detail: `Expected ${configurationType}` });
  }
  if (typeof id === "string" && id.toLowerCase() !== spaceId) {
    errors.push({ pointer: "/data/id", detail: "Expected the id of the space" });
  }
  if (errors.length === 0) return;
  throw new AppError("conflict", "Cannot accept the resource as it is not the one at this path", {
    fields: errors,
  });
}

function invalid(fields: readonly FieldError[]): AppError {
  return new AppError("validation_failed", "Cannot find a loyalty configuration in the body", { fields });
}
