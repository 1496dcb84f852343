/** Changes of a user's own e-mail address, password and profile. */

import * as v from "valibot";
import { checkPassword } from "../../../../auth/passwords/mod.ts";
import { invalidToken } from "../../../../auth/tokens/mod.ts";
import { AppError } from "../../../../base/errors/mod.ts";
import {
  identityEnvelope,
  type JsonText,
  type JsonTextReply,
  jsonText,
  named,
} from "../../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import {
  answerOf,
  DeviceIdSchema,
  DeviceItemSchema,
  loginHistory,
  type OperationCall,
  objectOnly,
  operation,
  requireSessionDevice,
  SessionAnswer,
  updatedAt,
} from "../../operations.ts";
import { deviceOf } from "../../sessions/sessions.ts";
import { type Account, type User, unixSeconds } from "../../users.ts";
import { requireRecentLogin } from "../delete_user.ts";
import { NewEmailSchema } from "../fields.ts";
import {
  authenticatePoolUser,
  claimEmail,
  isSameEmail,
  managedPool,
  NewPasswordSchema,
  PasswordSchema,
  type PoolUser,
  poolMail,
  profileEntries,
  sessionReply,
  switchEmailKey,
} from "./pool_user.ts";

const DataSchema = objectOnly("PoolChanges", { email: v.exactOptional(NewEmailSchema), ...profileEntries });

type Changes = v.InferOutput<typeof DataSchema>;

const UpdateAnswer = named(
  "PoolUpdate",
  answerOf(
    v.strictObject({
      email: v.string(),
      username: v.string(),
      externalId: v.string(),
      projectId: v.string(),
    }),
  ),
);

/** Changes the given members. A new address takes effect at once, unverified, and the old one gets a mail. */
export function updatePoolUser(context: IdentityContext) {
  return operation({
    ...managedPool,
    entries: { data: v.pipe(DataSchema, v.description("What to change; absent members stay")) },
    responses: { 200: { description: "The user as changed", schema: UpdateAnswer } },
    async run({ data }, call) {
      const { project } = call;
      const caller = await authenticatePoolUser(context, call);
      const isMoving = data.email !== undefined && data.email !== caller.account.email;
      if (isMoving) await claimNewEmail(context, call, { caller, email: data.email ?? "" });
      const { user, before } = await write(context, project.id, { caller, data });
      if (data.email !== undefined) await switchEmailKey(context, project.id, { user, before });
      if (isMoving) await releaseOldEmail(context, call, before);
      const { username } = user;
      const { email = "" } = user.account ?? {};
      const externalId = await context.users.externalIdOf(user);
      return identityEnvelope({ email, username, externalId, projectId: project.id });
    },
  });
}

/**
 * Claims the new address for a user with a recent login.
 *
 * @throws {AppError} `reauth_required`, `email_unavailable`, and the errors of limits.
 */
async function claimNewEmail(
  context: IdentityContext,
  { project, info }: OperationCall,
  { caller: { user, session }, email }: { readonly caller: PoolUser; readonly email: string },
): Promise<void> {
  const { limiter: abuse } = context;
  requireRecentLogin(context, session, "change the e-mail address");
  await abuse.attempt("emailChange", { projectId: project.id, address: info.address, userId: user.userId });
  const holder = await claimEmail(context, project.id, { email, ids: user });
  if (holder.userId !== user.userId) {
    throw new AppError("email_unavailable", "Cannot change the e-mail address to one that is in use");
  }
}

/** Writes the changes, and returns the address that the account had right before. */
async function write(
  { users, clock }: IdentityContext,
  projectId: string,
  { caller, data }: { readonly caller: PoolUser; readonly data: Changes },
): Promise<{ readonly user: User; readonly before: string }> {
  let before = "";
  const user = await users.update(projectId, caller.user.userId, old => {
    if (old.account === undefined) return old;
    before = old.account.email;
    // A change of the password ends the session of this request, if it has not yet.
    if (data.email !== undefined && old.account.passwordHash !== caller.account.passwordHash) {
      throw new AppError(
        "conflict",
        "Cannot change the account as its password changed meanwhile: try again",
      );
    }
    const username = data.nickname ?? old.username;
    return { ...old, username, account: changed(old.account, data, unixSeconds(clock)) };
  });
  if (user?.account === undefined) throw invalidToken("user");
  return { user, before };
}

