/** Signed requests, bounded in time and number. */

import { AwsV4Signer } from "aws4fetch";
import { AppError } from "../../lib/base/errors/mod.ts";
import { retry } from "../../lib/storage/background/mod.ts";

interface S3Request {
  readonly method: "GET" | "HEAD" | "PUT" | "POST" | "DELETE";
  readonly name: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array<ArrayBuffer>;
}

interface S3Answer {
  readonly response: Response;
  /** Text of the answer; empty if it is the content of a blob. */
  readonly text: string;
  abort(): void;
  /** Does so after the longest silence, unless it is called off. */
  watch(): () => void;
}

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
    const work = async (attempt: number) => {
      const answer = await this.#attempt(request);
      return attempt < s3AttemptsMax && isBusy(answer.response.status) ? undefined : answer;
    };
    const pause = {
      timer: (done: () => void, ms: number) => this.#after(ms, done),
      ms: (attempt: number) => s3FirstPauseMsMax * 2 ** (attempt - 1) * this.#random(),
    };
    return await retry(work, { attemptsMax: s3AttemptsMax, isRetryable: () => true, pause }).catch(error => {
      throw lostAnswer(error, { isWrite: request.method !== "GET" && request.method !== "HEAD" });
    });
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

/** Bounds of the S3 adapter. */

/** Longest silence of the service, in ms: until it answers, while it takes up to a part, and between pieces of a body. */
export const s3SilenceMsMax = 30_000;
/** Most attempts of a request that the service does not answer, or answers with 429 or 5xx. */
export const s3AttemptsMax = 4;
/** Longest pause before the second attempt, in ms; each further one is twice as long. */
export const s3FirstPauseMsMax = 200;
/** Bytes of a part. A smaller blob is sent whole; of a larger one, one part at a time is in memory. */
export const partBytes = 8_388_608;
export const partsMax = 10_000;
/** Time in ms after which a client may try again when the service cannot be used. */
const s3RetryMs = 1_000;

/** No answer came, or not all of it. */
export function lostAnswer(cause: unknown, { isWrite }: { readonly isWrite: boolean }): AppError {
  if (isWrite) {
    return new AppError("outcome_unknown", "Cannot tell if the blob store applied the change", {
      cause,
    });
  }
  return new AppError("storage_unavailable", "Cannot use the blob store: it does not answer", {
    cause,
    retryAfterMs: s3RetryMs,
  });
}

/** Returns the error for a refusal by the service. The reason that it gives goes to logs alone. */
export function refusedRequest(status: number, reason: string): AppError {
  const message = `Cannot use the blob store: it answered ${status} ${reason}`.trimEnd();
  return isBusy(status)
    ? new AppError("storage_unavailable", message, { retryAfterMs: s3RetryMs })
    : new AppError("internal_error", message);
}

function isBusy(status: number): boolean {
  return status === 429 || status >= 500;
}

/** Returns the code in an answer that is an error, such as `NoSuchKey`; empty if it names none. */
export function errorCodeOf(xml: string): string {
  return elementOf(xml, "Code");
}

/** Returns the content of the first element of a name in an answer; empty if there is none. */
export function elementOf(xml: string, name: string): string {
  const content = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1] ?? "";
  const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", amp: "&", quot: '"', apos: "'" };
  return content.replace(/&(lt|gt|amp|quot|apos);/g, (_, entity: string) => entities[entity] ?? "");
}

/** A bucket, and the strict parser of its URL. */

/** A bucket. */
export interface S3Bucket {
  /** The service: an http or https URL without path, query and credentials. */
  readonly endpoint: string;
  readonly bucket: string;
  /** Prefix of every key in the bucket: empty, or a path that ends with a slash. @default "" */
  readonly prefix?: string;
  /** @default "us-east-1" */
  readonly region?: string;
  /** True if the bucket is in the path of URLs or in their host. @default "path" */
  readonly style?: "path" | "virtual";
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** With temporary credentials. */
  readonly sessionToken?: string;
}

/** Calls a function after a time in ms, and answers how to call that off. */
type S3Timer = (ms: number, act: () => void) => () => void;

/** A bucket, and what of the runtime is used for it. */
export interface S3BlobsOptions extends S3Bucket {
  /** Unix ms; services refuse requests that are minutes off. @default Date.now */
  readonly clock?: () => number;
  /** Sends a request. @default the `fetch` of the runtime */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>;
  /** @default the timer of the process */
  readonly after?: S3Timer;
  /** A number from 0 to 1, to spread what many do at once. @default Math.random */
  readonly random?: () => number;
}

function urlOf({ endpoint, bucket, prefix = "", style = "path" }: S3Bucket, name: string): URL {
  const url = new URL(endpoint);
  if (style === "virtual") url.hostname = `${bucket}.${url.hostname}`;
  url.pathname = `${style === "path" ? `/${bucket}` : ""}/${prefix}${name}`;
  return url;
}

const bucketPattern = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/;
const folderPattern = /^[A-Za-z0-9._-]+$/;
const regionPattern = /^[a-z0-9-]{1,64}$/;

/**
 * Understands `https://<access key id>:<secret>@<host>/<bucket>`, optionally with folders behind the bucket and with the
 * parameters `region=<region>` and `style=virtual`. Access key id and secret are percent-encoded.
 *
 * @throws {TypeError} The URL says something else. The message does not repeat it, because it holds a secret.
 */
export function parseS3Url(text: string): S3Bucket {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol)) throw unusable("expected https://host/bucket");
  const [bucket = "", ...folders] = url.pathname.replace(/^\/|\/$/g, "").split("/");
  if (!bucketPattern.test(bucket)) throw unusable("expected the name of a bucket as its path");
  if (!folders.every(isFolder))
    throw unusable("folders behind the bucket are of A-Z, a-z, 0-9, '.', '_' and '-'");
  if (url.hash !== "") throw unusable("expected no fragment");
  return {
    endpoint: url.origin,
    bucket,
    prefix: folders.map(folder => `${folder}/`).join(""),
    ...credentialsOf(url),
    ...parametersOf(url.searchParams),
  };
}

function isFolder(name: string): boolean {
  return folderPattern.test(name) && name !== "." && name !== "..";
}

function credentialsOf({ username, password }: URL): Pick<S3Bucket, "accessKeyId" | "secretAccessKey"> {
  if (username === "" || password === "")
    throw unusable("expected an access key id and a secret before the host");
  try {
    return { accessKeyId: decodeURIComponent(username), secretAccessKey: decodeURIComponent(password) };
  } catch {
    throw unusable("access key id and secret must be percent-encoded");
  }
}

function parametersOf(parameters: URLSearchParams): Pick<S3Bucket, "region" | "style"> {
  const { region, style, ...others } = Object.fromEntries(parameters);
  if (Object.keys(others).length > 0) throw unusable("the parameters are region and style");
  if (region !== undefined && !regionPattern.test(region))
    throw unusable("the region is no name of a region");
  if (style !== undefined && style !== "path" && style !== "virtual")
    throw unusable("style is path or virtual");
  return { ...(region === undefined ? {} : { region }), ...(style === undefined ? {} : { style }) };
}

function unusable(expectation: string): TypeError {
  return new TypeError(`Cannot use the S3 URL: ${expectation}`);
}
