/** The OpenAPI 3.1 document of a set of endpoints. */

import { type GenericSchema, getDescription } from "valibot";
import type { ErrorCode } from "../../base/errors/mod.ts";
import type { Endpoint } from "../dispatch/endpoint.ts";
import { errorFacts, families } from "../errors/failure.ts";
import { idempotencyKeyCharsMax } from "../idempotency/idempotency.ts";
import { type Json, SchemaBook } from "./schema.ts";

/** Facts of the document that no route table knows. */
interface DocumentInfo {
  readonly title: string;
  readonly version: string;
  /** Address under which clients reach the handler, base path included; empty where it is not known. */
  readonly publicUrl: string;
}

/** Builds the document; schemas that JSON Schema cannot express are described as far as it can. */
export async function openapiDocument(endpoints: readonly Endpoint[], info: DocumentInfo): Promise<Json> {
  const book = new SchemaBook();
  const paths: Record<string, Json> = {};
  const securitySchemes: Record<string, unknown> = {};
  for (const endpoint of endpoints) {
    const path = endpoint.route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = {
      ...paths[path],
      [endpoint.method.toLowerCase()]: await describeOperation(endpoint, book),
    };
    for (const { schemes } of endpoint.route.auth.security) Object.assign(securitySchemes, schemes);
  }
  const errors = Object.values(families).map(({ schemaName, schema }) => [schemaName, schema]);
  const schemas = { ...book.components(), ...Object.fromEntries(errors) };
  return {
    openapi: "3.1.0",
    info: { title: info.title, version: info.version },
    servers: [{ url: info.publicUrl === "" ? "/" : info.publicUrl }],
    tags: [...new Set(endpoints.map(endpoint => endpoint.area))].map(name => ({ name })),
    paths,
    components: { schemas, headers: sharedHeaders, securitySchemes },
  };
}

const sharedHeaders: Json = {
  RequestId: { description: "Id of the request, for logs and support", schema: { type: "string" } },
  RetryAfter: { description: "Seconds after which a retry may succeed", schema: { type: "integer" } },
  RateLimitPolicy: { description: 'Rules, for example "minute";q=100;w=60', schema: { type: "string" } },
  RateLimit: { description: 'What is left, for example "minute";r=57;t=31', schema: { type: "string" } },
};

const idempotencyParameter: Json = {
  name: "Idempotency-Key",
  in: "header",
  required: false,
  description: "Makes a repetition of the request answer as the first one did, for a day",
  schema: { type: "string", minLength: 1, maxLength: idempotencyKeyCharsMax },
};
const idempotencyCodes = [
  "validation_failed",
  "idempotency_conflict",
  "idempotency_mismatch",
  "storage_unavailable",
] as const;

const tokenCodes = ["missing_token", "token_expired", "invalid_token"] as const;
const keyCodes = ["missing_api_key", "invalid_api_key"] as const;

async function describeOperation(endpoint: Endpoint, book: SchemaBook): Promise<Json> {
  const { route, body } = endpoint;
  const { headers = [], query = [] } = route.auth;
  return {
    tags: [endpoint.area],
    operationId: route.operation,
    summary: route.summary,
    description: route.description,
    security: securityOf(endpoint),
    parameters: [
      ...parameters(route.params, "path", book),
      ...parameters(route.query, "query", book),
      ...(route.idempotent === undefined ? [] : [idempotencyParameter]),
      ...query.map(each => ({ ...each, in: "query", required: false, schema: { type: "string" } })),
      ...headers.map(header => ({ ...header, in: "header", required: true, schema: { type: "string" } })),
    ],
    requestBody: body === null ? undefined : requestBody(endpoint, book),
    responses: { ...(await successes(endpoint, book)), ...failures(endpoint) },
  };
}

function securityOf({ route: { auth } }: Endpoint): readonly Json[] {
  const options = auth.security.map(({ schemes, requires = [] }) =>
    Object.fromEntries(Object.keys(schemes).map((name, index) => [name, index === 0 ? requires : []])),
  );
  return auth.optional === true ? [{}, ...options] : options;
}

function parameters(schema: GenericSchema | undefined, place: "path" | "query", book: SchemaBook): Json[] {
  if (schema === undefined) return [];
  const { properties = {}, required } = book.parametersOf(schema);
  const demanded = Array.isArray(required) ? required : [];
  return Object.entries(properties as Record<string, Json>).map(([name, { description, ...described }]) => ({
    name,
    in: place,
    required: place === "path" || demanded.includes(name),
    description,
    schema: typed(described),
  }));
}

