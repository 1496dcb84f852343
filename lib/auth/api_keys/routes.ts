/**
 * Routes that manage the API keys of an organisation. They demand a key with `keys:write`, which can neither create nor
 * rotate a key with permissions that it lacks.
 */

import * as v from "valibot";
import { AppError } from "../../base/errors/mod.ts";
import { empty, type Guard, type Immutable, json, named, route } from "../../http/mod.ts";
import { jsonApiMediaType } from "../../http/requests/body.ts";
import {
  type ApiKeyInfo,
  type ApiKeyPrincipal,
  type ApiKeys,
  apiKeyNameCharsMax,
  type IssuedApiKey,
} from "./api_keys.ts";
import { type Permission, permissions } from "./record.ts";

/** 30 days. */
const graceSecondsMax = 2_592_000;

interface ApiKeyControlContext {
  readonly apiKeys: ApiKeys;
  readonly keysWriter: Guard<ApiKeyPrincipal>;
}

const collection = "/api/v2/organisations/:organisationId/api_keys";
const organisationId = v.pipe(v.string(), v.description("Id of the organisation"));
const OrganisationParams = v.object({ organisationId });
const KeyParams = v.object({
  organisationId,
  keyId: v.pipe(v.string(), v.description("The value of X-API-Key")),
});
const permission = v.picklist(permissions);
const CreateBody = named(
  "NewApiKey",
  v.object({
    data: v.pipe(
      v.object({
        type: v.literal("api_keys"),
        attributes: v.object({
          name: v.pipe(v.string(), v.minLength(1), v.maxLength(apiKeyNameCharsMax)),
          permissions: v.pipe(v.array(permission), v.minLength(1), v.maxLength(permissions.length)),
        }),
      }),
      v.description("The new key: its name and permissions"),
    ),
  }),
);
const RotateBody = named(
  "ApiKeyRotation",
  v.object({
    grace_seconds: v.pipe(
      v.number(),
      v.description("Time for which the old secret still works"),
      v.safeInteger(),
      v.minValue(0),
      v.maxValue(graceSecondsMax),
    ),
  }),
);

const time = v.pipe(v.number(), v.integer(), v.description("Unix seconds"));
const shared = {
  name: v.string(),
  permissions: v.array(permission),
  created_at: time,
  created_at_iso: v.string(),
};
const KeySchema = named(
  "ApiKey",
  v.object({
    type: v.literal("api_keys"),
    id: v.pipe(v.string(), v.description("The value of X-API-Key")),
    attributes: v.object({
      ...shared,
      last_used_at: v.nullable(time),
      last_used_at_iso: v.nullable(v.string()),
      secrets: v.array(v.object({ created_at: time, expires_at: v.nullable(time) })),
    }),
  }),
);
/** The answer with the keys of an organisation. */
export const ApiKeysAnswer = named(
  "ApiKeysDocument",
  v.object({
    data: v.array(KeySchema),
    meta: v.object({ total: v.pipe(v.number(), v.integer()) }),
  }),
);
/** The answer with a new secret. */
export const IssuedApiKeyAnswer = named(
  "IssuedApiKey",
  v.object({
    data: v.object({
      type: v.literal("api_keys"),
      id: v.string(),
      attributes: v.object({
        ...shared,
        secret: v.pipe(v.string(), v.description("The value of X-API-Secret, which cannot be read again")),
      }),
    }),
  }),
);

type KeyResource = Immutable<v.InferOutput<typeof KeySchema>>;

/** Builds the routes of API keys. */
export function apiKeyRoutes(context: ApiKeyControlContext) {
  return [listRoute(context), createRoute(context), rotateRoute(context), revokeRoute(context)];
}

function listRoute({ apiKeys, keysWriter }: ApiKeyControlContext) {
  return route({
    method: "GET",
    path: collection,
    operation: "listApiKeys",
    summary: "List the API keys of an organisation",
    description: "Lists the keys of an organisation without their secrets, oldest first.",
    auth: keysWriter,
    params: OrganisationParams,
    responses: { 200: { description: "The keys", schema: ApiKeysAnswer } },
    errors: ["not_found"],
    handle: async ({ principal, params: { organisationId } }) => {
      requireOwn(principal, organisationId);
      const data = (await apiKeys.list(organisationId)).map(resourceOf);
      return json(200, { data, meta: { total: data.length } });
    },
  });
}

function createRoute({ apiKeys, keysWriter }: ApiKeyControlContext) {
  return route({
    method: "POST",
    path: collection,
    operation: "createApiKey",
    summary: "Create an API key",
    description: "Creates a key. Only this answer carries its secret.",
    auth: keysWriter,
    params: OrganisationParams,
    body: {
      schema: CreateBody,
      mediaTypes: [jsonApiMediaType],
      example: { data: { type: "api_keys", attributes: { name: "Ticketing", permissions: ["users:read"] } } },
    },
    responses: { 201: { description: "The key with its secret", schema: IssuedApiKeyAnswer } },
    errors: ["not_found", "forbidden", "conflict"],
    handle: async ({ principal, params: { organisationId }, body }) => {
      requireOwn(principal, organisationId);
      const { attributes } = body.data;
      const asked = [...new Set(attributes.permissions)];
      requireWithin(principal, asked);
      const { name } = attributes;
      return json(201, issuedAnswer(await apiKeys.create({ organisationId, name, permissions: asked })));
    },
  });
}

