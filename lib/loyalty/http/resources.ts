/**
 * How configurations and their versions look in the control API.
 *
 * @module
 */

import * as v from "valibot";
import { isUuid } from "../../auth/crypto/mod.ts";
import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import type { Directory, LoyaltyRevision, LoyaltyVersion } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Reply } from "../../http/mod.ts";
import { versionTag } from "../../http/mod.ts";
import { idCharactersMax, LoyaltyConfigSchema } from "../config/document.ts";
import { configurationType } from "./config_document.ts";

/** Longest number of a version, in decimal digits. */
export const versionDigitsMax = 9;

const spaceId = v.pipe(v.string(), v.check(isUuid, "Expected a UUID"), v.toLowerCase());
const versionNumber = v.pipe(
  v.string(),
  v.regex(/^[1-9]\d*$/, "Expected the number of a version"),
  v.maxLength(versionDigitsMax),
  v.transform(Number),
);

/** Checks the path of a space's configuration. */
export const SpaceParams: v.GenericSchema<unknown, { spaceId: string }> = v.object({ spaceId });
/** Checks the path of a version. */
export const VersionParams: v.GenericSchema<unknown, { spaceId: string; version: number }> = v.object({
  spaceId,
  version: versionNumber,
});
/** Checks the path of a webhook. */
export const WebhookParams: v.GenericSchema<unknown, { spaceId: string; webhookId: string }> = v.object({
  spaceId,
  webhookId: v.pipe(v.string(), v.minLength(1), v.maxLength(idCharactersMax)),
});
/** Checks what asks for an earlier version. */
export const RollbackSchema: v.GenericSchema<unknown, { version: number }> = v.strictObject({
  version: v.pipe(v.number(), v.safeInteger(), v.minValue(1)),
});

const facts = {
  digest: v.string(),
  created_at: v.number(),
  created_at_iso: v.string(),
  created_by: v.string(),
  rollback_of: v.nullable(v.number()),
};
const links = v.object({ self: v.string() });

/** The configuration as a resource, in bodies and answers. */
export const ConfigurationSchema: v.GenericSchema = v.object({
  data: v.object({
    type: v.literal(configurationType),
    id: v.optional(v.string()),
    // The document alone tells its schema, which is long, once.
    attributes: v.looseObject({}),
    meta: v.optional(v.object({ version: v.number(), ...facts })),
    links: v.optional(links),
  }),
});
/** What a PUT may carry: the resource, or the document alone. */
export const PutSchema: v.GenericSchema = v.union([ConfigurationSchema, LoyaltyConfigSchema]);

const versionEntries = {
  type: v.literal("loyalty_versions"),
  id: v.string(),
  attributes: v.object({ ...facts, document: v.optional(v.looseObject({})) }),
  links,
};
/** One version with its document. */
export const VersionSchema: v.GenericSchema = v.object({ data: v.object(versionEntries) });
/** The versions that are kept. */
export const VersionsSchema: v.GenericSchema = v.object({
  data: v.array(v.object(versionEntries)),
  meta: v.object({ total: v.number() }),
});

/** The path of a space's configuration. */
function configurationPath(id: string): string {
  return `/api/v2/spaces/${id}/loyalty`;
}

/** Answers a configuration with its entity tag. */
export function configurationReply(id: string, revision: LoyaltyRevision, status: number = 200): Reply {
  const { document, ...version } = revision;
  const data = {
    type: configurationType,
    id,
    attributes: document,
    meta: { version: version.number, ...factsOf(version) },
    links: { self: configurationPath(id) },
  };
  return { status, json: { data }, headers: { etag: versionTag(version.number) } };
}

/** A version as a resource; with its document where one is given. */
export function versionResource(id: string, version: LoyaltyVersion, document?: unknown): unknown {
  return {
    type: "loyalty_versions",
    id: String(version.number),
    attributes: { ...factsOf(version), ...(document === undefined ? {} : { document }) },
    links: { self: `${configurationPath(id)}/versions/${version.number}` },
  };
}

function factsOf({ digest, at, by, rollbackOf }: LoyaltyVersion): Readonly<Record<string, unknown>> {
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
