/** Signed requests, bounded in time and number. */

import { AwsV4Signer } from "aws4fetch";
import { s3AttemptsMax, s3FirstPauseMsMax, s3SilenceMsMax } from "./bounds.ts";
import { type S3BlobsOptions, type S3Timer, urlOf } from "./bucket.ts";
import { isBusy, lostAnswer } from "./failure.ts";

export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** The name of a blob. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

export interface S3Answer {
  readonly response: Response;
  /** Text of the answer; empty if it is the content of a blob. */
  readonly text: string;
  /** Lets go of the connection. */
  abort(): void;
  /** Does so after the longest silence, unless it is called off. */
  watch(): () => void;
}

/** Sends requests to one bucket. */
export class S3Requests {
  readonly #options: S3BlobsOptions;
  readonly #fetch: (url: string, init: RequestInit) => Promise<Response>;
  readonly #after: S3Timer;
  readonly #random: () => number;
  readonly #clock: () => number;

  constructor(options: S3BlobsOptions) {
    this.#options = options;
    this.#fetch = options.fetch ?? ((url, init) => fetch(url, init));
    this.#after = options.after ?? processTimer;
    this.#random = options.random ?? Math.random;
    this.#clock = options.clock ?? Date.now;
  }

  /**
   * Returns the answer to a request, which may be sent several times: all of them have the same effect however often they come.
   * An answer that says the service is busy is given back once the attempts are used up.
   *
   * @throws {AppError} `storage_unavailable` or, for what changes something, `outcome_unknown`: there was no answer.
   */
  async send(request: S3Request): Promise<S3Answer> {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= s3AttemptsMax;
      try {
        const answer = await this.#attempt(request);
        if (isLast || !isBusy(answer.response.status)) return answer;
      } catch (error) {
        if (isLast)
          throw lostAnswer(error, { isWrite: request.method !== "GET" && request.method !== "HEAD" });
      }
      const pauseMs = s3FirstPauseMsMax * 2 ** (attempt - 1) * this.#random();
      await new Promise<void>(resolve => this.#after(pauseMs, resolve));
    }
  }

  /** One attempt; the content of a blob is the caller's to read. */
  async #attempt(request: S3Request): Promise<S3Answer> {
    const { url, method, headers } = await this.#signed(request);
    const controller = new AbortController();
    const abort = (): void => controller.abort(new Error("the service is silent"));
    const callOff = this.#after(s3SilenceMsMax, abort);
    try {
      const init: RequestInit = { method, headers, redirect: "manual", signal: controller.signal };
      const response = await this.#fetch(url.href, request.body ? { ...init, body: request.body } : init);
      const isContent = method === "GET" && response.ok;
      const text = isContent ? "" : await response.text();
      return { response, text, abort, watch: () => this.#after(s3SilenceMsMax, abort) };
    } finally {
      callOff();
    }
  }

  async #signed({
    method,
    name,
    query = {},
    headers = {},
    body,
  }: S3Request): ReturnType<AwsV4Signer["sign"]> {
    const { accessKeyId, secretAccessKey, sessionToken, region = "us-east-1" } = this.#options;
    const url = urlOf(this.#options, name);
    for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value);
    return await new AwsV4Signer({
      method,
      url: url.href,
      headers: { ...headers, "x-amz-content-sha256": await digestOf(body) },
      ...(body === undefined ? {} : { body }),
      accessKeyId,
      secretAccessKey,
      ...(sessionToken === undefined ? {} : { sessionToken }),
      service: "s3",
      region,
      datetime: new Date(this.#clock()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
    }).sign();
  }
}

/** SHA-256 in hexadecimal, so that the service takes no other bytes than these. */
async function digestOf(body: Uint8Array<ArrayBuffer> = new Uint8Array(0)): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", body));
  return Array.from(digest, byte => byte.toString(16).padStart(2, "0")).join("");
}

function processTimer(ms: number, act: () => void): () => void {
  const timer = setTimeout(act, ms);
  return () => clearTimeout(timer);
}

/**
 * Returns the body of an answer, which fails if the service falls silent or ends early. A reader that pauses is not timed.
 */
export function guardedBody({ response, abort, watch }: S3Answer): ReadableStream<Uint8Array> {
  const reader = (response.body ?? new Blob([]).stream()).getReader();
  let missing = Number(response.headers.get("content-length"));
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const callOff = watch();
        try {
          const { done, value } = await reader.read();
          if (!done) {
            missing -= value.length;
            controller.enqueue(value);
          } else if (missing === 0) controller.close();
          else throw new Error(`${missing} bytes are missing`);
        } catch (error) {
          throw lostAnswer(error, { isWrite: false });
        } finally {
          callOff();
        }
      },
      async cancel() {
        abort();
        await reader.cancel().catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
