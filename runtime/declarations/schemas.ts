/** Prints JSON Schema of the OpenAPI document as types of TypeScript. */

export interface Schema {
  readonly $ref?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly prefixItems?: readonly Schema[];
}

export type Schemas = Readonly<Record<string, Schema>>;

export function nameIn({ $ref }: Schema): string | null {
  return $ref === undefined ? null : ($ref.split("/").at(-1) ?? null);
}

/** Returns the schema itself, or the one that it refers to. */
export function resolved(schema: Schema, schemas: Schemas): Schema {
  const name = nameIn(schema);
  return name === null ? schema : resolved(schemas[name] ?? {}, schemas);
}

/** Returns the parts of a choice; any other schema is the only part of itself. */
export function partsOf({ anyOf, oneOf, ...schema }: Schema): readonly Schema[] {
  return anyOf ?? oneOf ?? [schema];
}

/** Names of the schemas that a schema refers to, also through others. */
export function namesUsed(schema: unknown, schemas: Schemas, into: Set<string> = new Set()): Set<string> {
  if (typeof schema !== "object" || schema === null) return into;
  const name = nameIn(schema as Schema);
  if (name !== null && !into.has(name)) {
    into.add(name);
    namesUsed(schemas[name], schemas, into);
  }
  for (const part of Object.values(schema)) namesUsed(part, schemas, into);
  return into;
}

/** Returns a doc comment with the indent of what follows it; empty for no text. */
export function comment(text: string | undefined, indent = ""): string {
  const line = (text ?? "").replaceAll("*/", "*\\/").replace(/\s+/g, " ").trim();
  return line === "" ? "" : `${indent}/** ${line} */\n`;
}

export function member(name: string, type: string, isRequired: boolean): string {
  const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
  return `readonly ${key}${isRequired ? "" : "?"}: ${type};`;
}

/** Prints the type of a schema; a line after the first one begins with the indent. */
export function typeOf(schema: Schema | boolean, indent = ""): string {
  if (typeof schema === "boolean") return schema ? "unknown" : "never";
  const name = nameIn(schema);
  if (name !== null) return name;
  if ("const" in schema) return JSON.stringify(schema.const);
  const { enum: values, anyOf, oneOf, allOf, type } = schema;
  if (values !== undefined) return values.map(value => JSON.stringify(value)).join(" | ");
  const choice = anyOf ?? oneOf;
  if (choice !== undefined) return joined(choice.flatMap(partsOf), " | ", indent);
  if (allOf !== undefined) return joined(allOf, " & ", indent);
  if (Array.isArray(type))
    return joined(
      type.map(one => ({ ...schema, type: one })),
      " | ",
      indent,
    );
  switch (type) {
    case "object":
      return objectType(schema, indent);
    case "array":
      return arrayType(schema, indent);
    case "integer":
      return "number";
    case "string":
      return schema.format === "binary" ? "RawBody" : "string";
    default:
      return typeof type === "string" ? type : "unknown";
  }
}

function joined(parts: readonly Schema[], by: " | " | " & ", indent: string): string {
  const types = new Set(parts.map(part => typeOf(part, indent)));
  const needsBrackets = by === " & ";
  return [...types].map(one => (needsBrackets && one.includes(" | ") ? `(${one})` : one)).join(by);
}

function objectType(
  { properties, required = [], additionalProperties = true }: Schema,
  indent: string,
): string {
  if (properties === undefined) return `Readonly<Record<string, ${typeOf(additionalProperties, indent)}>>`;
  const inner = `${indent}  `;
  const members = Object.entries(properties).map(
    ([name, one]) =>
      comment(one.description, inner) + inner + member(name, typeOf(one, inner), required.includes(name)),
  );
  return members.length === 0 ? "Readonly<Record<string, never>>" : `{\n${members.join("\n")}\n${indent}}`;
}

function arrayType({ items = {}, prefixItems }: Schema, indent: string): string {
  if (prefixItems !== undefined)
    return `readonly [${prefixItems.map(one => typeOf(one, indent)).join(", ")}]`;
  const item = typeOf(items, indent);
  return / [|&] /.test(item) || item.startsWith("readonly ") ? `readonly (${item})[]` : `readonly ${item}[]`;
}
