/**
 * The user of the managed pool whom a request speaks for.
 *
 * @module
 */

import { invalidToken } from "../../../auth/mod.ts";
import type { IdentityContext } from "../../context.ts";
import type { OperationCall } from "../../operations.ts";
import type { Admit, Session } from "../../sessions/sessions.ts";
import type { Account, User } from "../../users.ts";

/** A user of the pool with the session of the request. */
export interface PoolUser {
  readonly user: User;
  readonly account: Account;
  readonly session: Session;
}

/**
 * The bearer of the request, whom the audit trail is told of. `admit` sees who it is before anything is read.
 *
 * @throws {AppError} What {@linkcode Sessions.authenticate} throws; `invalid_token` for a user of another provider.
 */
export async function poolUser(
  { sessions }: IdentityContext,
  call: OperationCall,
  admit?: Admit,
): Promise<PoolUser> {
  const { user, session } = await sessions.authenticate(call.request, call.project, {
    admit: holder => {
      call.note(holder);
      return admit?.(holder);
    },
  });
  call.note({ deviceId: session.deviceId });
  const { account } = user;
  if (user.provider !== "managedPool" || account === undefined) throw invalidToken("provider");
  return { user, account, session };
}
