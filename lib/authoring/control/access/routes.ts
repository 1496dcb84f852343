/** Routes about the caller: who it is, its roles and its tokens. */

import * as v from "valibot";
import { AppError } from "../../../base/errors/mod.ts";
import { empty, type Guard, json, named, route } from "../../../http/mod.ts";
import { jsonApiMediaType } from "../../../http/requests/body.ts";
import { resources } from "../../table/mod.ts";
import { type AuthorCall, idOf, idParams, nameOf, parameterOf } from "../jsonapi/documents.ts";
import { newObjectOf, readInput } from "../jsonapi/input.ts";
import { bodySchema, documentSchema, listSchema, ResourceBody } from "../jsonapi/schemas.ts";
import type { Attributes } from "../kind.ts";
import { badAttribute, homeNamed, type Identifier, notFound } from "../kind.ts";
import type { ControlServices } from "../services.ts";
import { type Author, type AuthorUser, kindOf, requirePerson, scopesOf, type TokenInfo } from "./authors.ts";
import { createDialogueToken, dialogueSecondsMax } from "./dialogue_tokens.ts";
import { requireReach } from "./roles.ts";

interface AccessRoutesContext {
  readonly services: ControlServices;
  readonly author: Guard<Author>;
}

export function accessRoutes(context: AccessRoutesContext) {
  return [
    meRoute(context),
    myRoleRoute("organisations", context),
    myRoleRoute("spaces", context),
    myRoleRoute("projects", context),
    ...tokenRoutes(context),
  ];
}

function meRoute({ author }: AccessRoutesContext) {
  return route({
    method: "GET",
    path: "/api/v2/me",
    operation: "readMe",
    summary: "Read the current user",
    description:
      "Answers the person whose token the request has. `meta.token` says what the token is for: its `kind`, the address of the backend that the token of a dialogue is for (`audience`; null: no particular one), its `scopes` (null: everywhere) and its `role_cap`. A backend refuses the token of a dialogue whose `audience` is another address.",
    auth: author,
    responses: { 200: { description: "The user", schema: documentSchema(resources.users) } },
    handle: ({ principal: { user, token } }) => {
      const { audience = null } = token;
      const about = { kind: kindOf(token), audience, scopes: scopesOf(token), role_cap: token.roleCap };
      return json(200, { data: userObject(user), meta: { token: about } }) as never;
    },
  });
}

function userObject({ id, name, email, systemRole }: AuthorUser) {
  return { type: "users", id, attributes: { name, email, system_role: systemRole } };
}

export const RoleSchema = named(
  "MyRole",
  v.object({
    data: v.object({
      type: v.literal("scope_roles"),
      id: v.pipe(v.string(), v.description("Id of the organisation, space, project, event or element")),
      attributes: v.object({
        role: v.pipe(v.picklist(["none", "viewer", "creator", "admin"]), v.description("The caller's role")),
      }),
    }),
    meta: v.object({
      inherited_from: v.pipe(
        v.nullable(v.object({ type: v.string(), id: v.string() })),
        v.description("Where the role was granted, if not here"),
      ),
      parents: v.pipe(
        v.array(v.object({ type: v.string(), id: v.string() })),
        v.description("What it belongs to, nearest first; none without a role"),
      ),
      admins: v.pipe(
        v.array(v.string()),
        v.description(
          "E-mail addresses of up to 10 admins, whom to ask for another role; none without a role",
        ),
      ),
    }),
  }),
);

function myRoleRoute<const T extends "organisations" | "spaces" | "projects">(
  scope: T,
  { services, author }: AccessRoutesContext,
) {
  const { noun } = resources[scope];
  return route({
    method: "GET",
    path: `/api/v2/${scope}/:${parameterOf(scope)}/my_role`,
    operation: `readMyRoleIn${nameOf(scope)}`,
    summary: `Read the caller's role in the ${noun}`,
    description: "Answers `none` where the caller has no role, and for an unknown id as well.",
    auth: author,
    params: idParams(scope),
    responses: { 200: { description: "The role", schema: RoleSchema } },
    handle: async call => {
      const id = idOf(call, scope);
      const home = homeNamed({ type: scope, id });
      const { attributes, meta } = await services.roles.shown(call.principal, home, id);
      return json(200, { data: { type: "scope_roles", id, attributes }, meta });
    },
  });
}

function tokenRoutes(context: AccessRoutesContext) {
  return [listTokensRoute(context), createTokenRoute(context), revokeTokenRoute(context)];
}

const tokens = resources.access_tokens;

function listTokensRoute({ services, author }: AccessRoutesContext) {
  return route({
    method: "GET",
    path: "/api/v2/access_tokens",
    operation: "listAccessTokens",
    summary: "List your access tokens",
    description: "Lists the live tokens of the caller, oldest first, without their secrets.",
    auth: author,
    responses: { 200: { description: "The tokens", schema: listSchema(tokens) } },
    errors: ["forbidden"],
    handle: async ({ principal }) => {
      requirePerson(principal, "list tokens");
      const { user } = principal;
      const listed = await services.authors.tokens(user.id);
      const uses = await services.authors.lastUses(listed);
      const data = listed.map((token, index) => tokenObject(token, uses[index]));
      return json(200, {
        data,
        links: { self: `${services.base}/access_tokens` },
        meta: { total: data.length },
      }) as never;
    },
  });
}

