/** Reads request bodies of JSON with a media type, limits in bytes and values, a deadline and strict UTF-8. */

import { AppError } from "../../base/errors/mod.ts";
import { createPause, type Timer } from "../../storage/background/mod.ts";

/** Bytes up to which the values of a text are not counted, as they are few enough. */
const uncountedBytesMax = 65_536;
export const bodyBytesMaxDefault = uncountedBytesMax;
export const bodyMsMaxDefault = 10_000;

interface BodyLimits {
  readonly bytesMax: number;
  /** Media types, lower-case. */
  readonly mediaTypes: readonly string[];
  readonly timer: Timer;
}

interface JsonLimits extends BodyLimits {
  readonly msMax: number;
  /** True if the runtime guarantees that a body is never longer than its `Content-Length`. */
  readonly framed: boolean;
}

/** Bytes of a long body that are counted and decoded without a pause. */
const sliceBytes = 262_144;

const strict: TextDecoderOptions = { fatal: true };
const utf8 = new TextDecoder("utf-8", strict);

/**
 * Reads a body of JSON; an absent or empty one is undefined. Between the steps of a long one other requests are answered.
 *
 * A body that is late, incomplete or not UTF-8 is `bad_json`: to a client each means that the body was unreadable.
 *
 * @throws `unsupported_media_type`, `payload_too_large` or `bad_json`.
 */
export async function readJson(request: Request, limits: JsonLimits): Promise<unknown> {
  const type = request.headers.get("content-type");
  const declared = requireAcceptable(request, type, limits);
  const isShort = limits.framed && declared !== null && declared <= uncountedBytesMax;
  const pause = isShort ? null : createPause();
  const text =
    pause === null
      ? decoded(utf8, await readFramed(request, limits))
      : await readCounted(request, limits, pause);
  if (text === "") return undefined;
  if (type === null) requireMediaType("", limits.mediaTypes);
  if (pause === null || text.length <= uncountedBytesMax) return parseJson(text);
  await pause();
  const value = parseCounted(text);
  await pause();
  inspectJson(value, text);
  await pause();
  return value;
}

