/**
 * The forms that areas are written in.
 *
 * A row is `METHOD /path/:parameter flags`. Flags are the credentials that the operation takes (`u` the fan's user token, `s` the
 * fan's space token, `k` an API key, `a` an author's access token) and: `i` takes an idempotency key, `d` takes an action id, `o`
 * names the organisation in a header, `r` may be repeated although its method may not, `1` must not although its method may, `n`
 * pages by offset, `e` answers an event stream, `m` one whose events have what changed, `l` lines of JSON, `w` a file, `b` takes a
 * file.
 */

/** An area of the API: its operations by name. Only areas that a client is given are bundled. */
export interface Area<O> {
  readonly rows: Readonly<Record<string, string>>;
  /** The methods that a client has for the rows; there is no such value. */
  readonly operations?: O;
}

/** The input of operations without parameters. */
export type NoInput = Readonly<Record<string, never>>;

/** The body of an upload. A stream is sent once and never repeated. */
export type RawBody = ReadableStream<Uint8Array> | Blob | string | Uint8Array<ArrayBuffer>;

/** Why a live document is out of date, and when the next attempt follows. */
export interface LiveLoss {
  /** The refusal; undefined where the connection broke off. */
  readonly cause?: unknown;
  /** Time until the next attempt, in ms. */
  readonly retryMs: number;
}

/** Options of a call. */
export interface CallOptions {
  /** Ends the call with the code `aborted`, and a live board without an error. */
  readonly signal?: AbortSignal;
  /** Called whenever a live board is out of date because its connection is lost, before the next attempt. */
  readonly onLost?: (loss: LiveLoss) => void;
  /** Reads a live document every 5 s instead of a stream, as for devices that save data; a page on which nothing is current every 30 s. @default false */
  readonly polls?: boolean;
  /** Longest time for each attempt, in ms. @default that of the client */
  readonly timeoutMs?: number;
  /** Most attempts; 1: never repeated. @default that of the client */
  readonly attemptsMax?: number;
  /** Idempotency key of the call, where the operation takes one. @default a new one for each call */
  readonly idempotencyKey?: string;
  /** Further header fields, such as `If-Match`. They replace those of the client. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A whole answer. */
export interface WholeAnswer<D> {
  readonly status: number;
  readonly headers: Headers;
  /** The document of the answer, as the API reference describes it; undefined where there is none. */
  readonly document: D;
}

/** A call under way: resolves to the `data` of the answer, or to the document if it has none. */
export interface Answer<T, D = T> extends Promise<T> {
  /** Resolves to the whole answer, for `ETag`, `included`, `meta` and totals. */
  whole(): Promise<WholeAnswer<D>>;
}

/** A call for a list: resolves to the first page. As an async iterable it has the entries of all pages, read as they are asked for. */
export interface List<T, D> extends Answer<readonly T[], D>, AsyncIterable<T> {}

/** The body that a method of a client takes. */
export type BodyOf<F extends Callable> =
  NonNullable<Parameters<F>[0]> extends { readonly body?: infer B } ? NonNullable<B> : never;
/** The document that a method of a client answers: all of the answer, where the method resolves to its `data`. */
export type DocumentOf<F extends Callable> = ReturnType<F> extends Answer<unknown, infer D> ? D : never;
type Callable = (input: never, options?: CallOptions) => unknown;
