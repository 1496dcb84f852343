/**
 * Recovery of a forgotten password by a mailed code.
 *
 * @module
 */

import * as v from "valibot";
import { checkPassword } from "../../../../auth/passwords/mod.ts";
import { AppError } from "../../../../base/errors/mod.ts";
import { identityEnvelope } from "../../../../http/mod.ts";
import { EmptyAnswer } from "../../answers.ts";
import type { IdentityContext } from "../../context.ts";
import { networkOf } from "../../limits/limits.ts";
import { type Operation, operation } from "../../operations.ts";
import { type User, unixSeconds } from "../../users.ts";
import { EmailSchema } from "../fields.ts";
import { emailKey, isSameEmail } from "./email_keys.ts";
import { CodeSchema, managedPool, NewPasswordSchema } from "./fields.ts";
import { passwordChangedMail, passwordCodeMail } from "./mails.ts";
import { requireClientToken } from "./pool_user.ts";

/**
 * Mails a code to the user of the address. An address without a user gets a code too, which is never mailed, so that the
 * answer and its cost are the same.
 */
export function forgotPoolPassword(context: IdentityContext): Operation {
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
export function confirmPoolPassword(context: IdentityContext): Operation {
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
