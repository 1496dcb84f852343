/** The types of documents and queries, which follow from the table of resources. */

import type * as v from "valibot";
import type { RouteMethod, TypedRoute } from "../../../http/mod.ts";
import type { Attribute, Operation, Relationship, resources } from "../../table/mod.ts";

type Table = typeof resources;
/** The type of a resource in the table. */
export type Type = keyof Table;

type Links = Readonly<Record<string, string | null>>;
type Meta = Readonly<Record<string, unknown>>;
/** True where nothing has to be given. */
type IsOptional<T> = Record<never, never> extends T ? true : false;
/** A member that may be left out where nothing in it has to be given. */
type Member<N extends string, T> = keyof T extends never
  ? unknown
  : IsOptional<T> extends true
    ? { readonly [K in N]?: T }
    : { readonly [K in N]: T };
type Flat<T> = T extends infer U ? { readonly [K in keyof U]: U[K] } : never;

/** An attribute as answers have it: null where nothing was written and there is no default. */
type ShownValue<A extends Attribute> = A extends { required: true } | { default: unknown }
  ? v.InferOutput<A["schema"]>
  : v.InferOutput<A["schema"]> | null;

type ShownRelationship<L extends Relationship> = L["kind"] extends "link"
  ? { readonly links: Links }
  : L["kind"] extends "many"
    ? { readonly data: readonly { readonly type: L["type"]; readonly id: string }[] }
    : { readonly data: { readonly type: string; readonly id: string } | null };

type AttributesOf<T extends Type> = Table[T]["attributes"];
type RelationshipsOf<T extends Type> = Table[T]["relationships"];

/** A resource of a type, as answers have it. */
export interface Shown<T extends Type> {
  readonly type: T;
  readonly id: string;
  readonly attributes: {
    readonly [N in keyof AttributesOf<T>]?: AttributesOf<T>[N] extends Attribute
      ? ShownValue<AttributesOf<T>[N]>
      : never;
  };
  readonly relationships?: {
    readonly [N in keyof RelationshipsOf<T>]?: RelationshipsOf<T>[N] extends Relationship
      ? ShownRelationship<RelationshipsOf<T>[N]>
      : never;
  };
  readonly links?: Links;
  readonly meta?: Meta;
}

/** A resource that an answer includes beside those that were asked for. */
export interface IncludedResource {
  readonly type: string;
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly relationships?: Readonly<Record<string, unknown>>;
  readonly links?: Links;
  readonly meta?: Meta;
}

/** An answer with one resource. */
export interface ShownDocument<T extends Type> {
  readonly data: Shown<T>;
  readonly included?: readonly IncludedResource[];
  readonly links?: Links;
  readonly meta?: Meta;
}

/** An answer with a list. */
export interface ShownList<T extends Type> {
  readonly data: readonly Shown<T>[];
  readonly included?: readonly IncludedResource[];
  readonly links: Links;
  readonly meta?: Meta;
}

type WriteOf<A> = A extends { write: infer W } ? W : "always";
type Sent<A> = A extends Attribute
  ? A extends { nullable: true }
    ? v.InferInput<A["schema"]> | null
    : v.InferInput<A["schema"]>
  : never;

type NewAttributes<T extends Type, A = AttributesOf<T>> = Flat<
  {
    [N in keyof A as WriteOf<A[N]> extends "never"
      ? never
      : A[N] extends { required: true }
        ? N
        : never]: Sent<A[N]>;
  } & {
    [N in keyof A as WriteOf<A[N]> extends "never"
      ? never
      : A[N] extends { required: true }
        ? never
        : N]?: Sent<A[N]>;
  } & ActionOf<Table[T], "createActions">
>;

type ChangedAttributes<T extends Type, A = AttributesOf<T>> = Flat<
  { [N in keyof A as WriteOf<A[N]> extends "never" | "create" ? never : N]?: Sent<A[N]> } & ActionOf<
    Table[T],
    "actions"
  >
>;

type ActionOf<R, K extends string> = R extends { readonly [N in K]: readonly (infer A)[] }
  ? { action?: A }
  : unknown;

type Identifier<L extends { readonly type: string }> = { readonly type: L["type"]; readonly id: string };
type LinkedTo<L> = L extends { kind: "one"; type: string }
  ? { readonly data: L extends { required: true } ? Identifier<L> : Identifier<L> | null }
  : never;

