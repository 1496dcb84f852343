/**
 * Routes as data. One table builds the router, HEAD and 405 answers, the checks of authorization, query and body,
 * the rate limits and the OpenAPI document, so that none of them can drift from the others.
 */

import { description, type GenericSchema, type InferInput, type InferOutput, pipe, string } from "valibot";
import type { ErrorCode } from "../base/errors/mod.ts";
import type { LimitRule } from "../storage/mod.ts";
import type { OnLimiterFailure } from "./rate_limit/failover.ts";

/** Facts that the runtime knows of a request beside the request itself. */
export interface ClientInfo {
  /** Address of the client as the entrypoint determined it. */
  readonly address?: string | undefined;
  /** The request's target as it was received, which spares the kit the making of the request's URL. */
  readonly target?: string | undefined;
  /** Lets work go on after the answer; without it the work is simply not awaited. */
  readonly waitUntil?: ((work: Promise<unknown>) => void) | undefined;
  /** Aborted when the server begins to stop: an answer that streams without an end ends then. */
  readonly stopping?: AbortSignal | undefined;
  /**
   * True if the runtime guarantees that a body is never longer than its `Content-Length`, as every HTTP server does. Such
   * a body is read in one piece; otherwise it is counted chunk by chunk. @default false
   */
  readonly framed?: boolean | undefined;
  /** Tells the runtime that the body of a request may take longer to arrive than that of others, as a stream may. */
  readonly expectStream?: ((request: Request) => void) | undefined;
  /** Makes the answer where the runtime can write a cheaper one than its global `Response`. */
  readonly createResponse?: ResponseFactory | undefined;
}

/** Finds the address of the client of a request; undefined if it is unknown. `info.address` is that of the peer. */
export type ClientAddress = (request: Request, info: ClientInfo) => string | undefined;

/** Makes a Response; a runtime may bring a cheaper class than its global one. */
export type ResponseFactory = (
  body: string | ReadableStream<Uint8Array> | null,
  init: { readonly status: number; readonly headers: Record<string, string> },
) => Response;

/** The one signature that every runtime, framework and test calls. It never rejects. */
export type Handler = (request: Request, info?: ClientInfo) => Promise<Response>;

/** The answer of a handler. At most one of `json`, `text` and `body`. */
export interface Reply {
  readonly status: number;
  /** Sent as its family's type for JSON unless `headers` names another. */
  readonly json?: unknown;
  readonly text?: string;
  readonly body?: ReadableStream<Uint8Array>;
  /** Lower-case names. */
  readonly headers?: Readonly<Record<string, string>>;
}

declare const jsonOf: unique symbol;

/** Text that holds the JSON of a `T`, for answers that are joined from parts. */
export type JsonText<T> = string & { readonly [jsonOf]: T };

/** A reply with a JSON body. */
export interface JsonReply<S extends number, T> extends Reply {
  readonly status: S;
  readonly json: T;
}

/** A reply whose JSON body is text already. */
export interface JsonTextReply<S extends number, T> extends Reply {
  readonly status: S;
  readonly json?: never;
  readonly text: JsonText<T>;
}

/** A reply without a JSON body. */
export interface BareReply<S extends number> extends Reply {
  readonly status: S;
  readonly json?: never;
}

/** A reply without a body. */
export interface EmptyReply<S extends number> extends BareReply<S> {
  readonly text?: never;
}

/** A reply whose body is a stream. */
export interface StreamReply<S extends number> extends BareReply<S> {
  readonly text?: never;
  readonly body: ReadableStream<Uint8Array>;
}

/** A value as handlers may hold it: all of it read-only. */
export type Immutable<T> = T extends string | number | boolean
  ? T
  : T extends object
    ? { readonly [K in keyof T]: Immutable<T[K]> }
    : T;

type ReplyWith<S extends number, R> = R extends { readonly schema: infer B extends GenericSchema }
  ?
      | JsonReply<S, Immutable<InferOutput<B>>>
      | JsonTextReply<S, InferOutput<B>>
      | (R extends { readonly isStreamable: true } | { readonly isStreamed: true } ? StreamReply<S> : never)
      | (R extends { readonly mayBeEmpty: true } ? EmptyReply<S> : never)
  : R extends { readonly lines: GenericSchema }
    ? StreamReply<S>
    : BareReply<S>;

