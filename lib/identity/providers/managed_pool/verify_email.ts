/**
 * Verification of an e-mail address by a mailed code.
 *
 * @module
 */

import * as v from "valibot";
import type { Project } from "../../../directory/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import { identityEnvelope } from "../../../http/mod.ts";
import { EmptyAnswer } from "../../answers.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, operation } from "../../operations.ts";
import { identitySetting } from "../../settings.ts";
import { type User, unixSeconds } from "../../users.ts";
import { EmailSchema } from "../fields.ts";
import { emailKey, isSameEmail } from "./email_keys.ts";
import { CodeSchema, managedPool } from "./fields.ts";
import { emailCodeMail } from "./mails.ts";
import { requireClientToken } from "./pool_user.ts";

/**
 * Mails a code to the user of an unverified address. Every other address gets a code too, which is never mailed, so that the
 * answer and its cost are the same.
 */
export function sendEmailCode(context: IdentityContext): Operation {
  const { limiter, codes, users, background, mailer } = context;
  return operation({
    ...managedPool,
    entries: { data: v.object({ email: EmailSchema }) },
    responses: { 200: { description: "The request is accepted", schema: EmptyAnswer } },
    async run({ data: { email } }, call) {
      const { project, info } = call;
      await requireClientToken(context, call);
      assertOffered(project);
      const facts = { projectId: project.id, address: info.address, email };
      if ((await limiter.attempt("verifyEmail", facts)) === "silent") return identityEnvelope({});
      const code = await codes.issue(project.id, "email", email);
      const user = await users.findByKey(project.id, emailKey(email));
      if (user !== null) call.note({ userId: user.userId });
      const { account } = user ?? {};
      // A code proves control of the mailbox that the account names, so no other spelling gets one.
      if (account?.isEmailVerified === false && isSameEmail(account.email, email)) {
        const { email: to } = account;
        background.run("mail_email_code", info, () => mailer.send(emailCodeMail({ to, call }, code)));
      }
      return identityEnvelope({});
    },
  });
}

/**
 * Marks the address of its user as verified, and forgets failed logins. A wrong, spent or expired code and an address without
 * a user are answered alike.
 */
export function confirmEmail(context: IdentityContext): Operation {
  const { limiter, codes } = context;
  return operation({
    ...managedPool,
    entries: { data: v.object({ email: EmailSchema, confirmationCode: CodeSchema }) },
    responses: { 200: { description: "The address is verified", schema: EmptyAnswer } },
    async run({ data: { email, confirmationCode } }, call) {
      const { project, info } = call;
      await requireClientToken(context, call);
      assertOffered(project);
      const facts = { projectId: project.id, address: info.address, email };
      await limiter.attempt("confirmEmail", facts);
      const isRight = await codes.redeem(project.id, "email", email, confirmationCode);
      const user = isRight ? await markVerified(context, project.id, email) : null;
      if (user === null) throw invalidCode();
      call.note({ userId: user.userId });
      await limiter.clear({ ...facts, userId: user.userId }, "account");
      return identityEnvelope({});
    },
  });
}

/** Marks the address as verified; null if no account has it any more. */
async function markVerified(
  { users, clock }: IdentityContext,
  projectId: string,
  email: string,
): Promise<User | null> {
  const found = await users.findByKey(projectId, emailKey(email));
  if (found === null) return null;
  const user = await users.update(projectId, found.userId, ({ account, ...old }) => {
    if (account === undefined) return old;
    if (account.isEmailVerified || !isSameEmail(account.email, email)) return { ...old, account };
    return { ...old, account: { ...account, isEmailVerified: true, updatedAt: unixSeconds(clock) } };
  });
  const { account } = user ?? {};
  return account?.isEmailVerified === true && isSameEmail(account.email, email) ? user : null;
}

/** @throws {AppError} `not_available`: the project does not verify addresses. */
function assertOffered(project: Project): void {
  if (identitySetting(project, "emailVerification") !== "off") return;
  throw new AppError(
    "not_available",
    "Cannot verify the e-mail address as the project does not verify addresses",
  );
}

function invalidCode(): AppError {
  return new AppError(
    "invalid_code",
    "Cannot verify the e-mail address as the code is wrong, spent or too old",
  );
}
