/**
 * The verification of callers: the platform is asked who they are and which role they have where the dialogue runs.
 *
 * Only configured addresses are asked. Whoever names the control API would answer for everybody's rights, and receive the token.
 */

import * as v from "valibot";
import { createRemoteFetch, type RemoteFetch } from "../auth/remote_issuers/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import { Cache } from "../storage/background/mod.ts";
import type { DialogueContext } from "./dialogue/mod.ts";
import type { WorkflowPorts } from "./ports.ts";

/** Time for which an answer of the control API counts, in ms. */
const answerAgeMsMax = 10_000;
const callersKeptMax = 10_000;

/** Roles, least first. */
const roles = ["none", "viewer", "creator", "admin"] as const;
/** A role in an organisation, space, project or event. */
export type DialogueRole = (typeof roles)[number];

/** Levels of a context with their members and their types in the control API, from the top. */
const levels = [
  { scope: "organisation", member: "organisationId", type: "organisations" },
  { scope: "space", member: "spaceId", type: "spaces" },
  { scope: "project", member: "projectId", type: "projects" },
  { scope: "event", member: "eventId", type: "events" },
] as const;
/** Level at which a workflow runs. */
export type DialogueScope = (typeof levels)[number]["scope"];

/** Who may run a workflow, and where. */
export interface Requirement {
  /** The level of the deepest id of the context. */
  readonly scope: readonly DialogueScope[];
  /** Least role there. */
  readonly role: Exclude<DialogueRole, "none">;
}

/** The person who runs the dialogue. */
export interface DialogueUser {
  readonly id: string;
  readonly name: string;
  readonly email: string;
}

/** A context whose ids are verified: everything from the organisation down to where the dialogue runs. */
export interface VerifiedContext extends DialogueContext {
  readonly baseURL: string;
  readonly organisationId: string;
}

export interface Caller {
  readonly user: DialogueUser;
  readonly role: DialogueRole;
  readonly context: VerifiedContext;
  readonly token: string;
}

const MeSchema = v.object({
  data: v.object({
    id: v.pipe(v.string(), v.minLength(1)),
    attributes: v.object({ name: v.nullish(v.string(), ""), email: v.nullish(v.string(), "") }),
  }),
  // A platform that says nothing of tokens issues them for no backend.
  meta: v.optional(v.object({ token: v.optional(v.object({ audience: v.nullish(v.string(), null) })) })),
});

const MyRoleSchema = v.object({
  data: v.object({
    type: v.literal("scope_roles"),
    id: v.string(),
    attributes: v.object({ role: v.picklist(roles) }),
  }),
  meta: v.object({ parents: v.array(v.object({ type: v.string(), id: v.string() })) }),
});
/** An event with the caller's role, which has its `meta` in itself when it is included. */
const EventSchema = v.pipe(
  v.object({ included: v.tuple([v.looseObject({})]) }),
  v.transform(({ included: [role] }) => ({ data: role, meta: role.meta })),
  MyRoleSchema,
);

interface VerifierOptions {
  readonly control: readonly string[];
  readonly endpoint: readonly string[];
  readonly require: Requirement;
}

/** Verifies callers. Answers count for 10 s, so that polls cost no request; refusals are not kept. */
export class Verifier {
  readonly #endpoints: ReadonlySet<string>;
  readonly #control: ReadonlyMap<string, string>;
  readonly #first: string;
  readonly #require: Requirement;
  readonly #get: RemoteFetch;
  readonly #users: Cache<DialogueUser>;
  readonly #callers: Cache<Caller>;

  /** @throws {TypeError} An address is none of http or https, or there is none. */
  constructor({ control, endpoint, require }: VerifierOptions, { clock, fetch }: WorkflowPorts) {
    if (endpoint.length === 0) throw new TypeError("Cannot create the workflow: `endpoint` names no address");
    this.#endpoints = new Set(endpoint.map(normalised));
    this.#control = new Map(control.map(address => [normalised(address), address.replace(/\/+$/, "")]));
    const [first] = this.#control.values();
    if (first === undefined) throw new TypeError("Cannot create the workflow: `control` names no address");
    this.#first = first;
    this.#require = require;
    this.#get = createRemoteFetch({ fetch });
    const kept = { entriesMax: callersKeptMax, maxAgeMs: answerAgeMsMax, clock };
    this.#users = new Cache(kept);
    this.#callers = new Cache(kept);
  }

