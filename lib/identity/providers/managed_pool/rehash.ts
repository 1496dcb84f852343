import type { IdentityContext } from "../../context.ts";
import type { OperationCall } from "../../operations.ts";
import type { User } from "../../users.ts";

/** A verified password with the hash that it was verified against. */
export interface StalePassword {
  readonly user: User;
  readonly passwordHash: string;
  readonly password: string;
}

/**
 * Replaces a hash of an older algorithm or cost in the background, unless the password changed meanwhile. The login that
 * noticed it neither waits for it nor fails with it.
 */
export function rehashLater(
  { users, hasher, background }: IdentityContext,
  { project, info }: OperationCall,
  { user, passwordHash, password }: StalePassword,
): void {
  background.run("rehash", info, async () => {
    const renewed = await hasher.hash(password);
    await users.update(project.id, user.userId, old =>
      old.account?.passwordHash === passwordHash
        ? { ...old, account: { ...old.account, passwordHash: renewed } }
        : old,
    );
  });
}
