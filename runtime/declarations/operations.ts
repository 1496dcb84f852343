/** Prints the operations of an area: what they take and what they answer. */

import { comment, member, nameIn, partsOf, resolved, type Schema, type Schemas, typeOf } from "./schemas.ts";

interface Media {
  readonly schema?: Schema;
}

type Content = Readonly<Record<string, Media>>;

export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters: readonly {
    readonly name: string;
    readonly in: "path" | "query" | "header";
    readonly required: boolean;
    readonly description?: string;
    readonly schema: Schema;
  }[];
  readonly requestBody?: { readonly required: boolean; readonly content: Content };
  readonly responses: Readonly<
    Record<string, { readonly content?: Content; readonly "x-may-be-empty"?: boolean }>
  >;
}

export interface Endpoint extends Operation {
  readonly method: string;
  readonly path: string;
}

function successes({ responses }: Operation): readonly Content[] {
  return Object.entries(responses)
    .filter(([status]) => status.startsWith("2"))
    .map(([, { content = {} }]) => content);
}

function jsonAnswers(operation: Operation): readonly Schema[] {
  return successes(operation).flatMap(content =>
    Object.entries(content).flatMap(([type, { schema }]) =>
      /\bjson\b/.test(type) && schema ? [schema] : [],
    ),
  );
}

const hasMedia = (operation: Operation, type: string): boolean =>
  successes(operation).some(content => type in content);

const isDownload = (operation: Operation): boolean => "206" in operation.responses;

/** Prints the methods of an operation, as members of the interface of its area. */
export function methodsOf(endpoint: Endpoint, schemas: Schemas): string {
  const { operationId, summary, description } = endpoint;
  const input = inputOf(endpoint);
  const about = comment(`${summary}. ${description ?? ""}`, "  ");
  const method = `${about}  ${operationId}(${input}): ${answerOf(endpoint, schemas)};\n`;
  if (!hasMedia(endpoint, "text/event-stream")) return method;
  const [schema] = jsonAnswers(endpoint);
  const live = watchNameOf(operationId);
  const text = `${summary}, now and whenever it changes. Reconnects until the loop or the signal ends it.`;
  return `${method}${comment(text, "  ")}  ${live}(${input}): AsyncIterable<${typeOf(schema ?? {})}>;\n`;
}

/** `listTeams` lists, and `getLiveShow` gets, what `watchTeams` and `watchShow` stream. */
function watchNameOf(operationId: string): string {
  return operationId.replace(/^(list|getLive)/, "watch");
}

/** Parameters that take several names, as a text with commas or as a list. */
const listParameters = ["user_ids", "include", "boards", "projectBoards"];

function inputOf({ path, parameters, requestBody }: Endpoint): string {
  const inner = "    ";
  const members = parameters
    .filter(one => one.in !== "header")
    .map(({ name, description, required, schema }) => {
      // `include` of JSON:API is a text alone.
      const isList =
        schema.type === "string" && listParameters.includes(name) && !path.startsWith("/api/v2/");
      const type = isList ? "string | readonly string[]" : typeOf(schema, inner);
      return { required, text: comment(description, inner) + inner + member(name, type, required) };
    });
  if (requestBody !== undefined) {
    const [media] = Object.values(requestBody.content);
    const type = typeOf(media?.schema ?? {}, inner);
    members.push({
      required: requestBody.required,
      text: inner + member("body", type, requestBody.required),
    });
  }
  if (members.length === 0) return "input?: NoInput, options?: CallOptions";
  const isOptional = members.every(({ required }) => !required);
  const text = members.map(one => one.text).join("\n");
  return `input${isOptional ? "?" : ""}: {\n${text}\n  }, options?: CallOptions`;
}

function answerOf(endpoint: Endpoint, schemas: Schemas): string {
  if (isDownload(endpoint)) return "Answer<Response>";
  if (hasMedia(endpoint, "application/x-ndjson")) {
    const [content] = successes(endpoint);
    const line = typeOf(content?.["application/x-ndjson"]?.schema ?? {});
    return `AsyncIterable<${line}>`;
  }
  const documents = jsonAnswers(endpoint);
  const isBare =
    successes(endpoint).some(content => Object.keys(content).length === 0) ||
    Object.values(endpoint.responses).some(response => response["x-may-be-empty"]);
  if (documents.length === 0) return "Answer<undefined>";
  const document = union(documents.map(one => typeOf(one)));
  const parts = documents.flatMap(one => contentsOf(one, schemas));
  const item = isPaged(endpoint, schemas) ? itemOf(parts, schemas) : null;
  if (item !== null) return `List<${item}, ${document}>`;
  const content = union([...parts.map(({ type }) => type), ...(isBare ? ["undefined"] : [])]);
  return content === document ? `Answer<${content}>` : `Answer<${content}, ${document}>`;
}

const union = (types: readonly string[]): string => [...new Set(types)].join(" | ");

interface Part {
  readonly type: string;
  readonly schema: Schema;
}

/** The part of a document that a call resolves to: its `data`, if it always has that. */
function contentsOf(schema: Schema, schemas: Schemas): readonly Part[] {
  const name = nameIn(schema);
  const whole = resolved(schema, schemas);
  const parts = partsOf(whole);
  if (parts.length > 1) return parts.flatMap(part => contentsOf(part, schemas));
  const data = whole.properties?.data;
  if (data === undefined || whole.required?.includes("data") !== true)
    return [{ type: typeOf(schema), schema }];
  const printed = typeOf(data);
  return [{ type: name === null || !printed.includes("{") ? printed : `${name}["data"]`, schema: data }];
}

function isPaged({ parameters, requestBody }: Endpoint, schemas: Schemas): boolean {
  const cursors = ["lastEvaluatedKey", "cursor", "page[cursor]", "offset"];
  if (parameters.some(({ name }) => cursors.includes(name))) return true;
  const [media] = Object.values(requestBody?.content ?? {});
  return resolved(media?.schema ?? {}, schemas).properties?.lastEvaluatedKey !== undefined;
}

/** The type of an entry of a list; null if the answer is no list. */
function itemOf(parts: readonly Part[], schemas: Schemas): string | null {
  const [part, ...others] = parts;
  if (part === undefined || others.length > 0) return null;
  const { items, properties } = resolved(part.schema, schemas);
  if (items !== undefined) return typeOf(items).includes("{") ? `${part.type}[number]` : typeOf(items);
  return properties?.entries?.items === undefined ? null : `${part.type}["entries"][number]`;
}
