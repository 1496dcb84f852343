/** The operations of a client, inferred from the routes of the platform. Types alone: no route is in a client. */

import type { ShownDocument, ShownList, Type } from "../authoring/control/mod.ts";
import type { Immutable, RouteMethod, TypedRoute } from "../http/mod.ts";
import type { RouteTypes } from "../http/route.ts";
import type { Answer, CallOptions, List, NoInput, RawBody } from "./area.ts";

type Route = TypedRoute<string, RouteMethod, string, RouteTypes>;

/** The routes that a function builds. */
export type RoutesOf<F extends (...dependencies: never) => unknown> =
  ReturnType<F> extends readonly (infer R)[] ? R : ReturnType<F>;

/** Rows of routes: a missing one, a wrong method and a wrong path are errors. */
export type Rows<R extends Route> = { readonly [X in R as X["operation"] | WatchName<X>]: Row<X> };
type Row<X extends Route> = `${X["method"]} ${X["path"]}` | `${X["method"]} ${X["path"]} ${string}`;

export type Operations<R extends Route> = {
  readonly [X in R as X["operation"]]: Method<InputOf<X>, AnswerOf<Types<X>>>;
} & { readonly [X in R as WatchName<X>]: Method<InputOf<X>, AsyncIterable<Contents<Types<X>>>> };

type Types<X extends Route> = NonNullable<X["types"]>;

/** `listTeams` lists, and `getLiveShow` gets, what `watchTeams` and `watchShow` stream. */
type WatchName<X extends Route> = Types<X>["isStreamable"] extends true
  ? X["operation"] extends `${"list" | "getLive"}${infer N}`
    ? `watch${N}`
    : never
  : never;

type Method<I, A> = [keyof I] extends [never]
  ? (input?: NoInput, options?: CallOptions) => A
  : Record<never, never> extends I
    ? (input?: I, options?: CallOptions) => A
    : (input: I, options?: CallOptions) => A;

/** Shows the members of an intersection as those of one object. */
type Flat<T> = T extends infer U ? { readonly [K in keyof U]: U[K] } : never;

type InputOf<X extends Route> = Flat<
  { [N in NamesIn<X["path"]>]: Parameter<Get<Types<X>["params"], N>> } & QueryOf<Types<X>["query"]> & {
      [N in Types<X>["guard"]]?: string;
    } & BodyMember<Types<X>["body"]>
>;

type NamesIn<U extends string> = U extends `${string}:${infer N}/${infer Rest}`
  ? N | NamesIn<`/${Rest}`>
  : U extends `${string}:${infer N}`
    ? N
    : never;

type Get<T, N> = N extends keyof T ? T[N] : string;

/** A parameter as callers give it: text stands for what the platform reads, but for numbers and lists. */
type Parameter<T, N = ""> = N extends "user_ids"
  ? string | readonly string[]
  : [T] extends [string | number | boolean | undefined]
    ? Exclude<T, undefined>
    : T extends readonly unknown[]
      ? string | readonly string[]
      : string;

type QueryOf<Q extends RouteTypes["query"]> = {
  [N in keyof Q["read"] as IsOptional<Q["sent"], N> extends true ? never : N]: Parameter<Q["read"][N], N>;
} & {
  [N in keyof Q["read"] as IsOptional<Q["sent"], N> extends true ? N : never]?: Parameter<Q["read"][N], N>;
};

type IsOptional<T, N> = N extends keyof T
  ? undefined extends T[N]
    ? true
    : Record<never, never> extends Pick<T, N>
      ? true
      : false
  : false;

type BodyMember<B> = [B] extends [undefined]
  ? unknown
  : [B] extends [ReadableStream]
    ? { body: RawBody }
    : unknown extends B
      ? { body: unknown }
      : undefined extends B
        ? { body?: Immutable<Exclude<B, undefined>> }
        : { body: Immutable<B> };

type ContentsOf<T extends RouteTypes> = T["answers"][keyof T["answers"]];
type Contents<T extends RouteTypes> = ReadOnly<Exclude<ContentsOf<T>, undefined>>;
/** Documents of resources are read-only as they are, and keep their names. */
type ReadOnly<D> = D extends ShownDocument<Type> | ShownList<Type> ? D : Immutable<D>;

type AnswerOf<T extends RouteTypes> = 206 extends keyof T["answers"]
  ? Answer<Response>
  : ContentsOf<T> extends AsyncIterable<infer L>
    ? AsyncIterable<Immutable<L>>
    : [ContentsOf<T>] extends [undefined]
      ? Answer<undefined>
      : ListOr<T, DataOf<Contents<T>>, Contents<T>>;

/** A call resolves to the `data` of documents that always have it. */
type DataOf<D> = D extends { readonly data: infer C } ? C : D;

type ListOr<T extends RouteTypes, C, D> =
  IsPaged<T> extends true
    ? [C] extends [readonly (infer E)[] | { readonly entries: readonly (infer E)[] }]
      ? List<E, D>
      : Answer<C | Extract<ContentsOf<T>, undefined>, D>
    : Answer<C | Extract<ContentsOf<T>, undefined>, D>;

type Cursor = "lastEvaluatedKey" | "cursor" | "page[cursor]" | "offset";
type IsPaged<T extends RouteTypes> = Cursor & (keyof T["query"]["read"] | keyof T["body"]) extends never
  ? false
  : true;
