/**
 * The replies that handlers give.
 *
 * @module
 */

import type { Reply } from "../routing/route.ts";

/** What the envelope helpers let a handler choose. */
export interface EnvelopeOptions {
  /** @default 200 */
  readonly status?: number;
  /** @default "OK" */
  readonly message?: string;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A JSON reply. */
export function json(status: number, value: unknown): Reply {
  return { status, json: value };
}

const plainJson = { "content-type": "application/json" };

/** A JSON reply whose body is text already. `headers` are sent beside its type; lower-case names. */
export function jsonText(value: string, headers?: Readonly<Record<string, string>>): Reply {
  return {
    status: 200,
    text: value,
    headers: headers === undefined ? plainJson : { ...plainJson, ...headers },
  };
}

/** A reply in plain text. */
export function text(status: number, value: string): Reply {
  return { status, text: value };
}

/** A reply without a body. */
export function empty(status: number = 204): Reply {
  return { status };
}

/** The envelope of loyalty and audience: `{message, data}`. */
export function envelope(data: unknown, options: EnvelopeOptions = {}): Reply {
  return wrap({ message: options.message ?? "OK", data }, options);
}

/** The envelope of identity and location: `{result: 1, message, data}`. */
export function identityEnvelope(data: unknown, options: EnvelopeOptions = {}): Reply {
  return wrap({ result: 1, message: options.message ?? "OK", data }, options);
}

function wrap(value: unknown, { status = 200, headers }: EnvelopeOptions): Reply {
  return headers === undefined ? { status, json: value } : { status, json: value, headers };
}
