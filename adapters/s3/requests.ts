/** Signed requests, bounded in time and number. */

import { AwsV4Signer } from "aws4fetch";
import { attemptsMax, firstPauseMsMax, silenceMsMax } from "./bounds.ts";
import { type After, type S3BlobsOptions, urlOf } from "./bucket.ts";
import { isBusy, lost } from "./failure.ts";

/** One request. */
export interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  /** The name of a blob. */
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

/** An answer. */
export interface S3Answer {
  readonly response: Response;
  /** What it says, or nothing where it is the content of a blob. */
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
  readonly #after: After;
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
   * The answer to a request, which may be sent several times: all of them have the same effect however often they come.
   * An answer that says the service is busy is given back once the attempts are used up.
   *
   * @throws {AppError} `storage_unavailable` or, for what changes something, `outcome_unknown`: there was no answer.
   */
  async send(request: S3Request): Promise<S3Answer> {
    for (let attempt = 1; ; attempt++) {
      const isLast = attempt >= attemptsMax;
      try {
        const answer = await this.#attempt(request);
        if (isLast || !isBusy(answer.response.status)) return answer;
      } catch (error) {
        if (isLast) throw lost(error, { isWrite: request.method !== "GET" && request.method !== "HEAD" });
      }
      const pauseMs = firstPauseMsMax * 2 ** (attempt - 1) * this.#random();
      await new Promise<void>(resolve => this.#after(pauseMs, resolve));
    }
  }

  /** One attempt; the content of a blob is the caller's to read. */
  async #attempt(request: S3Request): Promise<S3Answer> {
    const { url, method, headers } = await this.#signed(request);
    const controller = new AbortController();
    const abort = (): void => controller.abort(new Error("the service is silent"));
    const callOff = this.#after(silenceMsMax, abort);
    try {
      const init: RequestInit = { method, headers, redirect: "manual", signal: controller.signal };
      const response = await this.#fetch(url.href, request.body ? { ...init, body: request.body } : init);
      const isContent = method === "GET" && response.ok;
      const text = isContent ? "" : await response.text();
      return { response, text, abort, watch: () => this.#after(silenceMsMax, abort) };
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
