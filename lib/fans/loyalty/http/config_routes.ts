/** The loyalty configuration of a space in the control API: reading, replacing and rolling back, with its versions. */

import * as v from "valibot";
import type { ApiKeyPrincipal } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import {
  type BareReply,
  empty,
  type Json,
  json,
  named,
  open,
  type ResponseSpec,
  route,
} from "../../../http/mod.ts";
import { admitChange, isNotModified, matchesTag, versionTag } from "../../../http/replies/byte_reply.ts";
import { jsonApiMediaType } from "../../../http/requests/body.ts";
import { loyaltyBytesMax } from "../../directory/loyalty_versions.ts";
import type { LoyaltyRevision, LoyaltyVersion, LoyaltyVersions } from "../../directory/mod.ts";
import { LoyaltyConfigSchema } from "../config/document.ts";
import { requireUsable, requireValid, sentDocument } from "./config_document.ts";
import {
  ConfigurationSchema,
  configurationReply,
  PutSchema,
  RollbackSchema,
  requireSpace,
  SpaceParams,
  VersionParams,
  VersionSchema,
  VersionsSchema,
  versionResource,
} from "./resources.ts";
import { type WebhookControlContext, webhookRoutes } from "./webhook_routes.ts";

/** Services of the routes. */
export interface LoyaltyControlContext extends WebhookControlContext {
  readonly versions: LoyaltyVersions;
}

const what = "the loyalty configuration";
const notModified: ResponseSpec = { description: "It has the entity tag that If-None-Match names" };
const replaced = { description: "The configuration that is now in force", schema: ConfigurationSchema };

/** Creates the routes of configurations. */
export function loyaltyControlRoutes(context: LoyaltyControlContext) {
  return [
    getRoute(context),
    putRoute(context),
    ...versionRoutes(context),
    rollbackRoute(context),
    ...webhookRoutes(context),
    schemaRoute(),
  ];
}

function getRoute(context: LoyaltyControlContext) {
  return route({
    method: "GET",
    path: "/api/v2/spaces/:spaceId/loyalty",
    operation: "getLoyaltyConfiguration",
    summary: "Get the loyalty configuration of a space",
    description: "Returns the document as it was written.",
    auth: context.configReader,
    params: SpaceParams,
    responses: {
      200: { description: "The configuration", schema: ConfigurationSchema },
      304: notModified,
    },
    errors: ["not_found"],
    handle: async ({ request, principal, params: { spaceId } }) => {
      await requireSpace(context, principal, spaceId);
      const current = await context.versions.current(spaceId);
      if (current === null) throw new AppError("not_found", `Cannot find ${what}: the space has none yet`);
      return isNotModified(request, versionTag(current.number))
        ? notModifiedReply(current)
        : configurationReply(spaceId, current, 200);
    },
  });
}

function putRoute(context: LoyaltyControlContext) {
  return route({
    method: "PUT",
    path: "/api/v2/spaces/:spaceId/loyalty",
    operation: "putLoyaltyConfiguration",
    summary: "Replace the loyalty configuration of a space",
    description: "`If-Match` names the version that is replaced.",
    auth: context.configWriter,
    params: SpaceParams,
    body: {
      schema: v.unknown(),
      described: PutSchema,
      maxBytes: loyaltyBytesMax,
      mediaTypes: [jsonApiMediaType],
      example: { metrics: [{ id: "points", title: "Points" }] },
    },
    responses: { 200: replaced, 201: { ...replaced, description: "The first configuration of the space" } },
    errors: ["not_found", "conflict", "precondition_failed", "precondition_required"],
    handle: async ({ request, principal, params: { spaceId }, body }) => {
      await requireSpace(context, principal, spaceId);
      const sent = sentDocument(body, spaceId);
      requireValid(sent);
      const { document } = sent;
      const by = authorOf(principal);
      const { version, isFirst } = await context.versions.put(spaceId, {
        document,
        by,
        admit: (current, digest) => {
          if (!isRepeated(request, current, { by, digest })) admitChange(request, tagOf(current), { what });
        },
      });
      return configurationReply(spaceId, { ...version, document }, isFirst ? 201 : 200);
    },
  });
}