function decoded(decoder: TextDecoder, bytes?: ArrayBuffer | Uint8Array, stream = false): string {
  try {
    return decoder.decode(bytes, { stream });
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
function requireAcceptable(request: Request, type: string | null, limits: BodyLimits): number | null {
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

function readFramed(request: Request, { timer, msMax }: JsonLimits): Promise<ArrayBuffer | Uint8Array> {
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

async function readCounted(
  request: Request,
  limits: JsonLimits,
  pause: () => Promise<void> | undefined,
): Promise<string> {
  if (request.body === null) return "";
  const reader: ReadableStreamDefaultReader<Uint8Array> = request.body.getReader();
  let late = false;
  const stop = limits.timer(() => {
    late = true;
    abandon(reader);
  }, limits.msMax);
  try {
    const decoder = new TextDecoder("utf-8", strict);
    const counter = new JsonCounter();
    const texts: string[] = [];
    let length = 0;
    let readAtOnce = 0;
    for (;;) {
      const { done, value } = await reader.read();
      if (late) throw tooLate(limits.msMax);
      if (done) return texts.join("") + decoded(decoder);
      length += value.byteLength;
      if (length > limits.bytesMax) throw tooLarge(limits.bytesMax);
      for (let from = 0; from < value.byteLength; from += sliceBytes) {
        const slice = value.subarray(from, from + sliceBytes);
        counter.add(slice);
        texts.push(decoded(decoder, slice, true));
        readAtOnce += slice.byteLength;
        if (readAtOnce < sliceBytes) continue;
        await pause();
        readAtOnce = 0;
      }
    }
  } catch (error) {
    abandon(reader);
    throw error instanceof AppError ? error : brokenOff();
  } finally {
    stop();
  }
}

/** Cancels the body without waiting; a failure to cancel is ignored. */
function abandon(reader: ReadableStreamDefaultReader<Uint8Array>): void {
  reader.cancel().catch(() => {});
}

function brokenOff(): AppError {
  return badJson("it broke off");
}

function tooLate(msMax: number): AppError {
  return badJson(`it did not arrive within ${msMax / 1000} seconds`);
}

function tooLarge(bytesMax: number): AppError {
  return new AppError("payload_too_large", `Cannot read the body: it must not exceed ${bytesMax} bytes`);
}

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

export const jsonDepthMax = 64;
/** Maximum number of values in a longer text. Arrays and objects, which cost most memory, count twice. */
const jsonValuesMax = 32_768;
const jsonEscapesMax = 1_048_576;

const quote = 0x22;
const comma = 0x2c;
const openBracket = 0x5b;
const backslash = 0x5c;
const openBrace = 0x7b;

/** Counts the values of a JSON text in UTF-8 while it arrives. */
class JsonCounter {
  #bytes = 0;
  #values = 0;
  #escapes = 0;
  #isInText = false;
  #isEscaped = false;

  /** @throws `payload_too_large` */
  add(bytes: Uint8Array): void {
    let values = this.#values;
    let escapes = this.#escapes;
    let isInText = this.#isInText;
    let at = this.#isEscaped ? 1 : 0;
    for (; at < bytes.length; at++) {
      const byte = bytes[at];
      if (byte === quote) isInText = !isInText;
      else if (isInText) {
        if (byte !== backslash) continue;
        escapes++;
        at++;
      } else if (byte === comma || byte === openBrace || byte === openBracket) values++;
    }
    this.#isEscaped = at > bytes.length;
    this.#values = values;
    this.#escapes = escapes;
    this.#isInText = isInText;
    this.#bytes += bytes.length;
    if (this.#bytes <= uncountedBytesMax) return;
    if (values > jsonValuesMax) throw tooMany(`${jsonValuesMax} values`);
    if (escapes > jsonEscapesMax) throw tooMany(`${jsonEscapesMax} escapes`);
  }
}

function tooMany(what: string): AppError {
  return new AppError("payload_too_large", `Cannot read the body: it must not have more than ${what}`);
}

/**
 * Parses a JSON text.
 *
 * Also rejected:
 * - more than {@linkcode jsonValuesMax} values;
 * - nesting beyond {@linkcode jsonDepthMax};
 * - a member `__proto__`, and a `constructor` that holds a `prototype`: merging such an object would change a prototype;
 * - lone surrogates, which cannot be stored as UTF-8;
 * - numbers beyond the range of doubles, which would be stored as null.
 *
 * @throws `bad_json` or `payload_too_large`.
 */
export function parseJson(text: string): unknown {
  if (text.length > uncountedBytesMax) new JsonCounter().add(new TextEncoder().encode(text));
  const value = parseCounted(text);
  inspectJson(value, text);
  return value;
}

/** Parses a text whose values are counted. The value is to be inspected before it is used. */
function parseCounted(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // The parser's message quotes the body, which may hold secrets.
    throw badJson("it is not valid JSON");
  }
}

/** @throws `bad_json`: the value is one that {@linkcode parseJson} rejects. */
function inspectJson(value: unknown, text: string): void {
  // Decoded text is well-formed, so a lone surrogate can only come from an escape.
  if (typeof value === "object" && value !== null) inspect(value, 1, text.includes("\\u"));
  else inspectScalar(value, true);
}

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
  const parts: string[] = [];
  writeCanonical(value, parts);
  return parts.join("");
}

/** Joined once at the end: a text that is joined at each level is copied as often as it is deep. */
function writeCanonical(value: unknown, parts: string[]): void {
  if (typeof value !== "object" || value === null) {
    parts.push(JSON.stringify(value));
  } else if (Array.isArray(value)) {
    parts.push("[");
    for (const [index, item] of value.entries()) {
      if (index > 0) parts.push(",");
      writeCanonical(item, parts);
    }
    parts.push("]");
  } else {
    const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
    parts.push("{");
    for (const [index, [name, member]] of members.entries()) {
      parts.push(index > 0 ? "," : "", JSON.stringify(name), ":");
      writeCanonical(member, parts);
    }
    parts.push("}");
  }
}

/** Longest time for which a client may send nothing while its body is awaited, in ms. */
export const idleMsMaxDefault = 30_000;

interface StreamLimits extends BodyLimits {
  /** Longest time for which nothing may arrive while a chunk is awaited, in ms. */
  readonly idleMsMax: number;
  /** Rejects if the client may send no more. Called for every chunk and at the end, before the reader gets to know of it. */
  readonly recheck: (isEnd: boolean) => Promise<void>;
}

/**
 * Opens a body as a stream, which reads ahead nothing: who reads slowly makes the client wait. An absent body is an empty stream.
 *
 * Reading fails with the error of credentials that ended meanwhile, with `payload_too_large`, or `bad_json` for a body that breaks off or a client that is silent for too long.
 *
 * @throws `unsupported_media_type` or `payload_too_large` by the header fields.
 */
export function openBody(request: Request, limits: StreamLimits): ReadableStream<Uint8Array> {
  requireAcceptable(request, request.headers.get("content-type") ?? "", limits);
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = request.body?.getReader();
  let length = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const chunk = reader === undefined ? undefined : await nextChunk(reader, limits);
        await limits.recheck(chunk === undefined).catch((error: unknown) => {
          if (reader !== undefined) abandon(reader);
          throw error;
        });
        if (chunk === undefined) return controller.close();
        length += chunk.byteLength;
        if (length > limits.bytesMax) {
          if (reader !== undefined) abandon(reader);
          throw tooLarge(limits.bytesMax);
        }
        controller.enqueue(chunk);
      },
      cancel: reason => reader?.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** Reads a chunk that is not empty; undefined at the end. */
async function nextChunk(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { timer, idleMsMax }: StreamLimits,
): Promise<Uint8Array | undefined> {
  let isSilent = false;
  const stop = timer(() => {
    isSilent = true;
    abandon(reader);
  }, idleMsMax);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (isSilent) throw badJson(`nothing of it arrived for ${idleMsMax / 1000} seconds`);
      if (done) return undefined;
      if (value.byteLength > 0) return value;
    }
  } catch (error) {
    throw error instanceof AppError ? error : brokenOff();
  } finally {
    stop();
  }
}
