/**
 * What the routes that write have in common: their context, bodies and errors, and the way from a call to the writer.
 *
 * @module
 */

import type * as v from "valibot";
import { uuid } from "../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../auth/mod.ts";
import { AppError } from "../../base/errors/mod.ts";
import { type Guard, jsonApiMediaType, type Reply } from "../../http/mod.ts";
import type { Resource, ResourceType } from "../table/mod.ts";
import type { Author } from "./access/author.ts";
import type { Home } from "./entity.ts";
import { type AuthorCall, answer } from "./jsonapi/calls.ts";
import type { ResourceObject as Answered } from "./jsonapi/documents.ts";
import type { ResourceObject } from "./jsonapi/input.ts";
import { type Query, viewOf } from "./jsonapi/queries.ts";
import { bodySchema, ResourceBody } from "./jsonapi/schemas.ts";
import { type Kind, ownerOf } from "./kind.ts";
import { onceOf } from "./once.ts";
import type { Reader } from "./read.ts";
import { type ControlServices, homeFor, homeOf, type Kinds } from "./services.ts";
import { refsOf, type WriteOperation, type Writer } from "./write.ts";

/** Largest body of the control API. */
export const bodyBytesMax = 6 * 1_048_576;

/** What the routes of resources need. */
export interface ResourceRoutesContext {
  readonly services: ControlServices;
  readonly kinds: Kinds;
  readonly reader: Reader;
  readonly writer: Writer;
  readonly author: Guard<Author>;
  readonly random: RandomBytes;
}

/** Errors of every route that writes. */
export const writeErrors = [
  "not_found",
  "forbidden",
  "conflict",
  "project_archived",
  "precondition_failed",
  "unprocessable",
  "not_acceptable",
] as const;

/** Makes the change that a request asks for, if it matches `If-Match`. */
export async function write(
  call: AuthorCall,
  operation: WriteOperation,
  { services, writer }: ResourceRoutesContext,
  isAnswered = true,
) {
  const query = call.query as Query;
  const shown = {
    base: services.base,
    fields: viewOf(operation.kind.resource, query).fields,
    // Spares reading heavy attributes for an answer that shows nothing.
    isListed: !isAnswered,
  };
  const [data = null] = await writer.write({
    author: call.principal,
    operations: [{ ...operation, ifMatch: call.request.headers.get("if-match") ?? undefined }],
    requestId: call.requestId,
    isDry: isDryRun(call),
    shown,
    once: onceOf(call),
  });
  return { data: data ?? { type: operation.kind.resource.type, id: operation.id, attributes: {} } };
}

/**
 * Makes the id of a new record: of its own for what is a home, else one that leads to its home. Returns the home as well, or null for
 * one that is not known yet.
 *
 * @param homes Homes of records that the same request creates, by their ids.
 */
export async function newId(
  kind: Kind,
  object: ResourceObject,
  parent: WriteOperation["parent"],
  { services, kinds, random }: Pick<ResourceRoutesContext, "services" | "kinds" | "random">,
  homes: ReadonlyMap<string, Home> = new Map(),
): Promise<{ readonly id: string; readonly home: Home | null }> {
  const own = uuid(random);
  if (kind.homeOf !== undefined) return { id: own, home: kind.homeOf(own) };
  const under = ownerOf(kind, refsOf(object), parent);
  const above = under === null ? undefined : kinds[under.type];
  if (under === null || above === undefined) return { id: own, home: null };
  const found = homes.get(under.id) ?? (await homeOf(services, above, under.id));
  if (found === null) return { id: own, home: null };
  const home = await homeFor(services, kind, found);
  const isNew = homes.get(home.id)?.id === home.id;
  return { id: await services.places.newId(home, { isNew }), home };
}

/** Answers with a new resource, or with the one that would be created. */
export function created(call: AuthorCall, { data }: { readonly data: Answered }): Reply {
  if (isDryRun(call)) return answer(call, { data, meta: { dry_run: true } });
  const headers = { etag: String(data.meta?.etag), location: data.links?.self ?? "" };
  return answer(call, { data }, headers, 201);
}

/** Returns the resource object of a body, which must have the type of the route. */
export function objectOf(call: AuthorCall, type: ResourceType): ResourceObject {
  const { data } = call.body as v.InferOutput<typeof ResourceBody>;
  if (data.type !== type) throw mismatch("/data/type", `Expected the type ${type}`);
  return data;
}

/** Returns the resource object of a creation, which has no id yet. */
export function newObjectOf(call: AuthorCall, type: ResourceType): ResourceObject {
  const object = objectOf(call, type);
  if (object.id === undefined) return object;
  throw new AppError("forbidden", "Cannot take an id of the client: leave it out", {
    fields: [{ pointer: "/data/id", detail: "Is set by the platform" }],
  });
}

/** Creates the error for a resource object that is not the one of the address. */
export function mismatch(pointer: string, detail: string): AppError {
  return new AppError("conflict", "Cannot take the resource as it is another one than the address names", {
    fields: [{ pointer, detail }],
  });
}

/** Returns true if a request asks what it would do. */
export function isDryRun({ query }: AuthorCall): boolean {
  return (query as Query).dry_run === "true";
}

/** Returns the body of a creation or change. */
export function bodyOf(resource: Resource, isNew: boolean) {
  const { type, example = {}, changeExample = example, relationships } = resource;
  const needed = Object.entries(relationships).filter(([, { required }]) => isNew && required === true);
  const linked = needed.map(([name, { type: to }]) => [name, { data: { type: to, id: exampleId } }]);
  const related = linked.length === 0 ? {} : { relationships: Object.fromEntries(linked) };
  const sent = { data: { type, attributes: isNew ? example : changeExample, ...related } };
  return {
    schema: ResourceBody,
    described: bodySchema(resource, isNew),
    maxBytes: bodyBytesMax,
    mediaTypes: [jsonApiMediaType],
    example: sent as never,
  };
}

export const exampleId = "2f1d0c5e-6a70-4b1e-9d52-0c8a4f6b7e31";
