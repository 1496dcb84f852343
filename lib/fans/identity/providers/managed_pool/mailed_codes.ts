/** Codes by mail, which prove the control of an address: for a new password, and to verify the address. */

import * as v from "valibot";
import { checkPassword, dummyHash } from "../../../../auth/passwords/mod.ts";
import { AppError } from "../../../../base/errors/mod.ts";
import { identityEnvelope } from "../../../../http/mod.ts";
import type { Project } from "../../../directory/mod.ts";
import type { CodePurpose } from "../../codes/codes.ts";
import type { IdentityContext } from "../../context.ts";
import { networkOf } from "../../limits/limits.ts";
import { emailKey } from "../../lookup_keys.ts";
import { EmptyAnswer, type OperationCall, operation } from "../../operations.ts";
import type { Session } from "../../sessions/session.ts";
import { identitySetting } from "../../settings.ts";
import { type User, unixSeconds } from "../../users.ts";
import { EmailSchema, NewEmailSchema } from "../fields.ts";
import {
  CodeSchema,
  isSameEmail,
  keepEmail,
  managedPool,
  NewPasswordSchema,
  poolMail,
  requireClientToken,
} from "./pool_user.ts";

/** Mails the user of an address a code for a new password. */
export function forgotPoolPassword(context: IdentityContext) {
  return codeRequest(context, {
    action: "forgot",
    purpose: "password",
    work: "mail_password_code",
    mail: "passwordCode",
    // The owner's spelling of the address decides where a code goes, not that of the request.
    recipient: (user, email) =>
      user?.account === undefined
        ? null
        : isSameEmail(user.account.email, email)
          ? user.account.email
          : email,
  });
}

/** Mails the user of an unverified address a code that verifies it. */
export function sendEmailCode(context: IdentityContext) {
  return codeRequest(context, {
    action: "verifyEmail",
    purpose: "email",
    work: "mail_email_code",
    mail: "emailCode",
    // A code proves control of the mailbox that the account names, so no other spelling gets one.
    recipient: (user, email) => (user?.account?.isEmailVerified === false ? ownAddress(user, email) : null),
  });
}

/** Mails the user of an address a code to log in; where nobody has the address, the one who may register it. */
export function mailLoginCode(context: IdentityContext) {
  return codeRequest(context, {
    action: "loginCode",
    purpose: "login",
    work: "mail_login_code",
    mail: "loginCode",
    recipient: (user, email, project) => {
      if (user !== null) return ownAddress(user, email);
      return identitySetting(project, "registration") === "closed" ? null : email;
    },
  });
}

/** Returns the address of an account in its owner's spelling; null if the account has another by now. */
function ownAddress({ account }: User, email: string): string | null {
  return account !== undefined && isSameEmail(account.email, email) ? account.email : null;
}

interface CodeRequest {
  readonly action: "forgot" | "verifyEmail" | "loginCode";
  readonly purpose: CodePurpose;
  readonly work: string;
  readonly mail: "passwordCode" | "emailCode" | "loginCode";
  /** Returns where the code for the user goes, if the request names the address so; null for nowhere. */
  readonly recipient: (user: User | null, email: string, project: Project) => string | null;
}

/** Every address gets a code, also one whose code is never mailed, so that the answer and its cost are the same. */
function codeRequest(context: IdentityContext, { action, purpose, work, mail, recipient }: CodeRequest) {
  const { limiter, codes, users, background, mailer } = context;
  return operation({
    ...managedPool,
    entries: {
      data: v.pipe(
        v.object({ email: purpose === "login" ? NewEmailSchema : EmailSchema }),
        v.description("The account, to whose address a code is mailed"),
      ),
    },
    responses: { 200: { description: "The request is accepted", schema: EmptyAnswer } },
    async run({ data: { email } }, call) {
      const { project, info } = call;
      await requireClientToken(context, call);
      assertOffered(project, purpose);
      const facts = { projectId: project.id, address: info.address, email };
      if ((await limiter.attempt(action, facts)) === "silent") return identityEnvelope({});
      const code = await codes.issue(project.id, purpose, { email, holder: networkOf(info) });
      const user = await users.findByKey(project.id, emailKey(email));
      if (user !== null) call.note({ userId: user.userId });
      const to = recipient(user, email, project);
      if (to !== null) background.run(work, info, () => mailer.send(poolMail(mail, to, call, code)));
      return identityEnvelope({});
    },
  });
}

/** Consumes the mailed code of an address; false for a wrong, spent or expired one. */
export function redeem(
  { codes }: IdentityContext,
  { project, info }: OperationCall,
  purpose: CodePurpose,
  { email, confirmationCode: code }: { readonly email: string; readonly confirmationCode: string },
): Promise<boolean> {
  return codes.redeem(project.id, purpose, { email, holder: networkOf(info), code });
}

/**
 * Sets the password of the user of the address. All sessions end, failed logins are forgotten, and the user gets a mail.
 * A wrong, spent or expired code and an address without a user are answered alike.
 */
