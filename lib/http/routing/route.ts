/**
 * Routes as data. One table builds the router, HEAD and 405 answers, the checks of authorization, query and body,
 * the rate limits and the OpenAPI document, so that none of them can drift from the others.
 *
 * @module
 */

import type { GenericSchema, InferOutput } from "valibot";
import type { ErrorCode } from "../../errors/mod.ts";
import type { LimitRule } from "../../storage/ports.ts";
import type { WhenUncounted } from "../rate_limit/mod.ts";

/** What the runtime knows of a request beside the request itself. */
export interface ClientInfo {
  /** Address of the client as the entrypoint determined it. */
  readonly address?: string | undefined;
  /** The request's target as it was received, which spares the kit the making of the request's URL. */
  readonly target?: string;
  /** Lets work go on after the answer; without it the work is simply not awaited. */
  readonly waitUntil?: (work: Promise<unknown>) => void;
  /** Aborted when the server begins to stop: an answer that streams without an end ends then. */
  readonly stopping?: AbortSignal;
  /**
   * Whether the runtime guarantees that a body is never longer than its `Content-Length`, as every HTTP server does. Such
   * a body is read in one piece; otherwise it is counted chunk by chunk. @default false
   */
  readonly framed?: boolean;
  /** Makes the answer where the runtime can write a cheaper one than its global `Response`. */
  readonly createResponse?: ResponseFactory;
}

/** Makes a Response; a runtime may bring a cheaper class than its global one. */
export type ResponseFactory = (
  body: string | ReadableStream<Uint8Array> | null,
  init: { readonly status: number; readonly headers: Record<string, string> },
) => Response;

/** The one signature that every runtime, framework and test calls. It never rejects. */
export type Handler = (request: Request, info?: ClientInfo) => Promise<Response>;

