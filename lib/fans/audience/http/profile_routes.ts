/** Routes of profiles: of the calling user, of many users for back ends, and by the batch convention. */

import * as v from "valibot";
import { uuid } from "../../../auth/crypto/mod.ts";
import { AppError, invalidField, jsonPointer } from "../../../base/errors/mod.ts";
import { isMembers, type Members } from "../../../base/json/mod.ts";
import { empty, envelope, type JsonTextReply, named, route } from "../../../http/mod.ts";
import { isNotModified, preconditionCharsMax } from "../../../http/replies/byte_reply.ts";
import { fieldErrorsMax, isUserId, userIdExpectation } from "../../../http/requests/validate.ts";
import { BodyErrors, withUserId } from "../batch/items.ts";
import { type CustomFields, CustomValueSchema, customFieldsOf } from "../profile/custom_fields.ts";
import { type PatchRules, patchErrors, patchMembers } from "../profile/patch.ts";
import { applyUpdates, checkUpdate, checkUpdates, onceOf, type UpdateRules } from "../profile/updates.ts";
import { batchUsersOf, replyPerUser, unknownUser, userFor, userOfSpace, usersQuery } from "./batch_users.ts";
import type { AudienceContext } from "./context.ts";
import type { AudienceUser, BackEnd } from "./guards.ts";
import { ProfileReplySchema, ProfileSchema, profileJson, profileReply, profileTag } from "./profile_reply.ts";
import { BulkReplySchema, usersReplySchema } from "./replies.ts";

const mergePatchType = "application/merge-patch+json";
export const updatesBytesMax: number = 8 * 1_024 * 1_024;

const UsersReplySchema = usersReplySchema("UserProfile", { data: ProfileSchema });
const PatchSchema = v.custom<Members>(isMembers, "Expected an object");

const patchEntries = {
  displayName: v.exactOptional(
    v.pipe(
      v.nullable(v.string()),
      v.description("Name that others see, 1 to 100 characters; null removes it"),
    ),
  ),
  preferences: v.exactOptional(
    v.pipe(v.nullable(v.record(v.string(), v.unknown())), v.description("Any JSON object")),
  ),
  customFields: v.exactOptional(
    v.pipe(
      v.nullable(v.record(v.string(), v.nullable(CustomValueSchema))),
      v.description("As the organisation's settings declare them"),
    ),
  ),
};
const updateEntries = {
  ...patchEntries,
  metrics: v.exactOptional(
    v.pipe(
      v.record(
        v.string(),
        v.object({ op: v.picklist(["set", "incr"]), value: v.pipe(v.number(), v.integer()) }),
      ),
      v.description("Changes of metrics, by back ends only"),
    ),
  ),
  expectedVersion: v.exactOptional(
    v.pipe(
      v.number(),
      v.integer(),
      v.minValue(0),
      v.description("Refuses the update if the profile has another"),
    ),
  ),
  updateId: v.exactOptional(
    v.pipe(
      v.string(),
      v.description(
        "By back ends only: the update takes effect once under this id, which is remembered for 7 days; a repetition is answered as the first time",
      ),
    ),
  ),
};
const userId = v.pipe(v.string(), v.description("Id of the user"));
const UpdateItemSchema = v.object({
  user_id: userId,
  data: v.pipe(v.object(updateEntries), v.description("What to change; absent members stay")),
});
const UpdatesSchema = named(
  "ProfileUpdates",
  v.union([
    v.object({
      updates: v.pipe(v.array(v.object({ userId, ...updateEntries })), v.description("1 to 1,000 updates")),
    }),
    v.array(UpdateItemSchema),
  ]),
);

export function profileRoutes(context: AudienceContext) {
  return [...ownRoutes(context), ...backEndRoutes(context), ...batchRoutes(context)];
}

