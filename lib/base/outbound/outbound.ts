/** Port for reading addresses that callers name. */

import { AppError } from "../errors/mod.ts";

/** A document or file to read. */
export interface OutboundRequest {
  readonly url: string;
  /** Media types that are wanted: `application/json`. */
  readonly accept: string;
  readonly userAgent: string;
  /** Time in ms in which the last byte must have arrived. */
  readonly msMax: number;
}

/** An answer whose body has not been read. */
export interface OutboundAnswer {
  readonly status: number;
  /** Where the last redirect led. */
  readonly url: string;
  /** The media type in lower case without parameters; null: the server names none. */
  readonly mediaType: string | null;
  /** The announced length in bytes; null: none is announced. */
  readonly bytes: number | null;
  /** The bytes as they arrive, without an encoding. Cancel it to end the connection. */
  readonly body: ReadableStream<Uint8Array>;
}

/** A document to post. */
export interface OutboundPost {
  readonly url: string;
  readonly body: string;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  /** Time in ms in which the last byte of the answer must have arrived. */
  readonly msMax: number;
  /** Longest answer, in bytes. */
  readonly bytesMax: number;
}

/** The answer to a posted document. No other header fields of it are kept. */
export interface OutboundReply extends Pick<OutboundAnswer, "status" | "mediaType"> {
  /** The value of `Retry-After`; null: there is none, or none that can be read. */
  readonly retryAfterMs: number | null;
  readonly text: string;
}

/** Reads addresses that callers name, and nothing in the platform's own network. */
export interface Outbound {
  /**
   * Resolves with the answer at the end of all redirects, whatever its status.
   *
   * @throws {OutboundError} There is none.
   */
  get(request: OutboundRequest): Promise<OutboundAnswer>;
  /**
   * Posts a document and resolves with the answer, whatever its status but a redirect.
   *
   * @throws {OutboundError} There is none, it redirects, or its body is too long, encoded, no UTF-8 or ends early.
   */
  post(request: OutboundPost): Promise<OutboundReply>;
}

/** What was wrong: the form of the address, where it leads, its certificate, the way there, or the answer. */
export type OutboundFault =
  | "url"
  | "address"
  | "tls"
  | "redirects"
  | "connection"
  | "time"
  | "bytes"
  | "text";

/** An address that cannot be read. Its message can be shown: it names no address and no text of a library. */
export class OutboundError extends Error {
  override readonly name = "OutboundError";
  readonly fault: OutboundFault;

  constructor(fault: OutboundFault, reason: string) {
    super(reason);
    this.fault = fault;
  }
}

/**
 * Reads a body as UTF-8, and ends the connection of a longer one.
 *
 * @throws {OutboundError} It is longer, is no UTF-8, or ends early.
 */
export async function readText({ body, bytes }: OutboundAnswer, bytesMax: number): Promise<string> {
  const tooLong = (): OutboundError =>
    new OutboundError("bytes", `the body is longer than ${bytesMax} bytes`);
  if (bytes !== null && bytes > bytesMax) {
    await body.cancel().catch(() => {});
    throw tooLong();
  }
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of body) {
      length += chunk.length;
      // Leaving the loop cancels the body.
      if (length > bytesMax) throw tooLong();
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof OutboundError ? error : new OutboundError("connection", "the body ended early");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(
      await new Blob(chunks as BlobPart[]).arrayBuffer(),
    );
  } catch {
    throw new OutboundError("text", "the body is no UTF-8");
  }
}

const failuresMax = 5;

/** Time in ms for which an open circuit refuses calls. */
export const circuitRetryMs = 5_000;

/**
 * Stops calls to a service that failed five times in a row, so that requests neither wait for it nor keep it down.
 * After 5 s one call probes the service.
 */
