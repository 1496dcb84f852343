/**
 * Reads request bodies with a media type, a limit in bytes, a deadline and strict UTF-8.
 *
 * JSON is parsed, then one walk rejects dangerous values.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";

/** Maximum size of a body by default, in bytes. */
export const bodyBytesMaxDefault = 65_536;
/** Default deadline for a body to arrive, in ms. */
export const bodyMsMaxDefault = 10_000;

/** Calls back after a delay in ms. The returned function cancels the call. */
export type Timer = (callback: () => void, delayMs: number) => () => void;

/** Calls back by `setTimeout`. */
export function systemTimer(callback: () => void, delayMs: number): () => void {
  const handle = setTimeout(callback, delayMs);
  return () => clearTimeout(handle);
}

/** Limits of every body. */
export interface BodyLimits {
  readonly bytesMax: number;
  /** Media types, lower-case. */
  readonly mediaTypes: readonly string[];
  readonly timer: Timer;
}

/** Limits for reading a body as text. */
interface TextLimits extends BodyLimits {
  readonly msMax: number;
  /** True if the runtime guarantees that a body is never longer than its `Content-Length`. */
  readonly framed: boolean;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

/**
 * Reads a body as text; an absent or empty one is the empty string.
 *
 * A body that is late, incomplete or not UTF-8 is `bad_json`: to a client each means that the body was unreadable.
 *
 * @throws `unsupported_media_type`, `payload_too_large` or `bad_json`.
 */
export async function readText(request: Request, limits: TextLimits): Promise<string> {
  const type = request.headers.get("content-type");
  const declared = requireAcceptable(request, type, limits);
  const bytes =
    limits.framed && declared !== null
      ? await readFramed(request, limits)
      : await readCounted(request, limits);
  if (bytes.byteLength === 0) return "";
  if (type === null) requireMediaType("", limits.mediaTypes);
  try {
    return utf8.decode(bytes);
  } catch {
    throw badJson("it is not UTF-8");
  }
}

/**
 * Checks what the header fields say of a body. Returns its declared length; null if there is none.
 *
 * @param type Null: not checked.
 * @throws `unsupported_media_type` or `payload_too_large`.
 */
export function requireAcceptable(request: Request, type: string | null, limits: BodyLimits): number | null {
  if (request.bodyUsed)
    throw new TypeError(
      "Cannot read the body: it was read before the handler was called; mount the handler in front of body parsers",
    );
  if (type !== null) requireMediaType(type, limits.mediaTypes);
  requireNoCoding(request.headers.get("content-encoding"));
  const declared = declaredLength(request);
  if (declared !== null && declared > limits.bytesMax) throw tooLarge(limits.bytesMax);
  return declared;
}

function requireMediaType(contentType: string, accepted: readonly string[]): void {
  if (contentType === accepted[0]) return;
  if (!isAcceptedType(contentType, accepted)) {
    const message = `Cannot read the body: its type must be ${accepted.join(" or ")} in UTF-8`;
    throw new AppError("unsupported_media_type", message, { headers: { accept: accepted.join(", ") } });
  }
}

/** Rejects compressed bodies. RFC 7694 wants the accepted codings in the reply. */
function requireNoCoding(coding: string | null): void {
  if (coding === null || coding === "" || coding.toLowerCase() === "identity") return;
  const headers = { "accept-encoding": "identity" };
  throw new AppError("unsupported_media_type", "Cannot read the body: it must not be compressed", {
    headers,
  });
}

function declaredLength(request: Request): number | null {
  const value = request.headers.get("content-length");
  return value !== null && /^\d{1,15}$/.test(value) ? Number(value) : null;
}

function readFramed(request: Request, { timer, msMax }: TextLimits): Promise<ArrayBuffer | Uint8Array> {
  return new Promise((resolve, reject) => {
    const stop = timer(() => reject(tooLate(msMax)), msMax);
    // `bytes` may avoid a copy; the Request of Node 20 lacks it.
    const whole = "bytes" in request ? request.bytes() : (request as Request).arrayBuffer();
    whole.then(
      bytes => {
        stop();
        resolve(bytes);
      },
      () => {
        stop();
        reject(brokenOff());
      },
    );
  });
}

async function readCounted(request: Request, limits: TextLimits): Promise<Uint8Array> {
  if (request.body === null) return new Uint8Array();
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  let late = false;
  const stop = limits.timer(() => {
    late = true;
    abandon(reader);
  }, limits.msMax);
  try {
    const chunks: Uint8Array[] = [];
    let length = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (late) throw tooLate(limits.msMax);
      if (done) return join(chunks, length);
      length += value.byteLength;
      if (length > limits.bytesMax) {
        abandon(reader);
        throw tooLarge(limits.bytesMax);
      }
      chunks.push(value);
    }
  } catch (error) {
    throw error instanceof AppError ? error : brokenOff();
  } finally {
    stop();
  }
}

