import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Call, Guard } from "../../http/mod.ts";
import { spaceOfRequest } from "../../space_tokens/mod.ts";
import type { Loyalty } from "../loyalty.ts";
import type { SpaceUser } from "../user/space_user.ts";

/** Services of the routes for operators. */
export interface LoyaltyOperatorContext {
  readonly directory: Directory;
  readonly loyalty: Loyalty;
  /** Requires an API key that may read users. */
  readonly usersReader: Guard<ApiKeyPrincipal>;
  /** Requires an API key that may give and take rewards. */
  readonly rewardsWriter: Guard<ApiKeyPrincipal>;
}

/** Returns a user of the space that the request names. For a key of another organisation the space does not exist. */
export async function userOfRequest(
  directory: Directory,
  { request, principal }: Pick<Call<ApiKeyPrincipal, unknown, unknown, unknown>, "request" | "principal">,
  userId: string,
): Promise<SpaceUser> {
  const { id: spaceId, organisationId } = await spaceOfRequest(directory, request);
  if (organisationId !== principal.organisationId) {
    throw new AppError("not_found", "Cannot serve the request as no space has this host name");
  }
  return { organisationId, spaceId, userId, projectId: null };
}