  /**
   * Verifies a token before the body of its request is read. With several control addresses the body names the one to ask, so that
   * {@linkcode verify} does it all.
   *
   * @throws {AppError} As {@linkcode verify}.
   */
  async verifyToken(token: string): Promise<void> {
    if (this.#control.size === 1) await this.#user(this.#first, token);
  }

  /**
   * Returns the caller with the verified context.
   *
   * @throws {AppError} `invalid_token`: the platform does not know the token. `forbidden`: the token is for another backend, the address,
   *   the scope or the role is not the required one, or an id of the context is not above the others. `provider_unavailable`, `provider_error`: no usable answer.
   */
  async verify(token: string, context: DialogueContext): Promise<Caller> {
    const base = context.baseURL === undefined ? this.#first : this.#configured(context.baseURL);
    const at = levels.findLast(({ member }) => context[member] !== undefined);
    if (at === undefined || !this.#require.scope.includes(at.scope))
      throw forbidden(`it runs in: ${this.#require.scope.join(", ")}`);
    const key = JSON.stringify([token, base, ...levels.map(({ member }) => context[member] ?? null)]);
    const caller = await this.#callers.getOrLoad(key, async () => ({
      value: await this.#ask(token, { ...context, baseURL: base }, at),
    }));
    if (roles.indexOf(caller.role) < roles.indexOf(this.#require.role))
      throw forbidden(`it needs the role ${this.#require.role}`);
    return caller;
  }

  #configured(address: string): string {
    const isWeb = /^https?:/i.test(address) && URL.canParse(address);
    const base = this.#control.get(address) ?? (isWeb ? this.#control.get(normalised(address)) : undefined);
    if (base === undefined) throw forbidden("it does not work with this platform");
    return base;
  }

  async #ask(
    token: string,
    context: DialogueContext & { readonly baseURL: string },
    { member, type }: (typeof levels)[number],
  ): Promise<Caller> {
    const { baseURL } = context;
    const id = context[member] ?? "";
    const path = `${type}/${encodeURIComponent(id)}`;
    const [user, given] = await Promise.all([
      this.#user(baseURL, token),
      type === "events"
        ? this.#read(`${baseURL}/api/v2/${path}?include=my_role`, token, EventSchema)
        : this.#read(`${baseURL}/api/v2/${path}/my_role`, token, MyRoleSchema),
    ]);
    const { data, meta } = given;
    // As the platform writes it: in other letters it would be another place, with room for as many tasks again.
    const idOf = (level: (typeof levels)[number]) =>
      level.type === type ? data.id : meta.parents.find(parent => parent.type === level.type)?.id;
    const verified: Record<string, string> = { baseURL };
    for (const level of levels) {
      const [named, found] = [context[level.member], idOf(level)];
      if (named !== undefined && named !== found)
        throw forbidden("an id of the context does not belong there");
      if (found !== undefined) verified[level.member] = found;
    }
    if (data.attributes.role === "none" || verified.organisationId === undefined)
      throw forbidden("you have no role there");
    return {
      user,
      role: data.attributes.role,
      context: verified as unknown as VerifiedContext,
      token,
    };
  }

  async #user(baseURL: string, token: string): Promise<DialogueUser> {
    return await this.#users.getOrLoad(JSON.stringify([baseURL, token]), async () => {
      const { data, meta } = await this.#read(`${baseURL}/api/v2/me`, token, MeSchema);
      const audience = meta?.token?.audience ?? null;
      // Another backend that got the token would act here in the user's name.
      if (audience !== null && !(URL.canParse(audience) && this.#endpoints.has(normalised(audience))))
        throw forbidden("the token is for another backend; `endpoint` must name the address of this one");
      const { name, email } = data.attributes;
      return { value: { id: data.id, name, email } };
    });
  }

  async #read<S extends v.GenericSchema>(url: string, token: string, schema: S): Promise<v.InferOutput<S>> {
    const headers = { authorization: `Bearer ${token}`, accept: "application/vnd.api+json" };
    const response = await this.#get(url, headers).catch((error: unknown) => {
      throw unusable(error);
    });
    if (response.status === 401) throw new AppError("invalid_token", "The platform refuses the token");
    if (response.status !== 200) throw forbidden("you have no role there");
    const read = v.safeParse(schema, await response.json().catch(() => null));
    if (!read.success) throw unusable(new Error(`The answer is not as expected: ${new URL(url).pathname}`));
    return read.output;
  }
}

/** Returns the ids of a context from the top, for what belongs to one place only. */
export function contextIds(context: VerifiedContext): readonly string[] {
  return [context.baseURL, ...levels.map(({ member }) => context[member] ?? "")];
}

function normalised(address: string): string {
  const { origin, pathname, protocol } = new URL(address);
  if (protocol !== "https:" && protocol !== "http:")
    throw new TypeError("Cannot use an address that is not http");
  return origin + pathname.replace(/\/+$/, "");
}

function forbidden(reason: string): AppError {
  return new AppError("forbidden", `Cannot run this workflow: ${reason}`);
}

function unusable(cause: unknown): AppError {
  const code =
    cause instanceof AppError && cause.code === "provider_unavailable" ? cause.code : "provider_error";
  return new AppError(code, "Cannot ask the platform who you are: try again later", { cause });
}
