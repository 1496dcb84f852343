import type { IdentityContext } from "../../context.ts";
import type { OperationCall } from "../../operations.ts";
import { poolSettings } from "./settings.ts";

/**
 * Lets a request on the way to a new password pass.
 *
 * @throws {AppError} What {@linkcode ClientTokens.check} throws, unless the project asks for no bearer.
 */
export async function checkRecovery(
  { clientTokens }: IdentityContext,
  { request, project }: OperationCall,
): Promise<void> {
  if (poolSettings(project).recoveryAuth === "bearer") await clientTokens.check(request, project.id);
}
