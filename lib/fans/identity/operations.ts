/** Operations of the identity API: one route serves many providers, which `strategy` and `provider` select. */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import { bearerToken, invalidToken } from "../../auth/tokens/mod.ts";
import { AppError, type ErrorCode } from "../../base/errors/mod.ts";
import {
  type AnyRoute,
  type Call,
  type Guard,
  named,
  type Reply,
  type ReplyOf,
  type Responses,
  type RouteMethod,
  route,
  type TypedRoute,
  validate,
} from "../../http/mod.ts";
import type { AnswersOf } from "../../http/route.ts";
import type { Project } from "../directory/mod.ts";
import { type AuditFacts, recordAttempt } from "./audit/audit.ts";
import type { IdentityContext } from "./context.ts";
import type { Session } from "./sessions/session.ts";
import type { Authenticated } from "./sessions/sessions.ts";
import { identitySetting, isProviderEnabled } from "./settings.ts";

type CallFacts = Pick<Call<unknown, unknown, unknown, unknown>, "request" | "info" | "requestId">;

/** The call of an operation, besides its input. */
export interface OperationCall extends CallFacts {
  readonly project: Project;
  /** Notes the subject for the audit trail as soon as it is known, also for attempts that then fail. */
  readonly note: (facts: AuditFacts) => void;
}

interface OperationSpec<S extends string, P extends string, E extends v.ObjectEntries, R extends Responses> {
  readonly strategies: readonly [S, ...S[]];
  readonly providers: readonly [P, ...P[]];
  /** The input besides project, strategy and provider. */
  readonly entries: E;
  readonly responses: R;
  /** Marks a look-up, of which the trail records failures only. @default false */
  readonly isLookup?: boolean;
  readonly run: (
    input: Selector<S, P> & v.InferOutput<v.ObjectSchema<E, undefined>>,
    call: OperationCall,
  ) => Promise<ReplyOf<R>>;
}

export interface Selector<S extends string = string, P extends string = string> {
  readonly projectId: string;
  readonly strategy: S;
  readonly provider: P;
}

/** An operation whose types were checked by {@linkcode operation}: callers know its input and its answers. */
export interface Operation<I = unknown, R extends Responses = Responses> {
  readonly strategies: readonly string[];
  readonly providers: readonly string[];
  readonly schema: v.GenericSchema<I, Selector>;
  /** The part of the schema that is not the selector. */
  readonly own: v.GenericSchema<unknown, object>;
  readonly responses: R;
  readonly isLookup: boolean;
  readonly run: (input: Selector, call: OperationCall) => Promise<Reply>;
}

/** Accepts a UUID in any case and makes it lower-case. */
export const UuidSchema = v.pipe(v.string(), v.check(isUuid, "Expected a UUID"), v.toLowerCase());

const sharedDeviceId = /^(?:0{8}-0{4}-0{4}-0{4}-0{12}|f{8}-f{4}-f{4}-f{4}-f{12})$/;

/**
 * Accepts the id of a device: any UUID but the nil and the max one (RFC 9562), which clients without an id of their own
 * send. They would all be one device, and of the anonymous provider one user.
 */
export const DeviceIdSchema = v.pipe(
  UuidSchema,
  v.check(id => !sharedDeviceId.test(id), "Expected the random UUID of one device"),
);

const projectId = v.pipe(
  v.string(),
  v.description("Id of the project"),
  v.check(isUuid, "Expected a UUID"),
  v.toLowerCase(),
);

const selectorDescriptions = {
  strategy: "`simplified` or `email`, as the provider demands",
  provider: "Provider of the user",
};

/** The members of every identity request; the operation checks the rest. */
const selectorEntries = {
  projectId,
  strategy: v.pipe(v.string(), v.description(selectorDescriptions.strategy)),
  provider: v.pipe(v.string(), v.description(selectorDescriptions.provider)),
};
const SelectorSchema = v.looseObject(selectorEntries);

