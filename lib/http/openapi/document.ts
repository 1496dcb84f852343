/**
 * The OpenAPI 3.1 document of a set of endpoints.
 *
 * @module
 */

import type { Endpoint } from "../dispatch/endpoint.ts";
import { families } from "../errors/failure.ts";
import { describeOperation } from "./operation.ts";
import { type Json, SchemaBook } from "./schema.ts";

/** Facts of the document that no route table knows. */
export interface DocumentInfo {
  readonly title: string;
  readonly version: string;
  /** Address under which clients reach the handler, base path included; empty where it is not known. */
  readonly publicUrl: string;
}

/** Builds the document; schemas that JSON Schema cannot express are described as far as it can. */
export function openapiDocument(endpoints: readonly Endpoint[], info: DocumentInfo): Json {
  const book = new SchemaBook();
  const paths: Record<string, Json> = {};
  const securitySchemes: Record<string, unknown> = {};
  for (const endpoint of endpoints) {
    const path = endpoint.route.path.replace(/:(\w+)/g, "{$1}");
    paths[path] = { ...paths[path], [endpoint.method.toLowerCase()]: describeOperation(endpoint, book) };
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