function versionRoutes(context: LoyaltyControlContext) {
  const common = { method: "GET", auth: context.configReader, errors: ["not_found"] } as const;
  return [
    route({
      ...common,
      path: "/api/v2/spaces/:spaceId/loyalty/versions",
      operation: "listLoyaltyVersions",
      summary: "List the versions of a space's loyalty configuration",
      description: "Newest first, as far as they are kept.",
      params: SpaceParams,
      responses: { 200: { description: "The versions, without their documents", schema: VersionsSchema } },
      handle: async ({ principal, params: { spaceId } }) => {
        await requireSpace(context, principal, spaceId);
        const versions = await context.versions.list(spaceId);
        const data = versions.map(version => versionResource(spaceId, version));
        return json(200, { data, meta: { total: data.length } });
      },
    }),
    route({
      ...common,
      path: "/api/v2/spaces/:spaceId/loyalty/versions/:version",
      operation: "getLoyaltyVersion",
      summary: "Get a version of a space's loyalty configuration",
      description: "Returns the version with its document.",
      params: VersionParams,
      responses: { 200: { description: "The version", schema: VersionSchema }, 304: notModified },
      handle: async ({ request, principal, params }) => {
        await requireSpace(context, principal, params.spaceId);
        const found = await keptVersion(context, params.spaceId, params.version);
        const etag = versionTag(found.number);
        if (isNotModified(request, etag)) return notModifiedReply(found);
        const { document, ...version } = found;
        return json(200, { data: versionResource(params.spaceId, version, document) }, { etag });
      },
    }),
  ];
}

function rollbackRoute(context: LoyaltyControlContext) {
  return route({
    method: "POST",
    path: "/api/v2/spaces/:spaceId/loyalty/rollback",
    operation: "rollBackLoyaltyConfiguration",
    summary: "Roll back to an earlier version",
    description: "Makes the document of the earlier version a new version; `If-Match` is honoured.",
    auth: context.configWriter,
    params: SpaceParams,
    body: { schema: RollbackSchema, mediaTypes: [jsonApiMediaType], example: { version: 1 } },
    responses: { 200: replaced },
    errors: ["not_found", "precondition_failed"],
    handle: async ({ request, principal, params: { spaceId }, body }) => {
      await requireSpace(context, principal, spaceId);
      const { document, number } = await keptVersion(context, spaceId, body.version);
      requireUsable(document);
      const { version } = await context.versions.put(spaceId, {
        document,
        by: authorOf(principal),
        rollbackOf: number,
        admit: current => admitChange(request, tagOf(current), { what, required: false }),
      });
      return configurationReply(spaceId, { ...version, document }, 200);
    },
  });
}

const JsonSchema = named("JsonSchema", v.looseObject({}));

/** Creates an open route, because editors have no credentials. */
function schemaRoute() {
  let schema: Json | undefined;
  return route({
    method: "GET",
    path: "/schemas/loyalty.json",
    operation: "getLoyaltySchema",
    summary: "Get the JSON Schema of loyalty configurations",
    description: "For editors that check a configuration file while it is written.",
    auth: open,
    cache: "public",
    responses: { 200: { description: "The schema", schema: JsonSchema } },
    async handle() {
      const { jsonSchemaOf } = await import("../../../http/openapi/schema.ts");
      schema ??= { title: "Loyalty configuration", ...jsonSchemaOf(LoyaltyConfigSchema) };
      return json(200, schema as Readonly<Record<string, Json>>, {
        "content-type": "application/schema+json",
        "cache-control": "public, max-age=3600",
      });
    },
  });
}

/**
 * Returns true where a PUT repeats the change that made the current version, as a client does that never got the answer: the
 * same author sends the same document for the version before.
 */
function isRepeated(
  { headers }: Request,
  current: LoyaltyVersion | null,
  { by, digest }: Pick<LoyaltyVersion, "by" | "digest">,
): boolean {
  const ifMatch = headers.get("if-match");
  return (
    ifMatch !== null &&
    current !== null &&
    current.by === by &&
    current.digest === digest &&
    matchesTag(ifMatch, versionTag(current.number - 1))
  );
}

/** A space of another organisation answers exactly like an unknown one. */
async function keptVersion(
  { versions }: LoyaltyControlContext,
  spaceId: string,
  number: number,
): Promise<LoyaltyRevision> {
  const found = await versions.get(spaceId, number);
  if (found !== null) return found;
  throw new AppError(
    "not_found",
    `Cannot find version ${number} of ${what}: it is unknown or no longer kept`,
  );
}

function notModifiedReply({ number }: LoyaltyVersion): BareReply<304> {
  return empty(304, { etag: versionTag(number) });
}

function authorOf({ keyId }: ApiKeyPrincipal): string {
  return keyId.startsWith("user:") ? keyId : `apiKey:${keyId}`;
}

function tagOf(current: LoyaltyVersion | null): string | null {
  return current === null ? null : versionTag(current.number);
}