/** What a route answers. At most one of `json`, `text` and `body`. */
export interface Reply {
  readonly status: number;
  /** Sent as its family's type for JSON unless `headers` names another. */
  readonly json?: unknown;
  readonly text?: string;
  readonly body?: ReadableStream<Uint8Array>;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** What a guard sees of a request. */
export interface GuardInput {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly params: Readonly<Record<string, string>>;
  /** The query as sent, each name once. */
  readonly query: Readonly<Record<string, string>>;
}

/** A way to present credentials, as the OpenAPI document tells it. */
export interface GuardScheme {
  readonly scheme: string;
  readonly openapi: Readonly<Record<string, unknown>>;
  readonly requires: readonly string[];
}

/** A header field that a guard demands. */
export interface GuardHeader {
  readonly name: string;
  readonly description: string;
}

/** Who may call: turns credentials into a principal `A` or throws the `AppError` that says why not. */
export interface Guard<A> {
  /** Name of the security scheme in the OpenAPI document; null for open routes. */
  readonly scheme: string | null;
  /** The OpenAPI security scheme object. */
  readonly openapi?: Readonly<Record<string, unknown>>;
  /** Whether a call without credentials is served too. @default false */
  readonly optional?: boolean;
  /** Scopes or permissions that the guard demands, for the document. */
  readonly requires?: readonly string[];
  /** Credentials that it takes instead of those of its scheme. */
  readonly alternative?: GuardScheme;
  /** Header fields that every request must carry beside the credentials, for the document. */
  readonly headers?: readonly GuardHeader[];
  /** Codes that it throws beside those of its schemes. */
  readonly errors?: readonly ErrorCode[];
  readonly authenticate: (input: GuardInput) => Promise<A> | A;
}

/** The guard of routes that everybody may call. */
export const open: Guard<null> = { scheme: null, authenticate: () => null };

/** How a JSON body is read. */
export interface BodySpec<B extends GenericSchema> {
  /** Where it is an `optional(…)` or `nullish(…)` the body may be absent. */
  readonly schema: B;
  /** Largest accepted body in bytes, counted while it streams in. @default 65536 */
  readonly maxBytes?: number;
  /** Accepted media types beside `application/json`. @default [] */
  readonly mediaTypes?: readonly string[];
  /** What the OpenAPI document tells of the body, where the handler checks it beyond `schema`. @default schema */
  readonly described?: GenericSchema;
}

/** A documented answer. */
export interface ResponseSpec {
  readonly description: string;
  /** Schema of the JSON body; omitted where there is none. */
  readonly schema?: GenericSchema;
  /** Whether the answer is an event stream instead where `Accept` asks for one. @default false */
  readonly isStreamable?: boolean;
}

/** A checked request, as handlers see it. */
export interface Call<A, P, Q, B> {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly requestId: string;
  readonly principal: A;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The `Idempotency-Key` of a request to a route that has them. */
  readonly idempotencyKey?: string;
}

/** A request whose caller is known, and nothing else yet. */
export type Admitted<A> = Pick<
  Call<A, unknown, unknown, unknown>,
  "request" | "info" | "requestId" | "principal"
>;

/** What requests of a route cost. */
export interface RateLimit<A> {
  /** What may be spent, or how that follows from the caller; an empty list limits nothing. */
  readonly rules: readonly LimitRule[] | ((call: Admitted<A>) => readonly LimitRule[]);
  /** Names who pays. */
  readonly subject: (call: Admitted<A>) => string;
  /** What happens while requests cannot be counted for all processes. @default "count here" */
  readonly whenUncounted?: WhenUncounted;
  /** What the content of a request costs beside that, once its body is read. @default nothing */
  readonly content?: ContentLimit<A>;
}

/** What the content of requests costs. */
export interface ContentLimit<A> {
  /** What may be spent; an empty list limits nothing. */
  readonly rules: readonly LimitRule[];
  /** Names who pays. */
  readonly subject: (call: Admitted<A>) => string;
  /** How much a request is to pay: a whole number; 0: nothing. */
  readonly units: (call: Admitted<A> & { readonly body: unknown }) => number;
}

/** How repeated requests are told from new ones. */
export interface Idempotent<A> {
  /** Whose keys these are: nobody meets the key of another. */
  readonly subject: (call: Admitted<A>) => IdempotencySubject;
}

/** Whose an idempotency key is. */
export interface IdempotencySubject {
  readonly organisationId: string;
  /** Who calls: an API key, a user. */
  readonly caller: string;
}

/** One endpoint. Path parameters are written `:name` and arrive percent-decoded once. */
export interface Route<
  A,
  P extends GenericSchema = GenericSchema,
  Q extends GenericSchema = GenericSchema,
  B extends GenericSchema = GenericSchema,
> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: `/${string}`;
  /** OpenAPI operationId: lowerCamelCase, unique on the platform. */
  readonly operation: string;
  readonly summary: string;
  readonly auth: Guard<A>;
  /** Object schema of the path parameters; each is a string. Omitted: the path has none. */
  readonly params?: P;
  /** Object schema of the query; values arrive as strings. Unknown names are ignored. Omitted: the query is ignored. */
  readonly query?: Q;
  readonly body?: BodySpec<B>;
  /** Success answers by status. */
  readonly responses: Readonly<Record<number, ResponseSpec>>;
  /** Codes that the handler itself may answer with, beside those of guard, query and body. */
  readonly errors?: readonly ErrorCode[];
  /** Counted once the caller is known, before anything else of the request is looked at. */
  readonly rateLimit?: RateLimit<A>;
  /** Whether an `Idempotency-Key` makes a repeated request the same one. Only of POST and PATCH. */
  readonly idempotent?: Idempotent<A>;
  /** `public` answers may be cached by anyone and may carry their own Cache-Control. @default "no-store" */
  readonly cache?: "no-store" | "public";
  readonly handle: (call: Call<A, InferOutput<P>, InferOutput<Q>, InferOutput<B>>) => Promise<Reply> | Reply;
}

/** A route whose types have been checked where it was written, and are forgotten here so that tables can mix them. */
export type AnyRoute = Route<unknown>;

/** Checks a route's types against each other and forgets them. */
export function route<
  A,
  P extends GenericSchema = GenericSchema<unknown, Record<string, never>>,
  Q extends GenericSchema = GenericSchema<unknown, Record<string, never>>,
  B extends GenericSchema = GenericSchema<unknown, undefined>,
>(definition: Route<A, P, Q, B>): AnyRoute {
  return definition as unknown as AnyRoute;
}

/** How an area renders its errors: one place per response family. */
export type Family = "identity" | "problem" | "jsonApi";

/** A set of routes that can be mounted alone or together with others. */
export interface Area {
  /** Tag in the OpenAPI document. */
  readonly name: string;
  readonly family: Family;
  readonly routes: readonly AnyRoute[];
}
