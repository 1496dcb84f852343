/**
 * Reads request bodies of JSON with a media type, limits in bytes and values, a deadline and strict UTF-8.
 *
 * @module
 */

import { AppError } from "../../base/errors/mod.ts";
import { createPause } from "../../storage/background/mod.ts";
import { badJson, inspectJson, JsonCounter, parseCounted, parseJson, uncountedBytesMax } from "./json.ts";

/** Maximum size of a body by default, in bytes. */
export const bodyBytesMaxDefault = uncountedBytesMax;
/** Default deadline for a body to arrive, in ms. */
export const bodyMsMaxDefault = 10_000;

/** Calls back after a delay in ms. The returned function cancels the call. */
export type Timer = (callback: () => void, delayMs: number) => () => void;

/** Calls back by `setTimeout`. */
export function systemTimer(callback: () => void, delayMs: number): () => void {
  const handle = setTimeout(callback, delayMs);
  return () => clearTimeout(handle);
}

export interface BodyLimits {
  readonly bytesMax: number;
  /** Media types, lower-case. */
  readonly mediaTypes: readonly string[];
  readonly timer: Timer;
}

/** Limits for reading a body of JSON. */
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
export function abandon(reader: ReadableStreamDefaultReader<Uint8Array>): void {
  reader.cancel().catch(() => {});
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
