/** Files as replies: whole or a range of their bytes, with the preconditions of RFC 9110. */

import { AppError } from "../../base/errors/mod.ts";
import type { BareReply } from "../route.ts";
import { empty, stream } from "./replies.ts";

/** Longest `Range` field that counts, in characters. */
const rangeCharactersMax = 64;

/** A file that never changes under its entity tag. */
interface ByteContent {
  readonly etag: string;
  readonly size: number;
  /** Fields beside those of ranges, lower-case. */
  readonly headers: Readonly<Record<string, string>>;
  /** Opens the bytes from `start` to `end`, exclusive. */
  open(range: {
    readonly start: number;
    readonly end: number;
    /** True if the client asked for a range. */
    readonly isPart: boolean;
  }): Promise<ReadableStream<Uint8Array>>;
}

/**
 * Answers a GET or HEAD for a file. Supports one `Range`, `If-Range`, `If-Match` and `If-None-Match`.
 *
 * @throws {AppError} `precondition_failed`: `If-Match` names another file.
 */
export async function byteReply(
  request: Request,
  { etag, size, headers: own, open }: ByteContent,
): Promise<BareReply<200 | 206 | 304 | 416>> {
  const headers = { ...own, etag, "accept-ranges": "bytes" };
  requireMatch(request, etag);
  if (isNotModified(request, etag)) return empty(304, headers);
  const range = request.method === "HEAD" ? null : rangeOf(request, etag, size);
  if (range === "unsatisfiable") return empty(416, { ...headers, "content-range": `bytes */${size}` });
  const { first, last } = range ?? { first: 0, last: size - 1 };
  const body = await open({ start: first, end: last + 1, isPart: range !== null });
  const length = { "content-length": String(last - first + 1) };
  if (range === null) return stream(200, body, { ...headers, ...length });
  return stream(206, body, { ...headers, ...length, "content-range": `bytes ${first}-${last}/${size}` });
}

function requireMatch({ headers }: Request, etag: string): void {
  const expected = headers.get("if-match");
  if (expected === null || matchesTag(expected, etag)) return;
  const message = "Cannot send the file: it is not the one that If-Match names";
  throw new AppError("precondition_failed", message, { headers: { etag } });
}

/** A range of bytes, both inclusive. */
interface ByteRange {
  readonly first: number;
  readonly last: number;
}

/** Returns the requested range; null for the whole file. `If-Range` must name this very file, and dates never do. */
function rangeOf({ headers }: Request, etag: string, size: number): ByteRange | "unsatisfiable" | null {
  const condition = headers.get("if-range");
  if (condition !== null && condition !== etag) return null;
  return parseRange(headers.get("range"), size);
}

/**
 * Parses a `Range` field (RFC 9110, section 14). Several ranges, other units and malformed fields count as none, as section
 * 14.2 allows.
 */
function parseRange(field: string | null, size: number): ByteRange | "unsatisfiable" | null {
  if (field === null || field.length > rangeCharactersMax) return null;
  const [, from, to] = /^bytes=[\t ]*(\d*)-(\d*)[\t ]*$/i.exec(field) ?? [];
  if (from === undefined || to === undefined || (from === "" && to === "")) return null;
  if (from === "") {
    const length = Math.min(Number(to), size);
    return length === 0 ? "unsatisfiable" : { first: size - length, last: size - 1 };
  }
  const first = Number(from);
  const last = to === "" ? size - 1 : Math.min(Number(to), size - 1);
  if (to !== "" && Number(to) < first) return null;
  return first >= size ? "unsatisfiable" : { first, last };
}

/** Maximum length of a precondition, in UTF-16 units. */
export const preconditionCharsMax = 4_096;

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

export function isNotModified(request: Request, tag: string): boolean {
  const cached = request.headers.get("if-none-match");
  return cached !== null && matchesTag(cached, tag, { weak: true });
}

interface ChangeOptions {
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
