/**
 * A user's own profile.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../errors/mod.ts";
import {
  type AnyRoute,
  chain,
  fieldErrorsMax,
  isNotModified,
  type JsonText,
  jsonText,
  looseRoute,
  type Reply,
} from "../../http/mod.ts";
import { profileText } from "../lists/documents.ts";
import { type CustomFields, customFieldsOf } from "../profile/custom_fields.ts";
import { isObject, type JsonObject } from "../profile/merge_patch.ts";
import { type PatchRules, patchFaults, patchMembers, pointerOf } from "../profile/patch.ts";
import type { Profile } from "../profile/profiles.ts";
import { ProfileMembers } from "../profile/record.ts";
import type { AudienceContext } from "./context.ts";
import { profileTag, versionAdmission } from "./profile_tag.ts";
import { ProfileSchema } from "./schema.ts";

/** Media type of JSON Merge Patch. */
export const mergePatchType = "application/merge-patch+json";

const PatchSchema = v.custom<JsonObject>(isObject, "Expected an object");

const described = v.object({
  displayName: v.optional(v.nullable(v.string())),
  preferences: v.optional(v.nullable(v.record(v.string(), v.unknown()))),
  customFields: v.optional(v.nullable(v.record(v.string(), v.unknown()))),
});

/** Builds the routes of users' own profiles. */
export function profileRoutes(context: AudienceContext): readonly AnyRoute[] {
  const { guards, profiles, directory } = context;
  return [
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/profile",
      operation: "getAudienceProfile",
      summary: "The user's profile, made where there is none",
      auth: guards.publicAudience("audience:read"),
      responses: {
        200: {
          description: "The profile; the ETag names its version and what else it shows",
          schema: ProfileSchema,
        },
        304: { description: "The profile is as it was" },
      },
      handle: async ({ principal: { member }, request }) =>
        profileReply(member.userId, await profiles.own(member), request),
    }),
    looseRoute({
      method: "PATCH",
      path: "/v1/api/audience/profile",
      operation: "patchAudienceProfile",
      summary: "Change the profile by a JSON Merge Patch: name, preferences and custom fields",
      auth: guards.publicAudience("audience:write"),
      body: { schema: PatchSchema, described, mediaTypes: [mergePatchType] },
      responses: { 200: { description: "The profile as it is now", schema: ProfileSchema } },
      errors: ["precondition_failed", "conflict"],
      handle: async ({ principal: { member }, request, body }) => {
        const fields = await fieldsOf(directory, member.organisationId);
        const patch = checkedPatch(body, { fields, isBackEnd: false });
        await profiles.change(member, { patch, admit: versionAdmission(request) });
        return profileReply(member.userId, await profiles.own(member));
      },
    }),
  ];
}

/** The custom fields of an organisation. */
export function fieldsOf(
  directory: AudienceContext["directory"],
  organisationId: string,
): CustomFields | Promise<CustomFields> {
  return chain(directory.organisation(organisationId), found => customFieldsOf(found?.settings));
}

/**
 * A merge patch without faults.
 *
 * @throws {AppError} `validation_failed` with up to {@linkcode fieldErrorsMax} faults.
 */
function checkedPatch(patch: JsonObject, rules: PatchRules): JsonObject {
  const unknown = Object.keys(patch).filter(name => !patchMembers.some(member => member === name));
  const faults = [
    ...unknown.map(name => ({ pointer: pointerOf(name), detail: "Is not a known member" })),
    ...patchFaults(patch, rules),
  ].slice(0, fieldErrorsMax);
  if (faults.length === 0) return patch;
  throw new AppError("validation_failed", "Cannot change the profile as the patch is not valid", {
    fields: faults,
  });
}

/** Answers a profile with its tag; the request's `If-None-Match` is looked at where it is given. */
export function profileReply(userId: string, profile: Profile, request?: Request): Reply {
  const text = `{"message":"OK","data":${profileText(userId, profile)}}`;
  const etag = profileTag(new ProfileMembers(profile.record).text("version"), text);
  if (request !== undefined && isNotModified(request, etag)) return { status: 304, headers: { etag } };
  return jsonText(text as JsonText<unknown>, { etag });
}