function ownRoutes({ guards, profiles, directory }: AudienceContext) {
  return [
    route({
      method: "GET",
      path: "/v1/api/audience/profile",
      operation: "getAudienceProfile",
      summary: "Get the user's profile",
      description:
        "Creates the profile if there is none. The ETag covers the version and the loyalty shown with it.",
      auth: guards.publicAudience("audience:read"),
      responses: {
        200: { description: "The profile", schema: ProfileReplySchema },
        304: { description: "The profile matches If-None-Match" },
      },
      handle: async ({ principal: { user }, request }) => {
        const profile = await profiles.getOrCreate(user);
        const etag = profileTag(user.userId, profile);
        return isNotModified(request, etag) ? empty(304, { etag }) : profileReply(user.userId, profile);
      },
    }),
    route({
      method: "PATCH",
      path: "/v1/api/audience/profile",
      operation: "patchAudienceProfile",
      summary: "Change the user's profile",
      description:
        "Applies a JSON Merge Patch. If-Match compares the version only: points do not refuse a change.",
      auth: guards.publicAudience("audience:write"),
      body: {
        schema: PatchSchema,
        described: named("ProfileChanges", v.object(patchEntries)),
        mediaTypes: [mergePatchType],
        example: { displayName: "Sam", preferences: { sounds: { goal: true }, language: null } },
      },
      responses: { 200: { description: "The changed profile", schema: ProfileReplySchema } },
      errors: ["precondition_failed", "conflict"],
      handle: async ({ principal: { user }, request, body }) => {
        const fields = await customFields(directory, user.organisationId);
        const patch = checkPatch(body, { fields, isBackEnd: false });
        await profiles.change(user, { patch, isExpectedVersion: ifMatchOf(request) });
        return profileReply(user.userId, await profiles.getOrCreate(user));
      },
    }),
  ];
}

function backEndRoutes(context: AudienceContext) {
  const { guards, random } = context;
  return [
    route({
      method: "GET",
      path: "/v1/api/audience/internal/profiles",
      operation: "listAudienceProfiles",
      summary: "Get the profiles of up to 100 users",
      description: "In the order of the request, with an error for each unknown user.",
      auth: guards.privateAudience("users:read"),
      query: v.object(usersQuery),
      responses: { 200: { description: "A profile or an error for each user", schema: UsersReplySchema } },
      handle: ({ principal, query }) => {
        const selected = batchUsersOf(principal, query);
        return replyProfiles(context, selected.kind === "many" ? selected.users : [selected.user]);
      },
    }),
    route({
      method: "POST",
      path: "/v1/api/audience/internal/profiles/update-batch",
      operation: "updateAudienceProfiles",
      summary: "Change up to 1,000 profiles",
      description:
        "Profile and metrics of an update change together or not at all; updates of one user apply in order.",
      auth: guards.privateAudience("users:write"),
      body: {
        schema: v.unknown(),
        described: UpdatesSchema,
        maxBytes: updatesBytesMax,
        example: {
          updates: [
            { userId: "somebody", displayName: "Some", metrics: { points: { op: "incr", value: 1 } } },
          ],
        },
      },
      responses: { 200: { description: "A result for each update", schema: BulkReplySchema } },
      handle: async ({ principal, body }) => {
        const updates = checkUpdates(body, await updateRules(context, principal));
        const batch = { batchId: `bat_${uuid(random)}`, updates };
        return envelope(await applyUpdates(context, userId => userOfSpace(principal, userId), batch));
      },
    }),
  ];
}

function batchRoutes(context: AudienceContext) {
  const { guards, profiles, random } = context;
  return [
    route({
      method: "GET",
      path: "/api/audience/profile",
      operation: "getSpaceProfiles",
      summary: "Get the profile of one or several users",
      description: "With user_ids those of up to 100 users, in the order of the request.",
      auth: guards.batchAudience("users:read", "audience:read"),
      query: v.object(usersQuery),
      responses: {
        200: {
          description: "The profile, or one for each user",
          schema: named("SpaceProfiles", v.union([ProfileReplySchema, UsersReplySchema])),
        },
      },
      errors: ["forbidden"],
      handle: async ({ principal, query }) => {
        const selected = batchUsersOf(principal, query);
        if (selected.kind === "many") return await replyProfiles(context, selected.users);
        const { user, isOwn } = selected;
        const profile = await (isOwn ? profiles.getOrCreate(user) : profiles.get(user));
        if (profile === null) throw unknownUser();
        return profileReply(user.userId, profile);
      },
    }),
    route({
      method: "PUT",
      path: "/api/audience/profile",
      operation: "putSpaceProfiles",
      summary: "Change the profile of one or several users",
      description:
        "Absent members stay. A list changes up to 1,000 profiles; one item is answered with the profile.",
      auth: guards.batchAudience("users:write", "audience:write"),
      body: {
        schema: v.unknown(),
        described: named("SpaceProfileUpdates", v.union([UpdateItemSchema, v.array(UpdateItemSchema)])),
        maxBytes: updatesBytesMax,
        example: { user_id: "somebody", data: { displayName: "Some" } },
      },
      responses: {
        200: {
          description: "The profile, or a result for each",
          schema: named("SpaceProfileResults", v.union([ProfileReplySchema, BulkReplySchema])),
        },
      },
      errors: ["forbidden", "precondition_failed", "conflict"],
      handle: async ({ principal, body }) => {
        const rules = await updateRules(context, principal);
        if (!Array.isArray(body)) return await putOne(context, { caller: principal, body, rules });
        const updates = checkUpdates(body, rules);
        for (const { userId } of updates) userFor(principal, userId);
        const batch = { batchId: `bat_${uuid(random)}`, updates, isFromUser: principal.kind === "user" };
        return envelope(await applyUpdates(context, userId => userFor(principal, userId), batch));
      },
    }),
  ];
}