function rotateRoute({ apiKeys, keysWriter }: ApiKeyControlContext) {
  return route({
    method: "POST",
    path: `${collection}/:keyId/rotate`,
    operation: "rotateApiKey",
    summary: "Rotate the secret of an API key",
    description:
      "Makes a new secret, which only this answer carries. The one before it works for another while.",
    auth: keysWriter,
    params: KeyParams,
    body: { schema: RotateBody, mediaTypes: [jsonApiMediaType], example: { grace_seconds: 3600 } },
    responses: { 200: { description: "The key with its new secret", schema: IssuedApiKeyAnswer } },
    errors: ["not_found", "forbidden", "conflict"],
    handle: async ({ principal, params, body }) => {
      requireOwn(principal, params.organisationId);
      const key = await apiKeys.find(params);
      if (key === null) throw new AppError("not_found", "The organisation has no such API key");
      // The caller learns the new secret, and so gains all permissions of the key.
      requireWithin(principal, key.permissions);
      return json(200, issuedAnswer(await apiKeys.rotate(params, { graceMs: body.grace_seconds * 1_000 })));
    },
  });
}

function revokeRoute({ apiKeys, keysWriter }: ApiKeyControlContext) {
  return route({
    method: "DELETE",
    path: `${collection}/:keyId`,
    operation: "revokeApiKey",
    summary: "Revoke an API key",
    description: "Ends a key for good, within five seconds on every process.",
    auth: keysWriter,
    params: KeyParams,
    responses: { 204: { description: "The key is revoked" } },
    errors: ["not_found", "conflict"],
    handle: async ({ principal, params }) => {
      requireOwn(principal, params.organisationId);
      await apiKeys.revoke(params);
      return empty();
    },
  });
}

/** Answers another organisation like one that does not exist. */
function requireOwn(principal: ApiKeyPrincipal, organisationId: string): void {
  if (principal.organisationId === organisationId) return;
  throw new AppError("not_found", "Cannot serve the request as there is no such organisation");
}

function requireWithin(principal: ApiKeyPrincipal, asked: readonly Permission[]): void {
  const missing = asked.filter(one => !principal.permissions.includes(one));
  if (missing.length === 0) return;
  throw new AppError(
    "forbidden",
    `Cannot grant permissions that the calling API key lacks: ${missing.join(", ")}`,
  );
}

function issuedAnswer(issued: IssuedApiKey): Immutable<v.InferOutput<typeof IssuedApiKeyAnswer>> {
  const { key, secret } = issued;
  return { data: { type: "api_keys", id: key, attributes: { ...sharedOf(issued), secret } } };
}

function resourceOf(info: ApiKeyInfo): KeyResource {
  const { key, lastUsedAt } = info;
  const secrets = info.secrets.map(({ createdAt, expireAt }) => ({
    created_at: seconds(createdAt),
    expires_at: expireAt === null ? null : seconds(expireAt),
  }));
  const attributes = {
    ...sharedOf(info),
    last_used_at: lastUsedAt === null ? null : seconds(lastUsedAt),
    last_used_at_iso: lastUsedAt === null ? null : new Date(lastUsedAt).toISOString(),
    secrets,
  };
  return { type: "api_keys", id: key, attributes };
}

function sharedOf({ name, permissions: granted, createdAt }: ApiKeyInfo | IssuedApiKey) {
  return {
    name,
    permissions: granted,
    created_at: seconds(createdAt),
    created_at_iso: new Date(createdAt).toISOString(),
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1_000);
}

const schemes = {
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "Key of a back end." },
  apiSecret: { type: "apiKey", in: "header", name: "X-API-Secret", description: "Secret of the key." },
};

/** Options of {@linkcode apiKeyGuard}. */
export interface ApiKeyGuardOptions {
  readonly apiKeys: Pick<ApiKeys, "verify">;
  /** The permission that the key needs. @default any valid key passes */
  readonly permission?: Permission;
}

/**
 * Creates a guard that demands a valid `X-API-Key` and `X-API-Secret`.
 *
 * Its `authenticate` throws `missing_api_key` where a header field is missing or empty, `invalid_api_key`, and
 * `insufficient_scope` where the key lacks the permission.
 */
export function apiKeyGuard(options: ApiKeyGuardOptions): Guard<ApiKeyPrincipal> {
  const { apiKeys, permission } = options;
  return {
    security: [{ schemes, requires: permission === undefined ? [] : [permission] }],
    async authenticate({ request }) {
      const key = request.headers.get("x-api-key") ?? "";
      const secret = request.headers.get("x-api-secret") ?? "";
      if (key === "" || secret === "") {
        throw new AppError(
          "missing_api_key",
          "This request needs the header fields X-API-Key and X-API-Secret of a back end",
        );
      }
      const principal = await apiKeys.verify(key, secret);
      if (permission !== undefined) requirePermission(principal, permission);
      return principal;
    },
  };
}

/** @throws {AppError} `insufficient_scope`: the key lacks the permission. */
export function requirePermission({ permissions }: ApiKeyPrincipal, permission: Permission): void {
  if (permissions.includes(permission)) return;
  throw new AppError("insufficient_scope", `The API key lacks the permission ${permission}`);
}