export function confirmPoolPassword(context: IdentityContext) {
  const { limiter, hasher, passwordPolicy, sessions, background, mailer } = context;
  return operation({
    ...managedPool,
    entries: {
      data: v.pipe(
        v.object({ email: EmailSchema, confirmationCode: CodeSchema, password: NewPasswordSchema }),
        v.description("The account, the mailed code and the new password"),
      ),
    },
    responses: { 200: { description: "The password is set, all sessions are over", schema: EmptyAnswer } },
    async run({ data }, call) {
      const { email, password } = data;
      const { project, info } = call;
      await requireClientToken(context, call);
      await checkPassword(password, passwordPolicy, { email });
      const facts = { projectId: project.id, address: info.address, email };
      await limiter.attempt("confirm", facts);
      // Hashed first: a busy process must not have spent the code by then.
      const passwordHash = await hasher.hash(password);
      const isRight = await redeem(context, call, "password", data);
      const user = isRight ? await setPassword(context, project.id, { email, passwordHash }) : null;
      if (user?.account === undefined) throw invalidCode("set the password");
      call.note({ userId: user.userId });
      await sessions.revokeAll(project.id, user.userId);
      await limiter.clear({ ...facts, userId: user.userId }, "account");
      const { email: to } = user.account;
      background.run("mail_password_changed", info, () => mailer.send(poolMail("passwordChanged", to, call)));
      return identityEnvelope({});
    },
  });
}

/** Writes the new password; null if the address has no user. The right code proves control of the mailbox. */
async function setPassword(
  context: IdentityContext,
  projectId: string,
  { email, passwordHash }: { readonly email: string; readonly passwordHash: string },
): Promise<User | null> {
  const { users, clock } = context;
  const found = await users.findByKey(projectId, emailKey(email));
  if (found === null || !(await keepEmail(context, projectId, { user: found, email }))) return null;
  return await users.update(projectId, found.userId, ({ account, ...old }) => {
    if (account === undefined) return old;
    const isEmailVerified = account.isEmailVerified || isSameEmail(account.email, email);
    const updatedAt = unixSeconds(clock);
    const isContested = account.isContested && !isEmailVerified;
    return { ...old, account: { ...account, isEmailVerified, isContested, passwordHash, updatedAt } };
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
  const { limiter, hasher, passwordPolicy, sessions } = context;
  return operation({
    ...managedPool,
    entries: { data: v.pipe(ConfirmSchema, v.description("The account and the mailed code")) },
    responses: { 200: { description: "The address is verified", schema: EmptyAnswer } },
    async run({ data }, call) {
      const { email, password } = data;
      const { project, info } = call;
      await requireClientToken(context, call);
      assertOffered(project, "email");
      if (password !== undefined) await checkPassword(password, passwordPolicy, { email });
      const facts = { projectId: project.id, address: info.address, email };
      await limiter.attempt("confirmEmail", facts);
      const session = await sessionOf(context, call);
      // Hashed first: a busy process must not have spent the code by then.
      const passwordHash = password === undefined ? null : await hasher.hash(password);
      const isRight = await redeem(context, call, "email", data);
      const proof = { email, passwordHash, session };
      const given = isRight ? await giveAccount(context, project.id, proof) : null;
      if (given === null) throw invalidCode("verify the e-mail address");
      const { userId } = given.user;
      call.note({ userId });
      if (given.isReplaced) {
        const except = session?.userId === userId ? session.sid : undefined;
        await sessions.revokeAll(project.id, userId, { except });
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
  context: IdentityContext,
  projectId: string,
  { email, passwordHash, session }: Proof,
): Promise<{ readonly user: User; readonly isReplaced: boolean } | null> {
  const { users, clock, hasher } = context;
  const found = await users.findByKey(projectId, emailKey(email));
  if (found === null || !(await keepEmail(context, projectId, { user: found, email }))) return null;
  let isReplaced = false;
  const user = await users.update(projectId, found.userId, ({ account, ...old }) => {
    if (account === undefined || !isSameEmail(account.email, email)) return { ...old, account };
    const isOpen = account.isContested && session?.userId !== old.userId;
    isReplaced = passwordHash !== null || isOpen;
    const hash = passwordHash ?? (isOpen ? dummyHash(hasher) : account.passwordHash);
    const proved = { passwordHash: hash, isEmailVerified: true, isContested: false };
    return { ...old, account: { ...account, ...proved, updatedAt: unixSeconds(clock) } };
  });
  const { account } = user ?? {};
  const isProved = account?.isEmailVerified === true && isSameEmail(account.email, email);
  return user !== null && isProved ? { user, isReplaced } : null;
}

/** @throws {AppError} `not_available`: the project does not verify addresses, or lets nobody log in with a code. */
export function assertOffered(project: Project, purpose: CodePurpose): void {
  if (purpose === "email" && identitySetting(project, "emailVerification") === "off") {
    const detail = "Cannot verify the e-mail address as the project does not verify addresses";
    throw new AppError("not_available", detail);
  }
  if (purpose === "login" && identitySetting(project, "codeLogin") === "off")
    throw new AppError("not_available", "Cannot log in with a code as the project does not offer it");
}

export function invalidCode(aim: string): AppError {
  return new AppError("invalid_code", `Cannot ${aim} as the code is wrong, spent or too old`);
}
