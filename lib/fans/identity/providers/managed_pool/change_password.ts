/**
 * Change of the password by the previous one.
 *
 * @module
 */

import * as v from "valibot";
import { checkPassword } from "../../../../auth/passwords/mod.ts";
import { AppError } from "../../../../base/errors/mod.ts";
import { SessionAnswer } from "../../answers.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, type OperationCall, operation } from "../../operations.ts";
import { deviceOf } from "../../sessions/sessions.ts";
import { type User, unixSeconds } from "../../users.ts";
import { managedPool, NewPasswordSchema, PasswordSchema } from "./fields.ts";
import { passwordChangedMail } from "./mails.ts";
import { authenticatePoolUser, type PoolUser, sessionReply } from "./pool_user.ts";

/**
 * Sets a new password and opens a new session; all others end. Wrong previous
 * passwords count against the session, so that failed logins of strangers do not prevent a change.
 */
export function changePoolPassword(context: IdentityContext): Operation {
  const { hasher, passwordPolicy, limiter, sessions, codes, background, mailer } = context;
  return operation({
    ...managedPool,
    entries: {
      data: v.pipe(
        v.object({ password: NewPasswordSchema, previousPassword: PasswordSchema }),
        v.description("The new password, and the present one as proof"),
      ),
    },
    responses: { 200: { description: "The new session record with tokens", schema: SessionAnswer } },
    async run({ data: { password, previousPassword } }, call) {
      const { project, info } = call;
      const caller = await authenticatePoolUser(context, call);
      const { email, passwordHash } = caller.account;
      await checkPassword(password, passwordPolicy, { email });
      const facts = { projectId: project.id, address: info.address, email, sessionId: caller.session.sid };
      await limiter.attempt("passwordChange", facts);
      const { ok } = await hasher.verify(passwordHash, previousPassword);
      if (!ok) throw wrongPassword();
      if (password.normalize("NFKC") === previousPassword.normalize("NFKC")) throw samePassword();
      const user = await replaceHash(context, call, caller, await hasher.hash(password));
      const opened = await sessions.open(project, user, deviceOf(caller.session.deviceId, call));
      await sessions.revokeAll(project.id, user.userId, { except: opened.session.sid });
      await codes.revoke(project.id, email, "password");
      await limiter.clear(facts);
      background.run("mail_password_changed", info, () =>
        mailer.send(passwordChangedMail({ to: email, call })),
      );
      return sessionReply(context, project.id, { ...opened, user });
    },
  });
}

/** Writes the hash if the stored one is still the verified one. */
async function replaceHash(
  { users, clock }: IdentityContext,
  { project }: OperationCall,
  caller: PoolUser,
  renewed: string,
): Promise<User> {
  const { passwordHash } = caller.account;
  const user = await users.update(project.id, caller.user.userId, old =>
    old.account?.passwordHash === passwordHash
      ? { ...old, account: { ...old.account, passwordHash: renewed, updatedAt: unixSeconds(clock) } }
      : old,
  );
  if (user?.account?.passwordHash === renewed) return user;
  throw new AppError("conflict", "Cannot change the password as it changed meanwhile: try again");
}

function wrongPassword(): AppError {
  return new AppError("invalid_credentials", "Cannot change the password as the previous one is wrong");
}

function samePassword(): AppError {
  return new AppError("same_password", "Cannot change the password to the same one");
}