/** Checks the types of an operation against each other: its input, its run and its answers. */
export function operation<
  S extends string,
  P extends string,
  E extends v.ObjectEntries,
  const R extends Responses,
>(
  spec: OperationSpec<S, P, E, R>,
): Operation<Selector<S, P> & v.InferInput<v.ObjectSchema<E, undefined>>, R> {
  const { strategies, providers, entries, isLookup = false } = spec;
  const schema = v.object({
    projectId,
    strategy: v.pipe(
      strategies.length > 1 ? v.picklist(strategies) : v.literal(strategies[0]),
      v.description(selectorDescriptions.strategy),
    ),
    provider: v.pipe(
      providers.length > 1 ? v.picklist(providers) : v.literal(providers[0]),
      v.description(selectorDescriptions.provider),
    ),
    ...entries,
  });
  return { ...spec, schema, own: v.object(entries), isLookup } as never;
}

/** Accepts an object, and no array, which `v.object` takes for an object without members. */
export function objectOnly<E extends v.ObjectEntries>(
  name: string,
  entries: E,
): v.LazySchema<v.ObjectSchema<E, undefined>> {
  const schema = named(name, v.object(entries));
  const refusal = v.custom<never>(() => false, "Expected an object");
  return v.lazy(input => (Array.isArray(input) ? (refusal as unknown as typeof schema) : schema));
}

interface OperationRoute<
  O extends string = string,
  M extends RouteMethod = RouteMethod,
  U extends `/${string}` = `/${string}`,
  T extends Operation = Operation,
  E extends v.ObjectEntries = v.ObjectEntries,
> {
  readonly method: M;
  readonly path: U;
  readonly operation: O;
  readonly summary: string;
  readonly description: string;
  readonly auth: Guard<null>;
  readonly event: string;
  readonly operations: readonly T[];
  readonly errors: readonly ErrorCode[];
  /** Names of the body, and of an answer that has alternatives, in the OpenAPI document. */
  readonly schemas?: { readonly body?: string; readonly answer?: string };
  readonly example?: Readonly<Record<string, unknown>>;
  /** Parameters besides the selector. @default {} */
  readonly query?: E;
}

type ContentsOf<R> = R extends Responses ? AnswersOf<R>[keyof AnswersOf<R>] : never;

/** The types of a route of operations, of which each has an input and answers of its own. */
export interface OperationTypes<T extends Operation, Q, B> {
  readonly params: unknown;
  readonly query: { readonly sent: Q; readonly read: Q };
  readonly body: B;
  readonly guard: never;
  readonly answers: { readonly 200: ContentsOf<T["responses"]> };
  readonly isStreamable: false;
}

type InputOf<T> = T extends Operation<infer I> ? I : never;
type QueryOf<E extends v.ObjectEntries> = Selector & v.InferOutput<v.ObjectSchema<E, undefined>>;

/**
 * Builds a route from its operations. Their input is the query of a GET or DELETE, and else the body. The route runs the operation
 * that a request selects, and records its outcome.
 */
export function operationRoute<
  const O extends string,
  const M extends RouteMethod,
  const U extends `/${string}`,
  T extends Operation,
  E extends v.ObjectEntries = Record<never, never>,
>(
  context: IdentityContext,
  definition: OperationRoute<O, M, U, T, E>,
): TypedRoute<
  O,
  M,
  U,
  M extends "GET" | "DELETE"
    ? OperationTypes<T, QueryOf<E>, undefined>
    : OperationTypes<T, unknown, InputOf<T>>
