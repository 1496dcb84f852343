/**
 * Changing the password with the one before.
 *
 * @module
 */

import * as v from "valibot";
import { checkPassword } from "../../../auth/passwords/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import type { Reply } from "../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, type OperationCall, operation } from "../../operations.ts";
import { type User, unixSeconds } from "../../users.ts";
import { NewPasswordSchema, PasswordSchema } from "./fields.ts";
import { passwordChangedMail } from "./mails.ts";
import { type PoolUser, poolUser } from "./pool_user.ts";
import { sessionReply } from "./session_reply.ts";

const ChangeSchema = v.object({
  data: v.object({ password: NewPasswordSchema, previousPassword: PasswordSchema }),
});

/**
 * Sets a new password and answers a new session record; all other sessions end. A wrong previous password counts as a
 * failed login.
 */
export function changePoolPassword(context: IdentityContext): Operation {
  const { hasher, passwordPolicy, abuse, sessions, codes, background, mailer } = context;
  return operation({
    schema: ChangeSchema,
    async run({ data: { password, previousPassword } }, call): Promise<Reply> {
      const { project, info, request } = call;
      const caller = await poolUser(context, call);
      const { email, passwordHash } = caller.account;
      await checkPassword(password, passwordPolicy);
      const facts = { projectId: project.id, address: info.address, email, userId: caller.user.userId };
      await abuse.attempt("login", facts);
      const { ok } = await hasher.verify(passwordHash, previousPassword);
      if (!ok) throw wrongPassword();
      if (password === previousPassword) throw samePassword();
      const user = await replaceHash(context, call, { caller, renewed: await hasher.hash(password) });
      const opened = await sessions.open(project, user, {
        deviceId: caller.session.deviceId,
        userAgent: request.headers.get("user-agent") ?? "",
        ...(info.address === undefined ? {} : { address: info.address }),
      });
      await sessions.revokeAll(project.id, user.userId, { except: opened.session.sid });
      await codes.revoke(project.id, "password", email);
      await abuse.clear(facts);
      background.run("mail_password_changed", info, () =>
        mailer.send(passwordChangedMail({ to: email, from: project.name })),
      );
      return sessionReply(context, project.id, { ...opened, user });
    },
  });
}

/** Writes the hash where the one that was verified still stands. */
async function replaceHash(
  { users, clock }: IdentityContext,
  { project }: OperationCall,
  { caller, renewed }: { readonly caller: PoolUser; readonly renewed: string },
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
  return new AppError("same_password", "Cannot change the password to the one that it is already");
}