/** Cancels the body without waiting; a failure to cancel is ignored. */
export function abandon(reader: ReadableStreamDefaultReader<Uint8Array>): void {
  reader.cancel().catch(() => {});
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks;
  if (first !== undefined && chunks.length === 1) return first;
  const joined = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    joined.set(chunk, at);
    at += chunk.byteLength;
  }
  return joined;
}

/** Creates the error for a body that ended early. */
export function brokenOff(): AppError {
  return badJson("it broke off");
}

function tooLate(msMax: number): AppError {
  return badJson(`it did not arrive within ${msMax / 1000} seconds`);
}

/** Creates the error for a body that is too long. */
export function tooLarge(bytesMax: number): AppError {
  return new AppError("payload_too_large", `Cannot read the body: it must not exceed ${bytesMax} bytes`);
}

/** The media type of JSON:API, used by the control API. */
export const jsonApiMediaType = "application/vnd.api+json";

const charsetShape = /;\s*charset\s*=\s*"?([^\s;"]+)/;
const parameterName = /;\s*([^\s;=]+)\s*=/g;
const extensionShape = /;\s*ext\s*=\s*"([^"]*)"/;

/**
 * Returns true if a `Content-Type` names an accepted media type in UTF-8. JSON:API forbids unknown parameters on its own
 * type: `profile` may be ignored, `ext` is part of the type.
 */
function isAcceptedType(contentType: string, accepted: readonly string[]): boolean {
  const lower = contentType.toLowerCase();
  const [type = ""] = lower.split(";", 1);
  if (accepted.includes("*/*")) return true;
  const extension = extensionShape.exec(lower)?.[1];
  const named = type.trim() + (extension === undefined ? "" : `;ext="${extension}"`);
  if (!accepted.includes(named)) return false;
  if ((charsetShape.exec(lower)?.[1] ?? "utf-8") !== "utf-8") return false;
  if (type.trim() !== jsonApiMediaType) return true;
  return [...lower.matchAll(parameterName)].every(
    ([, name]) => name === "profile" || name === "charset" || (name === "ext" && extension !== undefined),
  );
}

/** Maximum nesting of arrays and objects in a body. */
export const jsonDepthMax = 64;

/**
 * Parses a JSON text.
 *
 * Also rejected:
 * - nesting beyond {@linkcode jsonDepthMax};
 * - a member `__proto__`, and a `constructor` that holds a `prototype`: merging such an object would change a prototype;
 * - lone surrogates, which cannot be stored as UTF-8;
 * - numbers beyond the range of doubles, which would be stored as null.
 *
 * @throws `bad_json`.
 */
export function parseJson(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw badJson("it is not valid JSON");
  }
  // Decoded text is well-formed, so a lone surrogate can only come from an escape.
  if (typeof value === "object" && value !== null) inspect(value, 1, text.includes("\\u"));
  else inspectScalar(value, true);
  return value;
}

/** Creates the error for an unreadable body. */
export function badJson(reason: string): AppError {
  return new AppError("bad_json", `Cannot read the body: ${reason}`);
}

function inspect(value: object, depth: number, escaped: boolean): void {
  if (depth > jsonDepthMax) throw badJson(`it is nested deeper than ${jsonDepthMax} levels`);
  if (Array.isArray(value)) {
    for (const item of value) inspectValue(item, depth, escaped);
    return;
  }
  // Every object here was made by JSON.parse, so for-in walks own members only.
  for (const name in value) {
    if (escaped) inspectText(name);
    const member = (value as Record<string, unknown>)[name];
    if (name === "__proto__" || (name === "constructor" && holdsPrototype(member))) {
      throw badJson(`a member "${name}" is not accepted`);
    }
    inspectValue(member, depth, escaped);
  }
}

function inspectValue(value: unknown, depth: number, escaped: boolean): void {
  if (typeof value === "object") {
    if (value !== null) inspect(value, depth + 1, escaped);
  } else inspectScalar(value, escaped);
}

function inspectScalar(value: unknown, escaped: boolean): void {
  if (typeof value === "string") {
    if (escaped) inspectText(value);
  } else if (value === Number.POSITIVE_INFINITY || value === Number.NEGATIVE_INFINITY) {
    throw badJson("it holds a number beyond the range of doubles");
  }
}

function inspectText(text: string): void {
  if (!text.isWellFormed()) throw badJson("it holds a lone surrogate");
}

function holdsPrototype(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}

/**
 * Returns the canonical form of a JSON value (RFC 8785): members ordered by their UTF-16 units, no white space between
 * tokens, numbers and strings as ECMAScript prints them.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`).join()}}`;
}