/** The replies that documented responses allow. */
export type ReplyOf<R extends Responses, S extends keyof R = keyof R> = S extends number
  ? ReplyWith<S, R[S]>
  : S extends `${infer N extends number}`
    ? ReplyWith<N, R[S]>
    : never;

/** The parts of a request that a guard sees. */
export interface GuardInput {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly params: Readonly<Record<string, string>>;
  /** The query as sent, each name once. */
  readonly query: Readonly<Record<string, string>>;
}

/** An OpenAPI security scheme object. */
export type SecurityScheme = Readonly<Record<string, unknown>>;

/** Credentials that a guard takes, as the OpenAPI document describes them. */
interface SecurityOption {
  /** Security schemes by name. A request carries the credentials of each. */
  readonly schemes: Readonly<Record<string, SecurityScheme>>;
  /** Scopes or permissions that the credentials must have. @default [] */
  readonly requires?: readonly string[];
}

/** A header field that a guard demands, or a query parameter that it reads. */
export interface GuardParameter<N extends string = string> {
  readonly name: N;
  readonly description: string;
}

/** Turns credentials into a principal `A`, or throws the `AppError` that says why not. `N` names the query parameters that it reads. */
export interface Guard<A, N extends string = never> {
  /** Credentials that it takes, each option alone; empty for open routes. */
  readonly security: readonly SecurityOption[];
  /** Serves calls without credentials too. @default false */
  readonly optional?: boolean;
  /** Header fields that every request must carry beside its credentials. */
  readonly headers?: readonly GuardParameter[];
  /** Query parameters that it reads. None is required. */
  readonly query?: readonly GuardParameter<N>[];
  /** Codes that it throws beside those of its schemes. */
  readonly errors?: readonly ErrorCode[];
  readonly authenticate: (input: GuardInput) => Promise<A> | A;
}

/** The guard of routes that everybody may call. */
export const open: Guard<null> = { security: [], authenticate: () => null };

/** Options for reading a body: JSON, unless {@linkcode streamedBody} made it. */
export interface BodySpec<B extends GenericSchema, D extends GenericSchema = GenericSchema> {
  /** The body may be absent where this is an `optional(…)` or `nullish(…)`. */
  readonly schema: B;
  /** Largest accepted body in bytes, counted while it streams in. @default 65536 */
  readonly maxBytes?: number;
  /** Longest time that it may take to arrive, in ms, where it is larger than others. @default that of the platform */
  readonly msMax?: number;
  /** Accepted media types beside `application/json`. @default [] */
  readonly mediaTypes?: readonly string[];
  /** Schema for the OpenAPI document, where the handler checks the body beyond `schema`. @default schema */
  readonly described?: D;
  /** A body that the operation accepts, for the OpenAPI document. */
  readonly example?: InferInput<B>;
  /** True for a body that the handler reads as a stream. @default false */
  readonly isStreamed?: boolean;
}

/** The schema of a streamed body: text in the OpenAPI document, a stream for the handler. */
type StreamSchema = GenericSchema<string, ReadableStream<Uint8Array>>;

/**
 * Makes the body of a route a stream, which the handler gets as `call.body` and reads at its own pace. The route has no idempotency
 * keys. Reading fails with an `AppError` after `maxBytes`, and when the client breaks off or is silent for 30 s.
 */
export function streamedBody(spec: {
  readonly description: string;
  /** Largest accepted body in bytes. */
  readonly maxBytes: number;
  /** The accepted media types; the range of all types accepts a body without one, too. */
  readonly mediaTypes: readonly [string, ...string[]];
  readonly example: string;
}): BodySpec<StreamSchema> {
  const { description: text, ...limits } = spec;
  return {
    ...limits,
    schema: pipe(string(), description(text)) as unknown as StreamSchema,
    isStreamed: true,
  };
}

/** A documented answer. */
export interface ResponseSpec {
  readonly description: string;
  /** Schema of the JSON body, which is the type that the handler returns. Omitted: the answer has no JSON body. */
  readonly schema?: GenericSchema;
  /** Returns the schema for the OpenAPI document, where it is longer than what handlers need. @default schema */
  readonly described?: () => Promise<GenericSchema>;
  /** Says that the answer is an event stream where `Accept` asks for one. @default false */
  readonly isStreamable?: boolean;
  /** Says that the JSON document is sent as a stream, as it may be long. @default false */
  readonly isStreamed?: boolean;
  /** Says that the answer has no body where there is nothing to say. @default false */
  readonly mayBeEmpty?: boolean;
  /** Schema of each line of an answer in JSON lines, which is a stream. */
  readonly lines?: GenericSchema;
}

