/**
 * Entity tags and the preconditions that name them (RFC 9110, sections 8.8.3 and 13.1).
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";

/** Maximum length of a precondition, in UTF-16 units. */
export const preconditionCharsMax = 4_096;

/** Returns the entity tag of a version number. */
export function versionTag(version: number): string {
  return `"v${version}"`;
}

/**
 * Returns true if a list of entity tags, or `*`, matches the current tag. Null means that there is no resource. Weak tags
 * match only in `If-None-Match`.
 */
export function matchesTag(
  list: string,
  tag: string | null,
  { weak = false }: { readonly weak?: boolean } = {},
): boolean {
  if (tag === null || list.length > preconditionCharsMax) return false;
  if (list.trim() === "*") return true;
  const listed = list.match(/(?:W\/)?"[^"]*"/g) ?? [];
  return listed.some(one => (weak ? one.replace(/^W\//, "") : one) === tag);
}

/** Returns true if `If-None-Match` of a GET has the current tag. */
export function isNotModified(request: Request, tag: string): boolean {
  const cached = request.headers.get("if-none-match");
  return cached !== null && matchesTag(cached, tag, { weak: true });
}

/** Options of {@linkcode admitChange}. */
export interface ChangeOptions {
  /** Name of the resource in error messages. */
  readonly what: string;
  /** True if a change of an existing resource must have `If-Match`. @default true */
  readonly required?: boolean;
}

/**
 * Checks the preconditions of a change. `tag` is the current one, or null if the resource does not exist.
 *
 * @throws {AppError} `precondition_failed` with the current `ETag`; `precondition_required`: the resource exists and the
 * request has no `If-Match`.
 */
export function admitChange(request: Request, tag: string | null, options: ChangeOptions): void {
  const { what, required = true } = options;
  const headers = tag === null ? {} : { etag: tag };
  const ifMatch = request.headers.get("if-match");
  if (ifMatch !== null && !matchesTag(ifMatch, tag)) {
    const state = tag === null ? "it does not exist" : "it has changed since it was read";
    throw new AppError("precondition_failed", `Cannot change ${what}: ${state}`, { headers });
  }
  const ifNoneMatch = request.headers.get("if-none-match");
  if (ifNoneMatch !== null && matchesTag(ifNoneMatch, tag, { weak: true })) {
    throw new AppError("precondition_failed", `Cannot create ${what}: it exists`, { headers });
  }
  if (required && tag !== null && ifMatch === null) {
    const message = `Cannot change ${what} without If-Match: send the ETag that reading it gave, or * to replace any`;
    throw new AppError("precondition_required", message, { headers });
  }
}
