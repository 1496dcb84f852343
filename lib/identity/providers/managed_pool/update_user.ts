/**
 * Changing one's own e-mail address and nickname.
 *
 * @module
 */

import * as v from "valibot";
import { invalidToken } from "../../../auth/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import { identityEnvelope, type Reply } from "../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, type OperationCall, operation } from "../../operations.ts";
import { type Account, type User, unixSeconds } from "../../users.ts";
import { claimEmail, settleEmail } from "./email_way.ts";
import { EmailSchema, traits } from "./fields.ts";
import { emailChangedMail } from "./mails.ts";
import { type PoolUser, poolUser } from "./pool_user.ts";

/** Age of the last login from which the e-mail address can no longer be changed with its session, in ms. */
export const reauthenticationMsMax = 900_000;

const UpdateSchema = v.object({
  data: v.pipe(
    v.unknown(),
    // An array is an object without any of these members.
    v.check(value => !Array.isArray(value), "Expected an object"),
    v.object({ email: v.exactOptional(EmailSchema), ...traits }),
  ),
});

type Changes = v.InferOutput<typeof UpdateSchema>["data"];

/** Changes what the request names. A new address takes effect at once, and the old one is told. */
export function updatePoolUser(context: IdentityContext): Operation {
  return operation({
    schema: UpdateSchema,
    async run({ data }, call): Promise<Reply> {
      const { project } = call;
      const caller = await poolUser(context, call);
      const isMoving = data.email !== undefined && data.email !== caller.account.email;
      if (isMoving) await takeAddress(context, call, { caller, email: data.email ?? "" });
      const { user, before } = await write(context, project.id, { userId: caller.user.userId, data });
      if (data.email !== undefined) await settleEmail(context, project.id, { user, before });
      if (isMoving) await leaveAddress(context, call, before);
      const { username, externalId } = user;
      const { email = "" } = user.account ?? {};
      return identityEnvelope({ email, username, externalId, projectId: project.id });
    },
  });
}

/**
 * Claims the new address for a user who has just proved to be the one.
 *
 * @throws {AppError} `reauth_required`, `email_unavailable`, and what counts attempts.
 */
async function takeAddress(
  context: IdentityContext,
  { project, info }: OperationCall,
  { caller: { user, session }, email }: { readonly caller: PoolUser; readonly email: string },
): Promise<void> {
  const { abuse, clock } = context;
  if (clock() - session.authenticatedAt >= reauthenticationMsMax) {
    throw new AppError("reauth_required", "Cannot change the e-mail address as the last login is too old");
  }
  await abuse.attempt("emailChange", { projectId: project.id, address: info.address, userId: user.userId });
  const holder = await claimEmail(context, project.id, { email, ids: user });
  if (holder.userId !== user.userId) {
    throw new AppError("email_unavailable", "Cannot change the e-mail address to one that is in use");
  }
}

/** Writes the changes, and tells the address that the account had right before. */
async function write(
  { users, clock }: IdentityContext,
  projectId: string,
  { userId, data }: { readonly userId: string; readonly data: Changes },
): Promise<{ readonly user: User; readonly before: string }> {
  let before = "";
  const user = await users.update(projectId, userId, old => {
    if (old.account === undefined) return old;
    before = old.account.email;
    const username = data.nickname ?? old.username;
    return { ...old, username, account: changed(old.account, data, unixSeconds(clock)) };
  });
  if (user?.account === undefined) throw invalidToken("user");
  return { user, before };
}

function changed(account: Account, data: Changes, updatedAt: number): Account {
  const { email = account.email, nickname = account.nickname } = data;
  const [first, second] = account.terms;
  return {
    ...account,
    email,
    nickname,
    isEmailVerified: account.isEmailVerified && email === account.email,
    terms: [data["custom:terms_optin1"] ?? first, data["custom:terms_optin2"] ?? second],
    updatedAt,
  };
}

/** No code that was mailed to the old address sets a password any more, and its owner is told. */
async function leaveAddress(
  { codes, background, mailer }: IdentityContext,
  { project, info }: OperationCall,
  before: string,
): Promise<void> {
  await codes.revoke(project.id, "password", before);
  background.run("mail_email_changed", info, () =>
    mailer.send(emailChangedMail({ to: before, from: project.name })),
  );
}