> {
  const { method, path, summary, description, auth, event, operations, errors, example } = definition;
  const { schemas = {} } = definition;
  const byName = new Map(
    operations.flatMap(one =>
      one.providers.flatMap(provider =>
        one.strategies.map(strategy => [`${strategy}/${provider}`, one] as const),
      ),
    ),
  );
  async function run(subject: "body" | "parameters", input: Selector, facts: CallFacts): Promise<Reply> {
    const { projectId, strategy, provider } = input;
    const project = await context.directory.project(projectId);
    if (project === null) throw unknownProject(subject);
    const found = byName.get(`${strategy}/${provider}`);
    if (found === undefined || !isProviderEnabled(project, provider)) {
      throw new AppError(
        "unsupported_provider",
        "Cannot serve the request as the project does not offer this strategy and provider for it",
      );
    }
    // Malformed input is no attempt, and leaves no trace. The selector is valid already.
    const own = validate(found.own, input, subject);
    const valid: Selector = Object.assign(own, { projectId, strategy, provider });
    const { request, info, requestId } = facts;
    const call = { request, info, requestId };
    // The record of a user without credentials has its sign-up and logins, and there are a great many of them.
    // A deleted user has none any more.
    const isProjectOnly = strategy === "simplified" || event === "delete";
    const attempt = { projectId, event, provider, call, isLookup: found.isLookup, isProjectOnly };
    return await recordAttempt(context, attempt, note =>
      // Not a spread of `call`: with a note to add, it was 7 % of a check.
      found.run(valid, { request, info, requestId, project, note }),
    );
  }
  const common = {
    method,
    path,
    operation: definition.operation,
    summary,
    description,
    auth,
    errors: [...new Set<ErrorCode>(["unsupported_provider", "provider_unavailable", ...errors])],
    responses: mergeResponses(operations, schemas.answer),
  } as const;
  // The types of each operation were checked where it was written, and the merged responses are theirs.
  const takesQuery = definition.method === "GET" || definition.method === "DELETE";
  const made: AnyRoute = takesQuery
    ? route({
        ...common,
        query: v.looseObject({ ...selectorEntries, ...definition.query }),
        handle: call => run("parameters", call.query as Selector, call) as never,
      })
    : route({
        ...common,
        body: {
          schema: SelectorSchema,
          described: bodyOf(operations, schemas.body),
          ...(example === undefined ? {} : { example: example as v.InferInput<typeof SelectorSchema> }),
        },
        handle: call => run("body", call.body as Selector, call) as never,
      });
  return made as never;
}

function bodyOf(operations: readonly Operation[], name = "IdentityRequest"): v.GenericSchema {
  const bodies = operations.map(({ schema }) => schema);
  return named(name, oneOf("provider", bodies));
}

/** Documents the alternatives of the providers: for each status one schema, or one of several under the name. */
function mergeResponses(operations: readonly Operation[], name = "IdentityAnswer"): Responses {
  const all = operations.flatMap(({ responses }) => Object.entries(responses));
  const statuses = [...new Set(all.map(([status]) => status))];
  return Object.fromEntries(
    statuses.map(status => {
      const specs = all.flatMap(([one, spec]) => (one === status ? [spec] : []));
      const schemas = new Set(specs.flatMap(({ schema }) => schema ?? []));
      const description = [...new Set(specs.map(spec => spec.description))].join("; ");
      const schema = oneOf("result", [...schemas]);
      return [status, { description, schema: schemas.size > 1 ? named(name, schema) : schema }];
    }),
  );
}

/** Joins alternatives, which the document shows as `oneOf`. */
function oneOf(discriminator: "provider" | "result", schemas: readonly v.GenericSchema[]): v.GenericSchema {
  const [first, ...others] = schemas;
  return first !== undefined && others.length === 0
    ? first
    : v.variant(discriminator, schemas as v.VariantOptions<typeof discriminator>);
}

function unknownProject(subject: "body" | "parameters"): AppError {
  return new AppError("validation_failed", "Cannot serve the request as it names no known project", {
    fields: [
      { pointer: subject === "body" ? "/projectId" : "projectId", detail: "Expected the id of a project" },
    ],
  });
}

export const sessionErrors = ["invalid_token", "session_revoked", "account_banned"] as const;

const userToken = {
  type: "http",
  scheme: "bearer",
  bearerFormat: "JWT",
  description:
    "Access token of a user, from login or refresh; for checks and users of `hostedIdp` also a token of the provider",
};
const security = [{ schemes: { userToken } }];

