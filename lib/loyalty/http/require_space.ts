import type { ApiKeyPrincipal } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import { AppError } from "../../errors/mod.ts";

/**
 * Demands a space of the API key's own organisation; another organisation's is answered like one that does not exist.
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