/** Documented answers by status. */
export type Responses = Readonly<Record<number, ResponseSpec>>;

/** A checked request, as handlers see it. */
export interface Call<A, P, Q, B> {
  readonly request: Request;
  readonly info: ClientInfo;
  readonly requestId: string;
  readonly principal: A;
  readonly params: P;
  readonly query: Q;
  readonly body: B;
  /** The `Idempotency-Key` of a request to a route that has them, with a digest of query and body. */
  readonly idempotency?: { readonly key: string; readonly fingerprint: string };
}

/** A request whose caller is known, and nothing else yet. */
export type Authorized<A> = Pick<
  Call<A, unknown, unknown, unknown>,
  "request" | "info" | "requestId" | "principal"
>;

/** The cost of requests of a route. */
export interface RateLimit<A> {
  /** The limits, or a function that returns those of the caller; an empty list limits nothing. */
  readonly rules: readonly LimitRule[] | ((call: Authorized<A>) => readonly LimitRule[]);
  /** Returns the subject that the cost counts for. */
  readonly subject: (call: Authorized<A>) => string;
  /** Behaviour while requests cannot be counted for all processes. @default "local" */
  readonly onLimiterFailure?: OnLimiterFailure;
  /** Further cost of a request's content, once its body is read. @default nothing */
  readonly content?: ContentLimit<A>;
}

/** The cost of the content of requests. */
export interface ContentLimit<A> {
  /** The limits; an empty list limits nothing. */
  readonly rules: readonly LimitRule[] | ((call: Authorized<A>) => readonly LimitRule[]);
  /** Returns the subject that the cost counts for. */
  readonly subject: (call: Authorized<A>) => string;
  /** Cost of a request: a whole number; 0: nothing. */
  readonly units: (call: Authorized<A> & { readonly body: unknown }) => number;
}

/** Recognition of repeated requests. */
export interface Idempotent<A> {
  /** The owner of the keys; the keys of different owners are independent. */
  readonly subject: (call: Authorized<A>) => IdempotencySubject;
}

/** The owner of an idempotency key. */
export interface IdempotencySubject {
  /** Null: the keys belong to the platform, as the caller does. */
  readonly organisationId: string | null;
  /** The caller: an API key, a user. */
  readonly caller: string;
}

/** The methods of routes. */
export type RouteMethod = "GET" | "POST" | "PUT" | "PATCH" | "DELETE";

/** Everything of a route but its handler. Path parameters are written `:name` and arrive percent-decoded once. */
interface RouteHead<
  A,
  P extends GenericSchema = GenericSchema,
  Q extends GenericSchema = GenericSchema,
  B extends GenericSchema = GenericSchema,
  R extends Responses = Responses,
> {
  readonly method: RouteMethod;
  readonly path: string;
  /** OpenAPI operationId: lowerCamelCase, unique on the platform. */
  readonly operation: string;
  /** A few words, as a list of operations shows them. */
  readonly summary: string;
  /** One or more sentences for the reader of the OpenAPI document. */
  readonly description?: string;
  readonly auth: Guard<A, string>;
  /** Object schema of the path parameters; each is a string. Omitted: the path has none. */
  readonly params?: P;
  /** Object schema of the query; values arrive as strings. Unknown names are ignored. Omitted: the query is ignored. */
  readonly query?: Q;
  readonly body?: BodySpec<B>;
  /** Successes, and refusals with a body of their own. */
  readonly responses: R;
  /** Codes that the handler itself may answer with, beside those of guard, query and body. */
  readonly errors?: readonly ErrorCode[];
  /** Counted once the caller is known, before anything else of the request is looked at. */
  readonly rateLimit?: RateLimit<A>;
  /** Makes a repeated `Idempotency-Key` answer as the first request did. Only of POST and PATCH. */
  readonly idempotent?: Idempotent<A>;
  /** `public` answers may be cached by anyone and may carry their own Cache-Control. @default "no-store" */
  readonly cache?: "no-store" | "public";
  /** Routes that an embedder adds to the router win over this one. @default false */
  readonly isFallback?: boolean;
  /** A page that people open: its address with a slash at the end leads to it. @default false */
  readonly isPage?: boolean;
  /** Answers people in the place of what is not there below a page; `depth` counts the folders between. @default JSON, as for programs */
  readonly missing?: (depth: number) => Promise<Reply>;
}

