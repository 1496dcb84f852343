/**
 * Setting a new password with a code that was mailed.
 *
 * @module
 */

import * as v from "valibot";
import { checkPassword } from "../../../auth/passwords/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import { identityEnvelope, type Reply } from "../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, operation } from "../../operations.ts";
import { type User, unixSeconds } from "../../users.ts";
import { emailWay, isSameEmail } from "./email_way.ts";
import { CodeSchema, EmailSchema, NewPasswordSchema } from "./fields.ts";
import { passwordChangedMail } from "./mails.ts";
import { checkRecovery } from "./recovery.ts";

const ConfirmSchema = v.object({
  data: v.object({ email: EmailSchema, confirmationCode: CodeSchema, password: NewPasswordSchema }),
});

interface NewPassword {
  readonly email: string;
  readonly passwordHash: string;
}

/**
 * Sets the password of the user who has the address. All sessions end, what counts against the account is forgotten, and
 * the user is told by mail. A wrong, spent or expired code and an address that nobody has are answered alike.
 */
export function confirmPoolPassword(context: IdentityContext): Operation {
  const { abuse, codes, hasher, passwordPolicy, sessions, background, mailer } = context;
  return operation({
    schema: ConfirmSchema,
    async run({ data: { email, confirmationCode, password } }, call): Promise<Reply> {
      const { project, info } = call;
      await checkRecovery(context, call);
      await checkPassword(password, passwordPolicy);
      const facts = { projectId: project.id, address: info.address, email };
      await abuse.attempt("confirm", facts);
      // Hashed first: a busy process must not have spent the code by then.
      const passwordHash = await hasher.hash(password);
      const isRight = await codes.redeem(project.id, "password", email, confirmationCode);
      const user = isRight ? await setPassword(context, project.id, { email, passwordHash }) : null;
      if (user?.account === undefined) throw invalidCode();
      call.note({ userId: user.userId });
      await sessions.revokeAll(project.id, user.userId);
      await abuse.clear({ ...facts, userId: user.userId }, "account");
      const { email: to } = user.account;
      background.run("mail_password_changed", info, () =>
        mailer.send(passwordChangedMail({ to, from: project.name })),
      );
      return identityEnvelope({});
    },
  });
}

/** The user with the new password, or null where nobody has the address. Who got the code has the mailbox. */
async function setPassword(
  { users, clock }: IdentityContext,
  projectId: string,
  { email, passwordHash }: NewPassword,
): Promise<User | null> {
  const found = await users.byWay(projectId, emailWay(email));
  if (found === null) return null;
  return await users.update(projectId, found.userId, ({ account, ...old }) => {
    if (account === undefined) return old;
    const isEmailVerified = account.isEmailVerified || isSameEmail(account.email, email);
    return { ...old, account: { ...account, isEmailVerified, passwordHash, updatedAt: unixSeconds(clock) } };
  });
}

function invalidCode(): AppError {
  return new AppError("invalid_code", "Cannot set the password as the code is wrong, spent or too old");
}