type NewRelationships<T extends Type, L = RelationshipsOf<T>> = Flat<
  {
    [N in keyof L as L[N] extends { kind: "one"; write: "create" | "always"; required: true }
      ? N
      : never]: LinkedTo<L[N]>;
  } & {
    [N in keyof L as L[N] extends { kind: "one"; write: "create" | "always" }
      ? L[N] extends { required: true }
        ? never
        : N
      : never]?: LinkedTo<L[N]>;
  }
>;
type ChangedRelationships<T extends Type, L = RelationshipsOf<T>> = {
  readonly [N in keyof L as L[N] extends { kind: "one"; write: "always" } ? N : never]?: LinkedTo<L[N]>;
};

/** A body that creates a resource. One that is created under its parent does not name it. */
export type NewBody<T extends Type> = {
  readonly data: { readonly type: T } & Member<"attributes", NewAttributes<T>> &
    Member<"relationships", NewRelationships<T>>;
};

export type ChangedBody<T extends Type> = {
  readonly data: { readonly type: T; readonly id?: string } & Member<"attributes", ChangedAttributes<T>> &
    Member<"relationships", ChangedRelationships<T>>;
};

type TypeAt<T, N> = T extends Type
  ? N extends keyof RelationshipsOf<T>
    ? RelationshipsOf<T>[N] extends { readonly type: infer To }
      ? To
      : never
    : never
  : never;
type TypesAlong<T, P> = P extends `${infer A}.${infer B}`
  ? TypeAt<T, A> | TypesAlong<TypeAt<T, A>, B>
  : TypeAt<T, P>;
type Included<T extends Type> = Table[T] extends { readonly include: readonly (infer P)[] } ? P : never;

type ViewQuery<T extends Type> = {
  readonly [N in T | Extract<TypesAlong<T, Included<T>>, string> as `fields[${N}]`]?: string;
} & ([Included<T>] extends [never] ? unknown : { readonly include?: string });

type ReadQuery<T extends Type> = ViewQuery<T>;

type WriteQuery<T extends Type> = ViewQuery<T> & DryRun;
type DryRun = { readonly dry_run?: "true" | "false" };

type SortOf<T extends Type> = Table[T]["sorts"][number];
export type ListQuery<T extends Type> = ViewQuery<T> & {
  readonly "page[count]"?: number;
  readonly "page[cursor]"?: string;
} & ([SortOf<T>] extends [never] ? unknown : { readonly sort?: SortOf<T> | `-${SortOf<T>}` }) &
  (Table[T] extends { readonly isPagedByNumber: true } ? { readonly "page[number]"?: number } : unknown) &
  (Table[T] extends { readonly filters: infer F }
    ? {
        readonly [N in keyof F as `filter[${N & string}]`]?: F[N] extends v.GenericSchema
          ? v.InferInput<F[N]>
          : never;
      }
    : unknown);

export type Query = Readonly<Record<string, unknown>>;

export interface View {
  readonly include: readonly string[];
  readonly fields: ReadonlyMap<string, ReadonlySet<string>>;
}

export interface ListView extends View {
  /** Null: the list's own order. */
  readonly sort: { readonly by: string; readonly descending: boolean } | null;
  readonly filters: Readonly<Record<string, unknown>>;
  readonly count: number;
  readonly cursor: string | undefined;
  /** Number of the page from 1, where it is asked for. */
  readonly number?: number;
}

/** `event_templates` becomes `EventTemplates`. */
export type Pascal<T extends string> = T extends `${infer A}_${infer B}`
  ? `${Capitalize<A>}${Pascal<B>}`
  : Capitalize<T>;
/** `event_templates` becomes `EventTemplate`. */
export type NameOf<T extends string> =
  Pascal<T> extends `${infer N}ies` ? `${N}y` : Pascal<T> extends `${infer N}s` ? N : Pascal<T>;
/** `event_templates` becomes `eventTemplateId`. */
export type ParameterOf<T extends string> = `${Uncapitalize<NameOf<T>>}Id`;

interface Contents {
  readonly query?: unknown;
  readonly body?: unknown;
  readonly answers: unknown;
}

export type RouteOf<
  O extends string,
  M extends RouteMethod,
  U extends string,
  C extends Contents,
