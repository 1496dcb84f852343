/**
 * Builders of the replies of handlers.
 *
 * @module
 */

import type { BareReply, JsonReply, JsonText, JsonTextReply, StreamReply } from "../route.ts";

/** Options of the envelope helpers. */
export interface EnvelopeOptions<S extends number = number> {
  /** @default 200 */
  readonly status?: S;
  /** @default "OK" */
  readonly message?: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Builds a JSON reply. */
export function json<const S extends number, const T>(
  status: S,
  value: T,
  headers?: Readonly<Record<string, string>>,
): JsonReply<S, T> {
  return headers === undefined ? { status, json: value } : { status, json: value, headers };
}

const plainJson = { "content-type": "application/json" };

/** Builds a JSON reply from serialized text. `headers` are added to its type; lower-case names. */
export function jsonText<T = unknown>(
  value: JsonText<T>,
  headers?: Readonly<Record<string, string>>,
): JsonTextReply<200, T> {
  return {
    status: 200,
    text: value,
    headers: headers === undefined ? plainJson : { ...plainJson, ...headers },
  };
}

/** Builds a reply in plain text, unless `headers` name another type. */
export function text<const S extends number>(
  status: S,
  value: string,
  headers?: Readonly<Record<string, string>>,
): BareReply<S> {
  return headers === undefined ? { status, text: value } : { status, text: value, headers };
}

/** Builds a reply without a body. */
export function empty<const S extends number = 204>(
  status: S = 204 as S,
  headers?: Readonly<Record<string, string>>,
): BareReply<S> {
  return headers === undefined ? { status } : { status, headers };
}

/** Builds a reply whose body is a stream. */
export function stream<const S extends number>(
  status: S,
  body: ReadableStream<Uint8Array>,
  headers: Readonly<Record<string, string>>,
): StreamReply<S> {
  return { status, body, headers };
}

/** Builds the envelope of loyalty and audience: `{message, data}`. */
export function envelope<const T, const S extends number = 200>(
  data: T,
  options: EnvelopeOptions<S> = {},
): JsonReply<S, { readonly message: string; readonly data: T }> {
  return wrap({ message: options.message ?? "OK", data }, options);
}

/** Builds the envelope of identity and location: `{result: 1, message, data}`. */
export function identityEnvelope<const T, const S extends number = 200>(
  data: T,
  options: EnvelopeOptions<S> = {},
): JsonReply<S, { readonly result: 1; readonly message: string; readonly data: T }> {
  return wrap({ result: 1, message: options.message ?? "OK", data }, options);
}

function wrap<const T, S extends number>(
  value: T,
  { status = 200 as S, headers }: EnvelopeOptions<S>,
): JsonReply<S, T> {
  return headers === undefined ? { status, json: value } : { status, json: value, headers };
}