/**
 * Demands a bearer token. The project of the token is known only after the body or query is read, so the operation of
 * the provider authenticates the user.
 */
export const userTokenGuard: Guard<null> = {
  security,
  authenticate: ({ request }) => {
    bearerToken(request.headers.get("authorization"));
    return null;
  },
};

interface BearerDemands {
  /** The provider of the operation; users of others are refused. */
  readonly provider: string;
  /** Spends a look-up before anything is read. @default false */
  readonly isCounted?: boolean;
}

/**
 * Authenticates the bearer as a user of the provider, and notes it for the audit trail.
 *
 * @throws {AppError} What {@linkcode Sessions.authenticate} throws; `invalid_token` for a user of another provider.
 */
export async function authenticateUser(
  { sessions, limiter }: IdentityContext,
  { request, project, info, note }: OperationCall,
  { provider, isCounted = false }: BearerDemands,
): Promise<Authenticated> {
  const caller = await sessions.authenticate(request, project, {
    authorize(holder) {
      note(holder);
      const { userId } = holder;
      if (!isCounted) return;
      return limiter.attempt("profile", { projectId: project.id, address: info.address, userId });
    },
  });
  if (caller.user.provider !== provider) throw invalidToken("provider");
  return caller;
}

/** Refuses a check on another device than that of the session, where the project wants that. */
export function requireSessionDevice(project: Project, session: Session, deviceId: string): void {
  if (identitySetting(project, "deviceCheck") === "any" || deviceId === session.deviceId) return;
  throw new AppError("device_mismatch", "Cannot check the user as the session is of another device");
}

export const optionalUserTokenGuard: Guard<null> = { security, optional: true, authenticate: () => null };

const seconds = (description: string) =>
  v.pipe(v.number(), v.integer(), v.description(`${description}, Unix seconds`));

/** Describes an identity answer: `{result: 1, message, data}`. */
export const answerOf = <S extends v.GenericSchema>(data: S) =>
  v.strictObject({ result: v.literal(1), message: v.string(), data });

export const signUp = seconds("Time of sign-up");
export const loginHistory = v.pipe(
  v.array(v.pipe(v.number(), v.integer())),
  v.description("Logins, Unix seconds"),
);
/** A time of change, which the interface has as text. */
export const updatedAt = v.pipe(v.string(), v.description("Time of the last change, Unix seconds as text"));
/** An application profile. It is no `v.record`, which drops members such as `constructor`. */
export const appProfile = v.pipe(
  v.custom<Readonly<Record<string, unknown>>>(
    value => typeof value === "object" && value !== null && !Array.isArray(value),
    "Expected an object",
  ),
  v.metadata({ type: "object", description: "Members that the client decides" }),
);

export const recordEntries = {
  deviceId: v.string(),
  timeStamp: seconds("Time of issue"),
  signature: v.pipe(
    v.string(),
    v.description("HMAC-SHA-256 of the record, 64 upper-case hexadecimal digits"),
  ),
  externalId: v.string(),
  userId: v.string(),
  signUp,
};

export const tokenEntries = {
  accessToken: v.pipe(v.string(), v.description("JWT for the APIs, for 10 minutes")),
  profileToken: v.pipe(v.string(), v.description("JWT with the profile")),
  refreshToken: v.pipe(v.string(), v.description("JWT that is exchanged for new tokens, once")),
};

export const DeviceItemSchema = named(
  "Device",
  v.strictObject({
    deviceId: v.string(),
    lastLogin: seconds("Last login"),
    signUp,
    userId: v.string(),
    timeStamp: seconds("Time of the record"),
    signature: v.string(),
  }),
);

export const RecordAnswer = named("SessionRecordAnswer", answerOf(v.strictObject(recordEntries)));
export const SessionAnswer = named(
  "SessionAnswer",
  answerOf(v.strictObject({ ...recordEntries, ...tokenEntries })),
);
export const EmptyAnswer = named("EmptyAnswer", answerOf(v.strictObject({})));