> = TypedRoute<
  O,
  M,
  U,
  {
    readonly params: unknown;
    readonly query: { readonly sent: C["query"]; readonly read: C["query"] };
    readonly body: C extends { body: infer B } ? B : undefined;
    readonly guard: never;
    readonly answers: C["answers"];
    readonly isStreamable: false;
  }
>;

type Can<T extends Type, O extends Operation, R> = O extends Table[T]["operations"][number] ? R : never;
export type At<T extends string> = `/api/v2/${T}/:${ParameterOf<T>}`;
type Under<U, P extends string> = U extends string ? `${At<U>}/${P}` : `/api/v2/${P}`;
type NameUnder<U> = U extends string ? NameOf<U> : "";
type Parent<T extends Type> = Table[T]["under"][number];

type ListRoute<T extends Type, U = Parent<T>, P extends string = Table[T]["path"]> = U extends string | null
  ? RouteOf<
      `list${NameUnder<U>}${Pascal<P>}`,
      "GET",
      Under<U, P>,
      { query: ListQuery<T>; answers: { 200: ShownList<T> } }
    >
  : never;

type CreateRoute<T extends Type, U = Parent<T>, P extends string = Table[T]["path"]> = U extends string | null
  ? RouteOf<
      `create${NameUnder<U>}${NameOf<T>}`,
      "POST",
      Under<U, P>,
      { query: WriteQuery<T>; body: NewBody<T>; answers: { 201: ShownDocument<T> } }
    >
  : never;

type WrittenAnswer<T extends Type> = { 200: ShownDocument<T>; 204: undefined };

type RelationshipRoutes<T extends Type, L = RelationshipsOf<T>> = {
  [N in keyof L & string]: L[N] extends { kind: "many" | "link"; type: infer To; write: infer W }
    ? W extends "always"
      ? RelationshipRoute<T, N, "change", "PATCH", To>
      : W extends "links"
        ? RelationshipRoute<T, N, "add", "POST", To> | RelationshipRoute<T, N, "remove", "DELETE", To>
        : never
    : never;
}[keyof L & string];

type RelationshipRoute<
  T extends Type,
  N extends string,
  V extends string,
  M extends RouteMethod,
  To,
> = RouteOf<
  `${V}${NameOf<T>}${Pascal<N>}`,
  M,
  `${At<T>}/relationships/${N}`,
  {
    query: DryRun;
    body: { readonly data: readonly { readonly type: To; readonly id: string }[] };
    answers: { 204: undefined };
  }
>;

type RoutesOf<T extends Type> =
  | Can<T, "list", ListRoute<T>>
  | Can<
      T,
      "read",
      RouteOf<`read${NameOf<T>}`, "GET", At<T>, { query: ReadQuery<T>; answers: { 200: ShownDocument<T> } }>
    >
  | Can<
      T,
      "create",
      Table[T] extends { isCreatedUnderParent: true } ? CreateRoute<T> : CreateRoute<T, null, T>
    >
  | Can<
      T,
      "change",
      | RouteOf<
          `change${NameOf<T>}`,
          "PATCH",
          At<T>,
          { query: WriteQuery<T>; body: ChangedBody<T>; answers: WrittenAnswer<T> }
        >
      | (AttributesOf<T> extends { annotations: unknown } ? AnnotationRoutes<T> : never)
    >
  | Can<
      T,
      "remove",
      RouteOf<`remove${NameOf<T>}`, "DELETE", At<T>, { query: DryRun; answers: { 204: undefined } }>
    >
  | RelationshipRoutes<T>;

type AnnotationRoutes<T extends Type> =
  | RouteOf<
      `read${NameOf<T>}Annotations`,
      "GET",
      `${At<T>}/annotations`,
      { answers: { 200: ShownDocument<T> } }
    >
  | RouteOf<
      `change${NameOf<T>}Annotations`,
      "PATCH",
      `${At<T>}/annotations`,
      { query: DryRun; body: ChangedBody<T>; answers: WrittenAnswer<T> }
    >;

/** Resources whose routes are not made from the table alone. */
export type WithoutKind = "users" | "content_types" | "spec_checks" | "access_tokens" | "audit_entries";

export type ResourceRoute = { [T in Exclude<Type, WithoutKind>]: RoutesOf<T> }[Exclude<Type, WithoutKind>];
