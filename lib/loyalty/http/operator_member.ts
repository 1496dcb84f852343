import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Call } from "../../http/mod.ts";
import { spaceOfRequest } from "../../space_tokens/mod.ts";
import type { Member } from "../user/member.ts";

/** A user of the space that the request is addressed to; a key of another organisation finds no space there. */
export async function memberOfRequest(
  directory: Directory,
  { request, principal }: Pick<Call<ApiKeyPrincipal, unknown, unknown, unknown>, "request" | "principal">,
  userId: string,
): Promise<Member> {
  const { id: spaceId, organisationId } = await spaceOfRequest(directory, request);
  if (organisationId !== principal.organisationId) {
    throw new AppError("not_found", "Cannot serve the request as no space has this host name");
  }
  return { organisationId, spaceId, userId, projectId: null };
}
