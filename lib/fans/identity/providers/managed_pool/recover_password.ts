/**
 * Recovery of a forgotten password by a mailed code.
 *
 * @module
 */

import * as v from "valibot";
import { checkPassword } from "../../../../auth/passwords/mod.ts";
import { AppError } from "../../../../base/errors/mod.ts";
import { identityEnvelope } from "../../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { networkOf } from "../../limits/limits.ts";
import { emailKey } from "../../lookup_keys.ts";
import { EmptyAnswer, type OperationCall, operation, SessionAnswer } from "../../operations.ts";
import { deviceOf } from "../../sessions/sessions.ts";
import { type User, unixSeconds } from "../../users.ts";
import { EmailSchema } from "../fields.ts";
import {
  authenticatePoolUser,
  CodeSchema,
  isSameEmail,
  managedPool,
  NewPasswordSchema,
  PasswordSchema,
  type PoolUser,
  passwordChangedMail,
  passwordCodeMail,
  requireClientToken,
  sessionReply,
} from "./pool_user.ts";

/**
 * Mails a code to the user of the address. An address without a user gets a code too, which is never mailed, so that the
 * answer and its cost are the same.
 */
export function forgotPoolPassword(context: IdentityContext) {
  const { limiter, codes, users, background, mailer } = context;
  return operation({
    ...managedPool,
    entries: {
      data: v.pipe(
        v.object({ email: EmailSchema }),
        v.description("The account, to whose address a code is mailed"),
      ),
    },
    responses: { 200: { description: "The request is accepted", schema: EmptyAnswer } },
    async run({ data: { email } }, call) {
      const { project, info } = call;
      await requireClientToken(context, call);
      const facts = { projectId: project.id, address: info.address, email };
      if ((await limiter.attempt("forgot", facts)) === "silent") return identityEnvelope({});
      const code = await codes.issue(project.id, "password", { email, holder: networkOf(info) });
      const user = await users.findByKey(project.id, emailKey(email));
      if (user !== null) call.note({ userId: user.userId });
      const { account } = user ?? {};
      if (account !== undefined) {
        // The owner's spelling of the address decides where a code goes, not that of the request.
        const to = isSameEmail(account.email, email) ? account.email : email;
        background.run("mail_password_code", info, () => mailer.send(passwordCodeMail({ to, call }, code)));
      }
      return identityEnvelope({});
    },
  });
}

/**
 * Sets the password of the user of the address. All sessions end, failed logins are forgotten, and the user gets a mail.
 * A wrong, spent or expired code and an address without a user are answered alike.
 */
export function confirmPoolPassword(context: IdentityContext) {
  const { limiter, codes, hasher, passwordPolicy, sessions, background, mailer } = context;
  return operation({
    ...managedPool,
    entries: {
      data: v.pipe(
        v.object({ email: EmailSchema, confirmationCode: CodeSchema, password: NewPasswordSchema }),
        v.description("The account, the mailed code and the new password"),
      ),
    },
    responses: { 200: { description: "The password is set, all sessions are over", schema: EmptyAnswer } },
    async run({ data: { email, confirmationCode, password } }, call) {
      const { project, info } = call;
      await requireClientToken(context, call);
      await checkPassword(password, passwordPolicy, { email });
      const facts = { projectId: project.id, address: info.address, email };
      await limiter.attempt("confirm", facts);
      // Hashed first: a busy process must not have spent the code by then.
      const passwordHash = await hasher.hash(password);
      const isRight = await codes.redeem(project.id, "password", {
        email,
        holder: networkOf(info),
        code: confirmationCode,
      });
      const user = isRight ? await setPassword(context, project.id, { email, passwordHash }) : null;
      if (user?.account === undefined) throw invalidCode();
      call.note({ userId: user.userId });
      await sessions.revokeAll(project.id, user.userId);
      await limiter.clear({ ...facts, userId: user.userId }, "account");
      const { email: to } = user.account;
      background.run("mail_password_changed", info, () => mailer.send(passwordChangedMail({ to, call })));
      return identityEnvelope({});
    },
  });
}

/** Writes the new password; null if the address has no user. The right code proves control of the mailbox. */
async function setPassword(
  { users, clock }: IdentityContext,
  projectId: string,
  { email, passwordHash }: { readonly email: string; readonly passwordHash: string },
): Promise<User | null> {
  const found = await users.findByKey(projectId, emailKey(email));
  if (found === null) return null;
  return await users.update(projectId, found.userId, ({ account, ...old }) => {
    if (account === undefined) return old;
    const isEmailVerified = account.isEmailVerified || isSameEmail(account.email, email);
    const updatedAt = unixSeconds(clock);
    const isContested = account.isContested === true && !isEmailVerified;
    return { ...old, account: { ...account, isEmailVerified, isContested, passwordHash, updatedAt } };
  });
}

function invalidCode(): AppError {
  return new AppError("invalid_code", "Cannot set the password as the code is wrong, spent or too old");
}

/**
 * Sets a new password and opens a new session; all others end. Wrong previous
 * passwords count against the session, so that failed logins of strangers do not prevent a change.
 */
export function changePoolPassword(context: IdentityContext) {
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
