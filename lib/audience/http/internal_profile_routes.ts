/**
 * What back ends read and change of many profiles.
 *
 * @module
 */

import * as v from "valibot";
import { uuid } from "../../auth/crypto/mod.ts";
import { type AnyRoute, envelope, looseRoute } from "../../http/mod.ts";
import { BulkAnswerSchema } from "../batch/results.ts";
import { profileText } from "../lists/documents.ts";
import { applyUpdates, checkUpdates, type UpdateRules } from "../profile/updates.ts";
import { answerMany, memberAt, namedUsers } from "./batch_users.ts";
import type { AudienceContext } from "./context.ts";
import type { BackEnd } from "./guards.ts";
import { fieldsOf } from "./profile_routes.ts";
import { ProfilesSchema } from "./schema.ts";

/** Largest body of updates, in bytes: 8 MiB. */
export const updatesBytesMax: number = 8 * 1_024 * 1_024;

/** Builds the routes of back ends that work with profiles. */
export function internalProfileRoutes(context: AudienceContext): readonly AnyRoute[] {
  const { guards, profiles, random } = context;
  return [
    looseRoute({
      method: "GET",
      path: "/v1/api/audience/internal/profiles",
      operation: "listAudienceProfiles",
      summary: "The profiles of up to 100 users, in the order in which they are named",
      auth: guards.privateAudience("users:read"),
      query: v.object({ user_ids: v.string() }),
      responses: { 200: { description: "A profile or an error for each user", schema: ProfilesSchema } },
      handle: ({ principal, query }) =>
        answerMany(
          namedUsers(query.user_ids).map(userId => memberAt(principal, userId)),
          async member => {
            const profile = await profiles.see(member);
            return profile === null ? null : `{"data":${profileText(member.userId, profile)}}`;
          },
        ),
    }),
    looseRoute({
      method: "POST",
      path: "/v1/api/audience/internal/profiles/update-batch",
      operation: "updateAudienceProfiles",
      summary: "Change up to 1,000 profiles and metrics; those of one user in the order given",
      auth: guards.privateAudience("users:write"),
      body: { schema: v.unknown(), maxBytes: updatesBytesMax },
      responses: { 200: { description: "A result for each update", schema: BulkAnswerSchema } },
      handle: async ({ principal, body }) => {
        const updates = checkUpdates(body, await updateRules(context, principal));
        const batchId = `bat_${uuid(random)}`;
        return envelope(
          await applyUpdates(profiles, userId => memberAt(principal, userId), { batchId, updates }),
        );
      },
    }),
  ];
}

/** What back ends may say in updates. */
export async function updateRules(
  { directory, loyalty }: Pick<AudienceContext, "directory" | "loyalty">,
  { space }: Pick<BackEnd, "space">,
): Promise<UpdateRules> {
  const [fields, { metrics }] = await Promise.all([
    fieldsOf(directory, space.organisationId),
    loyalty.config(space.id),
  ]);
  return { fields, metrics };
}