/** One endpoint, whose handler returns what the schemas of its responses say. */
export interface Route<
  A,
  P extends GenericSchema,
  Q extends GenericSchema,
  B extends GenericSchema,
  R extends Responses,
> extends RouteHead<A, P, Q, B, R> {
  readonly handle: (
    call: Call<A, InferOutput<P>, InferOutput<Q>, InferOutput<B>>,
  ) => Promise<ReplyOf<R>> | ReplyOf<R>;
}

/** A route whose types were checked where it was written and are dropped here, so that tables can mix them. */
export interface AnyRoute extends RouteHead<unknown> {
  readonly handle: (call: Call<unknown, unknown, unknown, unknown>) => Promise<Reply> | Reply;
}

/** A route as its callers see it: the typed client infers from it. */
export interface TypedRoute<O extends string, M extends RouteMethod, U extends string, T> extends AnyRoute {
  readonly operation: O;
  readonly method: M;
  readonly path: U;
  /** There is no such value. */
  readonly types?: T;
}

/** The types of what callers of a route send and get. */
export interface RouteTypes {
  /** Path parameters by name. */
  readonly params: unknown;
  readonly query: { readonly sent: unknown; readonly read: unknown };
  readonly body: unknown;
  /** Names of query parameters that the guard reads. */
  readonly guard: string;
  /** Contents of successful answers by status; undefined: none. */
  readonly answers: unknown;
  /** True if an answer is an event stream where that is asked for. */
  readonly isStreamable: boolean;
}

type TypesOf<
  P extends GenericSchema,
  Q extends GenericSchema,
  B extends GenericSchema,
  D extends GenericSchema,
  N extends string,
  R extends Responses,
> = {
  readonly params: InferOutput<P>;
  readonly query: { readonly sent: InferInput<Q>; readonly read: InferOutput<Q> };
  readonly body: B extends StreamSchema ? InferOutput<B> : InferInput<D> | AbsentIn<B>;
  readonly guard: N;
  readonly answers: AnswersOf<R>;
  readonly isStreamable: R[keyof R] extends { readonly isStreamable: true } ? true : false;
};

/** Where the body may be absent. */
type AbsentIn<B extends GenericSchema> = B extends { readonly type: "optional" | "nullish" }
  ? undefined
  : never;

/** The contents of successful answers by status; undefined: none. */
export type AnswersOf<R extends Responses> = {
  readonly [S in keyof R as `${S & number}` extends `2${string}` ? S : never]: ContentOf<R[S]>;
};

type ContentOf<R> = R extends { readonly schema: infer B extends GenericSchema }
  ? InferOutput<B> | (R extends { readonly mayBeEmpty: true } ? undefined : never)
  : R extends { readonly lines: infer L extends GenericSchema }
    ? AsyncIterable<InferOutput<L>>
    : undefined;

/** The parts of a route that {@linkcode TypedRoute} names beside its schemas. */
interface Called<
  A,
  O extends string,
  M extends RouteMethod,
  U extends `/${string}`,
  B extends GenericSchema,
  D extends GenericSchema,
  N extends string,
> {
  readonly operation: O;
  readonly method: M;
  readonly path: U;
  readonly body?: BodySpec<B, D>;
  readonly auth: Guard<A, N>;
}

/** Checks the types of a route against each other: above all, the reply of its handler against the schemas of its responses. */
export function route<
  A,
  const R extends Responses,
  const O extends string,
  const M extends RouteMethod,
  const U extends `/${string}`,
  N extends string = never,
  P extends GenericSchema = GenericSchema<unknown, Record<never, never>>,
  Q extends GenericSchema = GenericSchema<unknown, Record<never, never>>,
  B extends GenericSchema = GenericSchema<undefined, undefined>,
  D extends GenericSchema = B,
>(
  definition: Route<A, P, Q, B, R> & Called<A, O, M, U, B, D, N>,
): TypedRoute<O, M, U, TypesOf<P, Q, B, D, N, R>> {
  return definition as unknown as TypedRoute<O, M, U, TypesOf<P, Q, B, D, N, R>>;
}

/** Renders the errors of an area; one for each response family. */
export type Family = "identity" | "problem" | "jsonApi";

/** A set of routes that can be mounted alone or together with others. */
export interface Area {
  /** Tag in the OpenAPI document. */
  readonly name: string;
  readonly family: Family;
  readonly routes: readonly AnyRoute[];
}
