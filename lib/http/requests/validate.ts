/** Validates input by schemas. Errors are located and never repeat the rejected value. */

import type { GenericSchema } from "valibot";
import * as v from "valibot";
import { AppError, type FieldError, jsonPointer } from "../../base/errors/mod.ts";
import { bytesPerUnitMax, utf8Length } from "../../base/text/mod.ts";

export const fieldErrorsMax = 20;
/** Maximum length of a pointer in a reply, in UTF-16 units; a longer pointer is cut. */
export const pointerCharsMax = 256;

/** Longest value that is looked for in a message of the validator, which quotes it, in UTF-16 units. */
const quotedCharsMax = 4_096;

export const wellFormed = v.check((text: string) => text.isWellFormed(), "Expected well-formed Unicode");

const objectSchemas: ReadonlySet<string> = new Set(["object", "loose_object", "strict_object"]);

type Subject = "body" | "parameters";

/**
 * Validates a value and returns the output of the schema.
 *
 * @throws `validation_failed` with up to {@linkcode fieldErrorsMax} located errors.
 */
export function validate<S extends v.GenericSchema>(
  schema: S,
  value: unknown,
  subject: Subject,
): v.InferOutput<S> {
  // An object schema accepts an array and would report only missing members.
  const isStray = Array.isArray(value) && objectSchemas.has(schema.type);
  const result = v.safeParse(schema, isStray ? null : value);
  if (result.success) return result.output;
  const fields = result.issues.slice(0, fieldErrorsMax).map(issue => fieldError(issue, subject));
  const what = subject === "body" ? "body" : "parameters";
  throw new AppError("validation_failed", `Cannot accept the request: its ${what} must match the schema`, {
    fields,
  });
}

function fieldError(issue: v.BaseIssue<unknown>, subject: Subject): FieldError {
  const keys = keysOf(issue);
  const pointer = subject === "body" ? jsonPointer(...keys) : keys.join(".");
  return { pointer: pointer.slice(0, pointerCharsMax).toWellFormed(), detail: issueDetail(issue) };
}

function keysOf({ path }: v.BaseIssue<unknown>): readonly string[] {
  return (path ?? []).map(({ key }) => String(key));
}

/** Converts the issues of a schema to errors. `pointer` is the JSON Pointer of the checked value in its document. */
export function fieldErrors(issues: readonly v.BaseIssue<unknown>[] = [], pointer = ""): FieldError[] {
  return issues.map(issue => ({
    pointer: pointer + jsonPointer(...keysOf(issue)),
    detail: issueDetail(issue),
  }));
}

/** Describes an issue without the rejected value. A message written in the schema stays. */
export function issueDetail(issue: v.BaseIssue<unknown>): string {
  if (issue.type === "strict_object" && issue.expected === "never") return "Is not a known member";
  if (issue.received === "undefined") return "Is required";
  const { length } = issue.received;
  // Looking at a message that quotes megabytes takes as long as they do.
  if (length > quotedCharsMax && issue.message.length > length) {
    return expectation(issue) ?? `Expected ${issue.expected ?? "another value"}`;
  }
  const received = `eceived ${issue.received}`;
  if (!issue.message.startsWith("Invalid ") || !issue.message.endsWith(received)) return issue.message;
  return expectation(issue) ?? issue.message.slice(0, -received.length).replace(/(?: but r|: R)$/, "");
}

function expectation({ type, expected, requirement, input }: v.BaseIssue<unknown>): string | null {
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
      return expected === null || type === "regex" ? null : `Expected ${phrase(expected)}`;
  }
}

function bound(type: "min_length" | "max_length" | "min_value" | "max_value"): "least" | "most" {
  return type.startsWith("min") ? "least" : "most";
}

function counted(count: number, input: unknown): string {
  const thing = typeof input === "string" ? "character" : "item";
  return `${count} ${thing}${count === 1 ? "" : "s"}`;
}

/** Formats an expectation such as `Object` or `("a" | "b")` for people. */
function phrase(expected: string): string {
  const isChoice = expected.startsWith("(") && expected.endsWith(")");
  const choices = isChoice ? expected.slice(1, -1).split(" | ") : [expected];
  const [last = "", ...others] = choices.map(withArticle).reverse();
  return others.length === 0 ? last : `${others.reverse().join(", ")} or ${last}`;
}

