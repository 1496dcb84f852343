/**
 * Finds users by what they registered with.
 *
 * @module
 */

import type { LookupKey } from "./lookup_keys.ts";
import { emailKey } from "./providers/managed_pool/email_keys.ts";
import type { Users } from "./users.ts";

/** A value that at most one user of a project has. */
export interface RegisteredKey {
  readonly kind: "email" | "externalId";
  /** An e-mail address in any spelling, or an external id. */
  readonly value: string;
}

/** Returns the ids of the users of some projects who hold a key. All projects are read at once. */
export async function findUserIds(
  users: Users,
  projectIds: readonly string[],
  { kind, value }: RegisteredKey,
): Promise<readonly string[]> {
  const key: LookupKey = kind === "email" ? emailKey(value) : { kind: "external", externalId: value };
  const found = await Promise.all(projectIds.map(projectId => users.holderOf(projectId, key)));
  return found.filter(userId => userId !== null);
}
