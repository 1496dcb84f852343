/**
 * Addresses of resources, and the parts of calls that all routes of the control API share.
 *
 * @module
 */

import * as v from "valibot";
import { isUuid } from "../../../auth/crypto/mod.ts";
import { AppError, invalidField } from "../../../base/errors/mod.ts";
import { type Call, jsonApiMediaType, type Reply } from "../../../http/mod.ts";
import { definitionOf, type Resource, type ResourceType } from "../../table/mod.ts";
import type { Author } from "../access/author.ts";
import type { ControlServices } from "../services.ts";
import type { Document } from "./documents.ts";
import { pascal } from "./schemas.ts";

/** A request of an authoring user. */
export type AuthorCall = Call<Author, unknown, unknown, unknown>;

/** Answers in the media type that the client accepts: JSON, or JSON:API as the route has it. */
export function answer(
  { request }: Pick<AuthorCall, "request">,
  document: Document,
  headers: Readonly<Record<string, string>> = {},
  status = 200,
  mediaType = jsonApiMediaType,
): Reply {
  const accept = request.headers.get("accept");
  const type = acceptedType(accept, mediaType);
  return { status, json: document, headers: { ...headers, vary: "accept", "content-type": type } };
}

/** @throws {AppError} `not_acceptable`: JSON:API is asked for with other parameters alone, which it forbids. */
function acceptedType(accept: string | null, mediaType: string): string {
  const extension = mediaType.slice(jsonApiMediaType.length);
  const types = (accept ?? "").split(",").map(each => each.trim().toLowerCase());
  const named = types.filter(each => each.split(";", 1)[0] === jsonApiMediaType);
  const isPlain = (each: string): boolean =>
    !/;\s*(?!q=|profile=)/.test(each.replace(/;\s+/g, ";").replace(extension, ""));
  if (named.some(isPlain)) return mediaType;
  if (types.some(each => each.startsWith("application/json"))) return "application/json";
  if (named.length > 0 && !types.some(each => each.startsWith("*/*") || each.startsWith("application/*"))) {
    throw new AppError(
      "not_acceptable",
      `Cannot answer as asked: accept ${mediaType} without other parameters`,
    );
  }
  return mediaType;
}

/** Returns the address of a request. */
export function selfOf({ base }: ControlServices, { request }: AuthorCall): string {
  const { pathname, search } = new URL(request.url, "http://localhost");
  return base + pathname.slice(pathname.indexOf("/api/v2") + "/api/v2".length) + search;
}

/** Returns the id in the path of a request, whose place the type names. */
export function idOf(call: AuthorCall, type: ResourceType): string {
  const id = (call.params as Readonly<Record<string, string>>)[parameterOf(type)] ?? "";
  if (!isUuid(id))
    throw invalidField("Cannot find the resource by this id", parameterOf(type), "Expected a UUID");
  return id.toLowerCase();
}

/** Returns the schema of a path with the id of a record. */
export function idParams(type: ResourceType) {
  return v.object({ [parameterOf(type)]: v.pipe(v.string(), v.description(`Id of the ${nounOf(type)}`)) });
}

/** `event_templates` becomes `eventTemplateId`. */
export function parameterOf(type: ResourceType): string {
  const name = nameOf(type);
  return `${name.charAt(0).toLowerCase()}${name.slice(1)}Id`;
}

/** `event_templates` becomes `EventTemplate`. */
export function nameOf(type: ResourceType): string {
  return pascal(type).replace(/ies$/, "y").replace(/s$/, "");
}

/** Returns the path of a list, under a parent or at the top. */
export function pathUnder(resource: Resource, under: ResourceType | null): `/${string}` {
  const parent = under === null ? "" : `/${under}/:${parameterOf(under)}`;
  return `/api/v2${parent}/${pathOf(resource, under)}`;
}

/** Returns the last segment of the path of a list. */
export function pathOf({ lists, type }: Resource, under: ResourceType | null): string {
  return lists.find(list => list.under === under)?.path ?? type;
}

/** `event_templates` becomes `event templates`. */
export function words(type: ResourceType): string {
  return type.replaceAll("_", " ");
}

/** Puts the indefinite article before a noun. */
export function article(noun: string): string {
  return `${/^[aeiou]/.test(noun) ? "an" : "a"} ${noun}`;
}

/** Returns the name of one record of a type. */
export function nounOf(type: ResourceType): string {
  return definitionOf(type)?.noun ?? words(type);
}

/** The place of a page in a list whose pages have numbers. */
interface NumberedPage {
  /** From 1. */
  readonly number: number;
  readonly size: number;
  readonly total: number;
}

export function pageLinks(
  self: string,
  next: string | null,
  numbered?: NumberedPage,
): Readonly<Record<string, string | null>> {
  if (numbered !== undefined) {
    const { number, size, total } = numbered;
    const at = (other: number): string => withParameter(self, "page[number]", String(other));
    return {
      self,
      first: at(1),
      prev: number > 1 ? at(number - 1) : null,
      next: number * size < total ? at(number + 1) : null,
    };
  }
  return {
    self,
    first: withParameter(self, "page[cursor]", null),
    prev: null,
    next: next === null ? null : withParameter(self, "page[cursor]", next),
  };
}

function withParameter(self: string, name: string, value: string | null): string {
  const url = new URL(self);
  if (value === null) url.searchParams.delete(name);
  else url.searchParams.set(name, value);
  return url.href;
}
