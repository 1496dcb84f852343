/** Configurations and their versions as resources of the control API. */

import * as v from "valibot";
import { isUuid } from "../../../auth/crypto/mod.ts";
import type { ApiKeyPrincipal } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { type Immutable, type JsonReply, json, named } from "../../../http/mod.ts";
import { versionTag } from "../../../http/replies/byte_reply.ts";
import type { Directory, LoyaltyRevision, LoyaltyVersion } from "../../directory/mod.ts";
import { idCharactersMax, LoyaltyConfigSchema } from "../config/document.ts";
import { configurationType } from "./config_document.ts";

const versionDigitsMax = 9;
const integer = v.pipe(v.number(), v.integer());

const spaceId = v.pipe(
  v.string(),
  v.description("Id of the space"),
  v.check(isUuid, "Expected a UUID"),
  v.toLowerCase(),
);
const versionNumber = v.pipe(
  v.string(),
  v.metadata({ type: "integer", description: "Number of the version" }),
  v.regex(/^[1-9]\d*$/, "Expected the number of a version"),
  v.maxLength(versionDigitsMax),
  v.transform(Number),
);

export const SpaceParams = v.object({ spaceId });
export const VersionParams = v.object({ spaceId, version: versionNumber });
export const WebhookParams = v.object({
  spaceId,
  webhookId: v.pipe(
    v.string(),
    v.description("Id of the webhook"),
    v.minLength(1),
    v.maxLength(idCharactersMax),
  ),
});
export const RollbackSchema = named(
  "LoyaltyRollback",
  v.strictObject({
    version: v.pipe(
      v.number(),
      v.description("Number of the kept version to make active again"),
      v.safeInteger(),
      v.minValue(1),
    ),
  }),
);

const facts = {
  digest: v.string(),
  created_at: integer,
  created_at_iso: v.string(),
  created_by: v.string(),
  rollback_of: v.nullable(integer),
};
const links = v.object({ self: v.string() });
// The request body documents the configuration; the resource would only repeat that long schema.
const documentSchema = v.looseObject({});

const SentConfiguration = named(
  "SentLoyaltyConfiguration",
  v.object({
    data: v.pipe(
      v.object({
        type: v.literal(configurationType),
        id: v.optional(v.string()),
        attributes: documentSchema,
      }),
      v.description("The configuration as a resource object: its attributes are the document"),
    ),
  }),
);
/** The body of a PUT: the resource, or the document alone. */
export const PutSchema = named(
  "LoyaltyConfigurationChange",
  v.union([SentConfiguration, LoyaltyConfigSchema]),
);

export const ConfigurationSchema = named(
  "LoyaltyConfiguration",
  v.object({
    data: v.object({
      type: v.literal(configurationType),
      id: v.string(),
      attributes: documentSchema,
      meta: v.object({ version: integer, ...facts }),
      links,
    }),
  }),
);

const Version = named(
  "LoyaltyVersion",
  v.object({
    type: v.literal("loyalty_versions"),
    id: v.string(),
    attributes: v.object({ ...facts, document: v.exactOptional(documentSchema) }),
    links,
  }),
);
export const VersionSchema = named("LoyaltyVersionDocument", v.object({ data: Version }));
export const VersionsSchema = named(
  "LoyaltyVersionsDocument",
  v.object({ data: v.array(Version), meta: v.object({ total: integer }) }),
);

type Document = Readonly<Record<string, unknown>>;

function configurationPath(id: string): string {
  return `/api/v2/spaces/${id}/loyalty`;
}

export function configurationReply<const S extends 200 | 201>(
  id: string,
  revision: LoyaltyRevision,
  status: S,
): JsonReply<S, Immutable<v.InferOutput<typeof ConfigurationSchema>>> {
  const { document, ...version } = revision;
  const data = {
    type: configurationType,
    id,
    attributes: document as Document,
    meta: { version: version.number, ...factsOf(version) },
    links: { self: configurationPath(id) },
  } as const;
  return json(status, { data }, { etag: versionTag(version.number) });
}

export function versionResource(
  id: string,
  version: LoyaltyVersion,
  document?: unknown,
): Immutable<v.InferOutput<typeof Version>> {
  return {
    type: "loyalty_versions",
    id: String(version.number),
    attributes: {
      ...factsOf(version),
      ...(document === undefined ? {} : { document: document as Document }),
    },
    links: { self: `${configurationPath(id)}/versions/${version.number}` },
  };
}

function factsOf({ digest, at, by, rollbackOf }: LoyaltyVersion) {
  return {
    digest,
    created_at: Math.floor(at / 1_000),
    created_at_iso: new Date(at).toISOString(),
    created_by: by,
    rollback_of: rollbackOf ?? null,
  };
}

/**
 * Requires a space of the API key's organisation. The space of another one is reported like one that does not exist.
 *
 * @throws {AppError} `not_found`.
 */
export async function requireSpace(
  { directory }: { readonly directory: Pick<Directory, "space"> },
  { organisationId }: ApiKeyPrincipal,
  spaceId: string,
): Promise<void> {
  const space = await directory.space(spaceId);
  if (space?.organisationId === organisationId) return;
  throw new AppError("not_found", "Cannot serve the request as the organisation has no such space");
}