function withArticle(name: string): string {
  if (name === "Object" || name === "Array") return `an ${name.toLowerCase()}`;
  return ["string", "number", "boolean"].includes(name) ? `a ${name}` : name;
}

/** Named strings, numbers and booleans that callers choose: data and metadata. */
export type Properties = Readonly<Record<string, string | number | boolean>>;

interface PropertiesBounds {
  readonly name: string;
  readonly entriesMax: number;
  readonly nameCharactersMax: number;
  readonly textCharactersMax: number;
}

/** Most bytes of properties as JSON: a user can store many of them. */
export const propertiesBytesMax = 8_192;

/** Tests if properties take no more than {@linkcode propertiesBytesMax} as JSON. */
export function arePropertiesSmall(properties: object): boolean {
  const text = JSON.stringify(properties);
  return text.length * bytesPerUnitMax <= propertiesBytesMax || (utf8Length(text) ?? 0) <= propertiesBytesMax;
}

/** What a number among properties must be: longer ids would change silently. */
export const propertyNumberExpectation = "Expected a number within ±(2^53 - 1); send a longer id as a string";

export function propertiesSchema(bounds: PropertiesBounds): v.GenericSchema<Properties> {
  const { name, entriesMax, nameCharactersMax, textCharactersMax } = bounds;
  const text = v.pipe(v.string(), v.maxLength(textCharactersMax));
  const properties = named(
    name,
    v.pipe(
      v.record(
        v.pipe(v.string(), v.maxLength(nameCharactersMax)),
        v.union([
          text,
          v.pipe(
            v.number(),
            v.minValue(Number.MIN_SAFE_INTEGER, propertyNumberExpectation),
            v.maxValue(Number.MAX_SAFE_INTEGER, propertyNumberExpectation),
          ),
          v.boolean(),
        ]),
      ),
      v.maxEntries(entriesMax),
      v.check(
        (input: Properties) => arePropertiesSmall(input),
        `Expected at most ${propertiesBytesMax} bytes of JSON`,
      ),
    ),
  );
  const refused: v.GenericSchema<never> = v.never("Expected an object of named properties");
  // A record schema alone accepts an array and skips names that objects inherit.
  return v.lazy((input): v.GenericSchema<Properties> => {
    if (typeof input !== "object" || input === null) return properties;
    const hasInherited = ["constructor", "prototype"].some(name => Object.hasOwn(input, name));
    return Array.isArray(input) || hasInherited ? refused : properties;
  });
}

const names = new WeakMap<GenericSchema, string>();

/**
 * Names a schema: the OpenAPI document has it once under `components/schemas` and refers to it elsewhere.
 *
 * @example
 * ```ts
 * const EntrySchema = named("LeaderboardEntry", v.object({ rank: v.number(), userId: v.string() }));
 * ```
 */
export function named<S extends GenericSchema>(name: string, schema: S): S {
  names.set(schema, name);
  return schema;
}

export function nameOf(schema: GenericSchema): string | null {
  return names.get(schema) ?? null;
}

/** Adds what documents say of a value. */
export function described<S extends GenericSchema>(schema: S, description: string) {
  return v.pipe(schema, v.description(description));
}

/** Returns the schema of a text with what documents say of it. */
export function describedText(description: string) {
  return described(v.string(), description);
}

export const userIdCharactersMax = 128;
/** What an id of a user must be. Lists of ids are separated by commas, and spaces around them are not part of an id. */
export const userIdExpectation = `Expected 1 to ${userIdCharactersMax} characters without commas, and without a space at either end`;

const shape = /^[^\s,](?:[^,]*[^\s,])?$/;

export function isUserId(value: unknown): value is string {
  return (
    typeof value === "string" &&
    value.length <= userIdCharactersMax &&
    shape.test(value) &&
    value.isWellFormed()
  );
}

/** The id of a user, such as a UUID of ours or an id of the caller's own. */
export const UserIdSchema = v.pipe(
  v.string(),
  v.description("Id of the user"),
  v.minLength(1),
  v.maxLength(userIdCharactersMax),
  v.check((text: string) => isUserId(text), userIdExpectation),
);
