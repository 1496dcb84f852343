/** A back end that calls the audience API. */

import type { Permission } from "../../../lib/auth/mod.ts";
import { type Answer, type CallOptions, ids, type TestPlatform } from "../../support/platform.ts";

/** Calls with the credentials of a key. */
export type BackEndCall = (path: string, options?: CallOptions) => Promise<Answer>;

/** Makes a key of the organisation, and calls with it. */
export async function backEnd(
  world: TestPlatform,
  permissions: readonly Permission[] = ["actions:write", "rewards:write"],
  organisationId: string = ids.organisation,
): Promise<BackEndCall> {
  const { key, secret } = await world.platform.apiKeys.create({ organisationId, name: "CRM", permissions });
  return (path, options = {}) =>
    world.call(path, {
      ...options,
      headers: {
        "x-api-key": key,
        "x-api-secret": secret,
        "x-platform-org-id": organisationId,
        ...options.headers,
      },
    });
}

/** The points that a user has. */
export async function pointsOf(world: TestPlatform, userId: string): Promise<number> {
  const member = { organisationId: ids.organisation, spaceId: ids.space, userId, projectId: null };
  const { metrics } = await world.platform.loyalty.profile(member);
  return Number((metrics as Readonly<Record<string, unknown>>).points);
}
