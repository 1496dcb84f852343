/**
 * Verification of an e-mail address by a mailed code.
 *
 * @module
 */

import * as v from "valibot";
import { checkPassword, dummyHash } from "../../../../auth/passwords/mod.ts";
import { AppError } from "../../../../base/errors/mod.ts";
import { identityEnvelope } from "../../../../http/mod.ts";
import type { Project } from "../../../directory/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { networkOf } from "../../limits/limits.ts";
import { emailKey } from "../../lookup_keys.ts";
import { EmptyAnswer, type OperationCall, operation } from "../../operations.ts";
import type { Session } from "../../sessions/session.ts";
import { identitySetting } from "../../settings.ts";
import { type User, unixSeconds } from "../../users.ts";
import { EmailSchema } from "../fields.ts";
import {
  CodeSchema,
  emailCodeMail,
  isSameEmail,
  managedPool,
  NewPasswordSchema,
  requireClientToken,
} from "./pool_user.ts";

/**
 * Mails a code to the user of an unverified address. Every other address gets a code too, which is never mailed, so that the
 * answer and its cost are the same.
 */
export function sendEmailCode(context: IdentityContext) {
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
      assertOffered(project);
      const facts = { projectId: project.id, address: info.address, email };
      if ((await limiter.attempt("verifyEmail", facts)) === "silent") return identityEnvelope({});
      const code = await codes.issue(project.id, "email", { email, holder: networkOf(info) });
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

const ConfirmSchema = v.object({
  email: EmailSchema,
  confirmationCode: CodeSchema,
  password: v.exactOptional(
    v.pipe(
      NewPasswordSchema,
      v.description(
        "The password from now on: that of the registration, or a new one. All other sessions end",
      ),
    ),
  ),
});

/**
 * Gives the account to the one who proves control of the address, and forgets failed logins. A wrong, spent or expired code and
 * an address without a user are answered alike.
 */
export function confirmEmail(context: IdentityContext) {
  const { limiter, codes, hasher, passwordPolicy, sessions } = context;
  return operation({
    ...managedPool,
    entries: { data: v.pipe(ConfirmSchema, v.description("The account and the mailed code")) },
    responses: { 200: { description: "The address is verified", schema: EmptyAnswer } },
    async run({ data: { email, confirmationCode, password } }, call) {
      const { project, info } = call;
      await requireClientToken(context, call);
      assertOffered(project);
      if (password !== undefined) await checkPassword(password, passwordPolicy, { email });
      const facts = { projectId: project.id, address: info.address, email };
      await limiter.attempt("confirmEmail", facts);
      const session = await sessionOf(context, call);
      // Hashed first: a busy process must not have spent the code by then.
      const passwordHash = password === undefined ? null : await hasher.hash(password);
      const isRight = await codes.redeem(project.id, "email", {
        email,
        holder: networkOf(info),
        code: confirmationCode,
      });
      const proof = { email, passwordHash, session };
      const given = isRight ? await giveAccount(context, project.id, proof) : null;
      if (given === null) throw invalidCode();
      const { userId } = given.user;
      call.note({ userId });
      if (given.isReplaced) {
        const except = session?.userId === userId ? { except: session.sid } : {};
        await sessions.revokeAll(project.id, userId, except);
      }
      await limiter.clear({ ...facts, userId }, "account");
      return identityEnvelope({});
    },
  });
}

/** The session of the bearer; null if the bearer is a client token, or proves nobody. */
async function sessionOf({ sessions }: IdentityContext, { request, project }: OperationCall) {
  try {
    return (await sessions.authenticate(request, project)).session;
  } catch (error) {
    const codes = ["missing_token", "token_expired", "invalid_token", "session_revoked", "account_banned"];
    if (error instanceof AppError && codes.includes(error.code)) return null;
    throw error;
  }
}

interface Proof {
  readonly email: string;
  readonly passwordHash: string | null;
  readonly session: Session | null;
}

/**
 * Marks the address as verified; null if no account has it any more. A new password replaces the one before. Without one, the
 * password of a contested address ends: nothing says that it is of the person who reads the mail, unless a session does.
 */
async function giveAccount(
  { users, clock, hasher }: IdentityContext,
  projectId: string,
  { email, passwordHash, session }: Proof,
): Promise<{ readonly user: User; readonly isReplaced: boolean } | null> {
  const found = await users.findByKey(projectId, emailKey(email));
  if (found === null) return null;
  let isReplaced = false;
  const user = await users.update(projectId, found.userId, ({ account, ...old }) => {
    if (account === undefined || !isSameEmail(account.email, email)) return { ...old, account };
    const isOpen = account.isContested === true && session?.userId !== old.userId;
    isReplaced = passwordHash !== null || isOpen;
    const hash = passwordHash ?? (isOpen ? dummyHash(hasher) : account.passwordHash);
    const proved = { passwordHash: hash, isEmailVerified: true, isContested: false };
    return { ...old, account: { ...account, ...proved, updatedAt: unixSeconds(clock) } };
  });
  const { account } = user ?? {};
  const isProved = account?.isEmailVerified === true && isSameEmail(account.email, email);
  return user !== null && isProved ? { user, isReplaced } : null;
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
