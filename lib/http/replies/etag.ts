/**
 * Entity tags and the preconditions that name them (RFC 9110, sections 8.8.3 and 13.1).
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";

/** Longest value of a precondition that is read, in UTF-16 units. */
export const preconditionCharsMax = 4_096;

/** The entity tag of a counted version. */
export function versionTag(version: number): string {
  return `"v${version}"`;
}

/**
 * Whether a field value that lists entity tags, or is `*`, matches the tag of what there is; null stands for nothing. Weak
 * tags match in `If-None-Match` alone.
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

/** Whether a GET with `If-None-Match` needs no body, because its caller has what there is. */
export function isNotModified(request: Request, tag: string): boolean {
  const known = request.headers.get("if-none-match");
  return known !== null && matchesTag(known, tag, { weak: true });
}

/** How a change is to be admitted. */
export interface ChangeOptions {
  /** What is changed, as the message names it. */
  readonly what: string;
  /** Whether a change of what exists must say which state it was made for. @default true */
  readonly required?: boolean;
}

/**
 * Admits a change of what has this tag (null: of what does not exist yet) only where its preconditions hold.
 *
 * @throws {AppError} `precondition_failed` with the current `ETag`, or `precondition_required` where something exists and
 * the request has no `If-Match`.
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