/** Changes one profile from `{user_id, data}`; users need not name themselves. */
async function putOne(
  { profiles, random }: AudienceContext,
  put: { readonly caller: AudienceUser | BackEnd; readonly body: unknown; readonly rules: UpdateRules },
): Promise<JsonTextReply<200, v.InferOutput<typeof ProfileReplySchema>>> {
  const { caller, body, rules } = put;
  const message = "Cannot serve the request as it is not valid";
  const errors = new BodyErrors();
  const item = isMembers(body) ? withUserId(body, [], rules.accountIssuer, errors) : {};
  errors.throwIfAny();
  const { user_id: given, data, ...more } = item;
  const userId = given === undefined && caller.kind === "user" ? caller.user.userId : given;
  if (!isUserId(userId)) throw invalidField(message, "/user_id", userIdExpectation);
  const [unknown] = Object.keys(more);
  if (unknown !== undefined) throw invalidField(message, jsonPointer(unknown), "Is not a known member");
  if (!isMembers(data)) {
    throw invalidField(message, "", "Expected an object with user_id and data, or a list of such");
  }
  const user = userFor(caller, userId);
  const update = checkUpdate(data, rules);
  const once = caller.kind === "user" ? undefined : onceOf(update, uuid(random));
  await profiles.change(user, { ...update, once });
  return profileReply(user.userId, await profiles.getOrCreate(user));
}

async function customFields(
  directory: AudienceContext["directory"],
  organisationId: string,
): Promise<CustomFields> {
  return customFieldsOf((await directory.organisation(organisationId))?.settings);
}

/** Returns the rules for the updates of a caller. Users may not change metrics. */
export async function updateRules(
  { directory, loyalty }: AudienceContext,
  caller: AudienceUser | BackEnd,
): Promise<UpdateRules> {
  const { space } = caller;
  const fields = await customFields(directory, space.organisationId);
  if (caller.kind === "user") return { fields, metrics: null };
  const { metrics } = await loyalty.config(space.id);
  return { fields, metrics, accountIssuer: caller.accountIssuer };
}

/** @throws {AppError} `validation_failed` with up to 20 errors. */
function checkPatch(patch: Members, rules: PatchRules): Members {
  const unknown = Object.keys(patch).filter(name => !patchMembers.some(member => member === name));
  const fields = [
    ...unknown.map(name => ({ pointer: jsonPointer(name), detail: "Is not a known member" })),
    ...patchErrors(patch, rules),
  ].slice(0, fieldErrorsMax);
  if (fields.length === 0) return patch;
  throw new AppError("validation_failed", "Cannot change the profile as the patch is not valid", { fields });
}

/**
 * Returns the predicate of an `If-Match` header; undefined if any version will do. Entity tags also cover loyalty, but points that
 * came in since are no reason to refuse another name.
 */
function ifMatchOf(request: Request): ((version: number) => boolean) | undefined {
  const list = request.headers.get("if-match");
  if (list === null || list.trim() === "*") return undefined;
  const tags = list.length > preconditionCharsMax ? [] : (list.match(/(?:W\/)?"[^"]*"/g) ?? []);
  return version => tags.some(tag => /^"v(\d+)[-"]/.exec(tag)?.[1] === String(version));
}

function replyProfiles(
  { profiles }: AudienceContext,
  users: Parameters<typeof replyPerUser>[0],
): Promise<JsonTextReply<200, never>> {
  return replyPerUser(users, async user => {
    const profile = await profiles.get(user);
    return profile === null ? null : `{"data":${profileJson(user.userId, profile)}}`;
  });
}