export class CircuitBreaker {
  readonly #clock: () => number;
  #failures = 0;
  #retryAt = Number.NEGATIVE_INFINITY;

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /**
   * Makes the call. An {@linkcode AppError} that refuses the request is a success of the service; every other error is a
   * failure.
   *
   * @throws {AppError} `provider_unavailable` at once while the circuit is open; else what `call` throws.
   */
  async run<T>(call: () => Promise<T>): Promise<T> {
    const now = this.#clock();
    if (this.#failures >= failuresMax) {
      if (now < this.#retryAt) throw providerUnavailable("the circuit is open");
      this.#retryAt = now + circuitRetryMs;
    }
    try {
      const answer = await call();
      this.#failures = 0;
      return answer;
    } catch (error) {
      if (isFailure(error)) {
        this.#failures += 1;
        this.#retryAt = this.#clock() + circuitRetryMs;
      } else this.#failures = 0;
      throw error;
    }
  }
}

export function providerUnavailable(cause: unknown): AppError {
  return new AppError("provider_unavailable", "Cannot ask the identity provider now: try again later", {
    cause,
    retryAfterMs: circuitRetryMs,
  });
}

function isFailure(error: unknown): boolean {
  return (
    !(error instanceof AppError) || error.code === "provider_unavailable" || error.code === "provider_error"
  );
}

interface SignedWebhook {
  readonly id: string;
  /** Unix seconds. */
  readonly timestamp: number;
  readonly body: string;
}

/** Returns the headers of a webhook in the Standard Webhooks format, signed with HMAC-SHA-256 under each key. */
export async function webhookHeaders(
  keys: readonly Uint8Array[],
  { id, timestamp, body }: SignedWebhook,
): Promise<Record<string, string>> {
  const signed = new TextEncoder().encode(`${id}.${timestamp}.${body}`);
  const signatures = await Promise.all(keys.map(key => signatureOf(key, signed)));
  return {
    "content-type": "application/json",
    "webhook-id": id,
    "webhook-timestamp": String(timestamp),
    "webhook-signature": signatures.join(" "),
  };
}

async function signatureOf(key: Uint8Array, signed: Uint8Array<ArrayBuffer>): Promise<string> {
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const imported = await crypto.subtle.importKey("raw", Uint8Array.from(key), algorithm, false, ["sign"]);
  const signature = new Uint8Array(await crypto.subtle.sign("HMAC", imported, signed));
  return `v1,${btoa(String.fromCharCode(...signature))}`;
}

/** Formats a key for the receivers of webhooks: `whsec_` and the bytes in Base64. */
export function webhookSecretText(key: Uint8Array): string {
  return `whsec_${btoa(String.fromCharCode(...key))}`;
}

/** One event for one receiver. */
export interface WebhookMessage {
  /** An http or https URL. */
  readonly url: string;
  /** Key of the signature. */
  readonly key: Uint8Array;
  /** Keys of further signatures, which receivers may still know. @default none */
  readonly otherKeys?: readonly Uint8Array[];
  /** The same in every attempt, so that the receiver can ignore duplicates. */
  readonly id: string;
  readonly type: string;
  /** Time of the event, Unix ms. */
  readonly at: number;
  /** JSON. */
  readonly data: unknown;
  /** Further header fields, in lower case. @default none */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Delivers webhooks. */
export interface WebhookSender {
  /**
   * Resolves once the receiver has accepted the message; rejects if it has not or the outcome is unknown. A
   * {@linkcode WebhookError} carries the receiver's answer.
   */
  send(message: WebhookMessage): Promise<void>;
}

interface WebhookErrorFacts {
  /** Status of the answer. @default none: the receiver did not answer */
  readonly status?: number;
  /** Delay that the receiver asked for (`Retry-After`), in ms. @default none */
  readonly retryAfterMs?: number;
}

/**
 * A failed delivery. Its message holds neither the address nor the contents, so that it can be logged.
 */
export class WebhookError extends Error {
  override readonly name = "WebhookError";
  /** Status of the answer; null if the receiver did not answer. */
  readonly status: number | null;
  /** Delay that the receiver asked for (`Retry-After`), in ms; null if it asked for none. */
  readonly retryAfterMs: number | null;

  constructor(reason: string, { status, retryAfterMs }: WebhookErrorFacts = {}) {
    super(`Cannot deliver the webhook: ${reason}`);
    this.status = status ?? null;
    this.retryAfterMs = retryAfterMs ?? null;
  }
}

export interface Mail {
  readonly to: string;
  /** The reason for the mail, by which an adapter can choose a template. */
  readonly kind:
    | "passwordCode"
    | "emailCode"
    | "loginCode"
    | "alreadyRegistered"
    | "passwordChanged"
    | "emailChanged"
    | "exportCompleted"
    | "exportPassword"
    | "exportFailed"
    | "authorCode";
  readonly subject: string;
  readonly text: string;
  /** The same as a page, for programs that show one. */
  readonly html?: string;
  readonly code?: string;
  /** The page of the app that takes the code, with address and code in its fragment. */
  readonly link?: string;
  readonly project?: { readonly id: string; readonly name: string };
  /** Name that mail programs show as the sender. @default that of the mailer */
  readonly sender?: string;
  /** The language that the client of the request prefers, a BCP 47 tag such as `es-ES`. */
  readonly locale?: string;
}

export interface Mailer {
  /** Resolves once the message is accepted for delivery; rejects if it is not. */
  send(mail: Mail): Promise<void>;
}

export interface Announcement {
  readonly organisationId: string;
  readonly spaceId: string;
  /** Identifies the event in every retry, so that receivers can ignore duplicates. At most 256 characters. */
  readonly id: string;
  readonly area: "audience" | "loyalty";
  /** The name that webhooks subscribe to: `exportCompleted`. The message has the type `<area>.<event>`. */
  readonly event: string;
  /** Time of the event, Unix ms. */
  readonly at: number;
  /** JSON without secrets: it may be stored for weeks and shown to operators. */
  readonly data: unknown;
}

export interface Announcer {
  /**
   * Resolves once the deliveries are stored. They are retried until the receivers accept them or they become dead letters.
   * May be repeated. Does nothing if no webhook subscribes to the event.
   */
  announce(announcement: Announcement): Promise<void>;
}