function createTokenRoute({ services, author }: AccessRoutesContext) {
  return route({
    method: "POST",
    path: "/api/v2/access_tokens",
    operation: "createAccessToken",
    summary: "Create an access token",
    description:
      "Creates a token of the caller. Only this answer has the token itself. It can do no more than the token of the request. A token of the kind `dialogue` is for the backend of a workflow: it has one scope, which may be an event, and the caller's role there at most, names the backend as its `audience`, ends after ten minutes or with the token of the request, is in no list, and cannot create, list or revoke tokens, grant roles, dispatch, or serve in place of an API key.",
    auth: author,
    body: {
      schema: ResourceBody,
      described: bodySchema(tokens, true),
      mediaTypes: [jsonApiMediaType],
      example: { data: { type: "access_tokens", attributes: { name: "Pipeline", role_cap: "creator" } } },
    },
    responses: { 201: { description: "The token", schema: documentSchema(tokens) } },
    errors: ["unprocessable", "forbidden", "conflict", "not_found"],
    handle: async call => {
      const { principal } = call;
      requirePerson(principal, "create a token");
      const { attributes } = readInput(newObjectOf(call as AuthorCall, tokens.type), {
        resource: tokens,
        isNew: true,
        role: "admin",
        pointer: "/data",
      });
      const scopes = (attributes.scopes ?? null) as readonly Identifier[] | null;
      const wanted = {
        name: String(attributes.name),
        roleCap: (attributes.role_cap ?? null) as TokenInfo["roleCap"],
        expires: (attributes.expires_at ?? null) as number | null,
      };
      if (attributes.kind !== "dialogue") {
        requireOfPerson(attributes, scopes);
        const { id: userId } = lastingOf(principal);
        for (const scope of scopes ?? [])
          await requireReach(services, principal, homeNamed(scope), {
            needed: "viewer",
            noun: scope.type.slice(0, -1),
          });
        const created = await services.authors.createToken({
          ...wanted,
          userId,
          scopes: scopes?.map(homeNamed) ?? null,
        });
        return json(201, { data: tokenObject(created) }) as never;
      }
      const one = oneScopeOf(scopes, wanted.expires, services.clock());
      const isEvent = one.type === "events";
      const scope = isEvent ? await services.places.homeOf(one.id) : homeNamed(one);
      if (scope === null) throw notFound("event");
      const created = await createDialogueToken(services, principal, {
        ...wanted,
        scope,
        eventId: isEvent ? one.id : undefined,
        audience: (attributes.audience ?? undefined) as string | undefined,
      });
      return json(201, { data: tokenObject(created) }) as never;
    },
  });
}

/** Refuses what only the token of a dialogue can have. */
function requireOfPerson(attributes: Attributes, scopes: readonly Identifier[] | null): void {
  const input = { pointer: "/data" };
  if (typeof attributes.audience === "string")
    throw badAttribute(input, "audience", "Expected null, as the kind is access");
  if (scopes?.some(({ type }) => type === "events"))
    throw badAttribute(input, "scopes", "Expected organisations, spaces and projects, as the kind is access");
}

/** Returns the user of a token that may make one as lasting as itself. */
function lastingOf({ user, token }: Author): AuthorUser {
  if (token.roleCap === null && token.scopes === null) return user;
  throw new AppError("forbidden", "Cannot create a token with one that is limited itself: log in");
}

function oneScopeOf(scopes: readonly Identifier[] | null, expires: number | null, now: number): Identifier {
  const [scope, ...others] = scopes ?? [];
  const input = { pointer: "/data" };
  if (scope === undefined || others.length > 0)
    throw badAttribute(input, "scopes", "Expected one scope, as the token is for a dialogue");
  if ((expires ?? 0) > Math.floor(now / 1_000) + dialogueSecondsMax)
    throw badAttribute(input, "expires_at", `Expected at most ${dialogueSecondsMax} seconds from now`);
  return scope;
}

function revokeTokenRoute({ services, author }: AccessRoutesContext) {
  return route({
    method: "DELETE",
    path: "/api/v2/access_tokens/:accessTokenId",
    operation: "revokeAccessToken",
    summary: "Revoke an access token",
    description: "Ends a token of the caller, within a second everywhere.",
    auth: author,
    params: v.object({
      accessTokenId: v.pipe(v.string(), v.description("Id of the token"), v.maxLength(100)),
    }),
    responses: { 204: { description: "It is revoked" } },
    errors: ["not_found", "forbidden"],
    handle: async ({ principal, params }) => {
      requirePerson(principal, "revoke a token");
      const { user } = principal;
      if (!(await services.authors.revokeToken(user.id, params.accessTokenId))) throw notFound(tokens.noun);
      return empty();
    },
  });
}

/**
 * Returns a token as a resource object.
 *
 * @param used When it was used last, in Unix seconds; null: never
 */
export function tokenObject(info: TokenInfo & { readonly token?: string }, used: number | null = null) {
  const { id, name, prefix, roleCap, audience = null, created, expires, token } = info;
  const kind = kindOf(info);
  return {
    type: "access_tokens",
    id,
    attributes: {
      name,
      kind,
      prefix,
      role_cap: roleCap,
      audience,
      scopes: scopesOf(info),
      expires_at: expires,
      last_used_at: used,
      created_at: created,
      created_at_iso: new Date(created * 1_000).toISOString(),
      ...(token === undefined ? {} : { token }),
    },
  };
}
