/**
 * E-mail addresses as lookup keys.
 *
 * An address is claimed for a moment, then the user's record is written, then the claim is confirmed. A crash between the
 * steps leaves a claim that expires, and never two users with one address.
 *
 * @module
 */

import type { IdentityContext } from "../../context.ts";
import { normaliseEmail } from "../../email.ts";
import type { UserIds } from "../../external_ids.ts";
import type { ClaimedKey } from "../../lookup_keys.ts";
import type { User } from "../../users.ts";

/** Time for which an unconfirmed claim blocks an address. */
const claimMs = 60_000;

/** Makes the lookup key of an address in any spelling. */
export function emailKey(email: string): ClaimedKey {
  return { kind: "email", email: normaliseEmail(email) };
}

/** Tests if two spellings are one address. */
export function isSameEmail(left: string, right: string): boolean {
  return normaliseEmail(left) === normaliseEmail(right);
}

/** Claims an address for a minute, and returns the ids of its holder: `ids` if it was free. */
export function claimEmail(
  { users, clock }: IdentityContext,
  projectId: string,
  claim: { readonly email: string; readonly ids: UserIds },
): Promise<UserIds> {
  return users.claim(projectId, emailKey(claim.email), claim.ids, { until: clock() + claimMs });
}

/**
 * Confirms the address of the user's account as its only e-mail key, after the record was written. `before` is the former
 * address. Racing changes of one user end with the key of the address that was written last.
 */
export async function switchEmailKey(
  { users }: IdentityContext,
  projectId: string,
  { user, before }: { readonly user: User; readonly before: string },
): Promise<void> {
  const email = user.account?.email ?? before;
  const holder = await users.claim(projectId, emailKey(email), user);
  if (holder.userId === user.userId && !isSameEmail(before, email)) {
    await users.release(projectId, emailKey(before), user.userId);
  }
  const current = await users.findById(projectId, user.userId);
  if (current?.account !== undefined && !isSameEmail(current.account.email, email)) {
    await users.release(projectId, emailKey(email), user.userId);
  }
}