function changed(account: Account, data: Changes, updatedAt: number): Account {
  const { email = account.email, nickname = account.nickname } = data;
  const [first, second] = account.terms;
  const isSame = isSameEmail(email, account.email);
  return {
    ...account,
    email,
    nickname,
    isEmailVerified: account.isEmailVerified && email === account.email,
    isContested: account.isContested && isSame,
    terms: [data["custom:terms_optin1"] ?? first, data["custom:terms_optin2"] ?? second],
    updatedAt,
  };
}

/** Revokes the codes of the old address, and mails its owner. */
async function releaseOldEmail(
  { codes, background, mailer }: IdentityContext,
  call: OperationCall,
  before: string,
): Promise<void> {
  const { project, info } = call;
  await codes.revoke(project.id, before);
  background.run("mail_email_changed", info, () => mailer.send(poolMail("emailChanged", before, call)));
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
        mailer.send(poolMail("passwordChanged", email, call)),
      );
      return await sessionReply(context, project.id, { ...opened, user });
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

const optins = { "custom:terms_optin1": v.string(), "custom:terms_optin2": v.string() };

const ProfileAnswer = named(
  "PoolProfile",
  answerOf(
    v.strictObject({
      data: v.strictObject({
        username: v.string(),
        email: v.string(),
        ...optins,
        nickname: v.string(),
        userId: v.string(),
        loginHistory,
      }),
      ...optins,
      updatedAt,
      nickname: v.string(),
      email: v.string(),
      emailVerified: v.pipe(v.boolean(), v.description("True if the user proved control of the address")),
      devices: v.array(DeviceItemSchema),
    }),
  ),
);

type ProfileAnswer = v.InferOutput<typeof ProfileAnswer>;

const lookup = {
  ...managedPool,
  responses: { 200: { description: "The profile", schema: ProfileAnswer } },
  isLookup: true,
} as const;

export function fetchPoolUser(context: IdentityContext) {
  return operation({
    ...lookup,
    entries: {},
    run: async (_, call) => profileReply(context, call, await authenticatePoolUser(context, call, true)),
  });
}

/** Checks the bearer, on any device or, by a setting of the project, on that of the session only. */
export function checkPoolUser(context: IdentityContext) {
  return operation({
    ...lookup,
    entries: { deviceId: DeviceIdSchema },
    async run({ deviceId }, call) {
      const caller = await authenticatePoolUser(context, call, true);
      requireSessionDevice(call.project, caller.session, deviceId);
      return await profileReply(context, call, caller);
    },
  });
}

const texts = new WeakMap<User, JsonText<ProfileAnswer>>();

/** Answers the text of the profile, written once per state: sessions return the same object for an unchanged user. */
async function profileReply(
  context: IdentityContext,
  { project }: OperationCall,
  caller: PoolUser,
): Promise<JsonTextReply<200, ProfileAnswer>> {
  const text = texts.get(caller.user) ?? (await profileText(context, project.id, caller));
  texts.set(caller.user, text);
  return jsonText(text);
}

async function profileText(
  { records }: IdentityContext,
  projectId: string,
  { user, account }: PoolUser,
): Promise<JsonText<ProfileAnswer>> {
  const { username, userId, loginHistory: logins } = user;
  const { email, nickname, terms } = account;
  const consent = { "custom:terms_optin1": terms[0], "custom:terms_optin2": terms[1] };
  const data = {
    data: { username, email, ...consent, nickname, userId, loginHistory: [...logins] },
    ...consent,
    updatedAt: String(account.updatedAt),
    nickname,
    email,
    emailVerified: account.isEmailVerified,
    devices: await records.devicesOf(projectId, user),
  };
  const answer: ProfileAnswer = { result: 1, message: "OK", data };
  return JSON.stringify(answer) as JsonText<ProfileAnswer>;
}
