/**
 * The ways from e-mail addresses to users.
 *
 * A way to an address is claimed for a moment, then the user's record is written, then the claim is confirmed. A crash in
 * between leaves a claim that lapses, and never two users with one address.
 *
 * @module
 */

import { normaliseEmail } from "../../codes/mod.ts";
import type { IdentityContext } from "../../context.ts";
import type { User, UserIds, Way } from "../../users.ts";

/** How long an address stays claimed for somebody who did not get as far as having it, in ms. */
export const emailClaimMsMax = 60_000;

/** The way from an address, in whatever spelling. */
export function emailWay(email: string): Way {
  return { kind: "email", email: normaliseEmail(email) };
}

/** Whether two spellings are one address. */
export function isSameEmail(left: string, right: string): boolean {
  return normaliseEmail(left) === normaliseEmail(right);
}

/** Who has the address, or is about to: `ids` if nobody. */
export function claimEmail(
  { users, clock }: IdentityContext,
  projectId: string,
  claim: { readonly email: string; readonly ids: UserIds },
): Promise<UserIds> {
  return users.claim(projectId, emailWay(claim.email), claim.ids, { until: clock() + emailClaimMsMax });
}

/**
 * Makes the address of the user's account the one way to the user, after the record was written with it. `before` is the
 * address that led there until now. Racing changes of one user end with the way to the address that was written last.
 */
export async function settleEmail(
  { users }: IdentityContext,
  projectId: string,
  { user, before }: { readonly user: User; readonly before: string },
): Promise<void> {
  const email = user.account?.email ?? before;
  const holder = await users.claim(projectId, emailWay(email), user);
  if (holder.userId === user.userId && !isSameEmail(before, email)) {
    await users.release(projectId, emailWay(before), user.userId);
  }
  const current = await users.byId(projectId, user.userId);
  if (current?.account !== undefined && !isSameEmail(current.account.email, email)) {
    await users.release(projectId, emailWay(email), user.userId);
  }
}