/** A default is written as it is sent, which is text. */
function typed(schema: Json): Json {
  const isNumeric = schema.type === "integer" || schema.type === "number";
  return isNumeric && typeof schema.default === "string"
    ? { ...schema, default: Number(schema.default) }
    : schema;
}

function requestBody({ route, body }: Endpoint, book: SchemaBook): Json {
  if (body === null) return {};
  const described = route.body?.described ?? body.schema;
  const schema = body.isStreamed
    ? { type: "string", format: "binary", description: getDescription(described) }
    : book.refer(described, componentName(route.operation, "body"), "input");
  const example = route.body?.example;
  const media = { schema, example };
  return {
    description: `At most ${body.bytesMax.toLocaleString("en")} bytes`,
    required: !body.optional,
    content: Object.fromEntries(body.mediaTypes.map(type => [type, media])),
  };
}

async function successes({ route, limit, family }: Endpoint, book: SchemaBook): Promise<Json> {
  const headers = {
    "X-Request-Id": { $ref: "#/components/headers/RequestId" },
    ...(limit === null
      ? {}
      : {
          "RateLimit-Policy": { $ref: "#/components/headers/RateLimitPolicy" },
          RateLimit: { $ref: "#/components/headers/RateLimit" },
        }),
  };
  const entries = Object.entries(route.responses).map(
    async ([status, { description, schema: handled, described, lines, isStreamable, mayBeEmpty }]) => {
      if (lines !== undefined) {
        const line = book.refer(lines, componentName(route.operation, `line${status}`), "output");
        return [status, { description, headers, content: { "application/x-ndjson": { schema: line } } }];
      }
      const schema = described === undefined ? handled : await described();
      if (schema === undefined) return [status, { description, headers }];
      const reference = book.refer(schema, componentName(route.operation, `answer${status}`), "output");
      const events = isStreamable === true ? { "text/event-stream": { schema: { type: "string" } } } : {};
      const content = { [family.successMediaType]: { schema: reference }, ...events };
      return [status, { description, headers, content, "x-may-be-empty": mayBeEmpty }];
    },
  );
  return Object.fromEntries(await Promise.all(entries));
}

function failures(endpoint: Endpoint): Json {
  const { mediaType, schemaName } = endpoint.family;
  const content = { [mediaType]: { schema: { $ref: `#/components/schemas/${schemaName}` } } };
  const byStatus: Record<string, ErrorCode[]> = {};
  for (const code of codesOf(endpoint)) {
    const { status } = errorFacts[code];
    if (!(status in endpoint.route.responses)) byStatus[status] = [...(byStatus[status] ?? []), code];
  }
  const entries = Object.entries(byStatus).map(([status, codes]) => {
    const waits = status === "429" || status === "503";
    const headers = {
      "X-Request-Id": { $ref: "#/components/headers/RequestId" },
      ...(waits ? { "Retry-After": { $ref: "#/components/headers/RetryAfter" } } : {}),
    };
    return [status, { description: codes.join(", "), headers, content }];
  });
  return Object.fromEntries(entries);
}

function codesOf({ route, limit, area }: Endpoint): Set<ErrorCode> {
  const codes = new Set<ErrorCode>();
  if (route.params !== undefined || route.query !== undefined) codes.add("validation_failed");
  for (const { schemes, requires = [] } of route.auth.security) {
    const isKey = Object.values(schemes).some(({ type }) => type === "apiKey");
    for (const code of isKey ? keyCodes : tokenCodes) codes.add(code);
    if (requires.length > 0) codes.add("insufficient_scope");
  }
  for (const code of route.auth.errors ?? []) codes.add(code);
  if (route.body !== undefined) {
    const bodyCodes = [
      "bad_json",
      "validation_failed",
      "payload_too_large",
      "unsupported_media_type",
    ] as const;
    for (const code of bodyCodes) codes.add(code);
  }
  if (limit !== null) codes.add("rate_limited");
  if (limit?.onLimiterFailure === "reject") codes.add("storage_unavailable");
  if (route.idempotent !== undefined) for (const code of idempotencyCodes) codes.add(code);
  for (const code of route.errors ?? []) codes.add(code);
  codes.add("internal_error");
  // Servers refuse requests beyond those that they have in flight.
  codes.add("busy");
  if (area !== "system") codes.add("storage_unavailable");
  return codes;
}

function componentName(operation: string, part: string): string {
  const upper = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);
  return `${upper(operation)}${upper(part)}`;
}
