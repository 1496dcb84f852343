/**
 * Registration with e-mail and password.
 *
 * The answer is the same, to the byte, for a free and a taken address, and both cost one key derivation. The holder of a
 * taken address gets a mail.
 */

import * as v from "valibot";
import { uuid } from "../../../../auth/crypto/mod.ts";
import { checkPassword, dummyHash } from "../../../../auth/passwords/mod.ts";
import { AppError } from "../../../../base/errors/mod.ts";
import { identityEnvelope, named } from "../../../../http/mod.ts";
import { retry } from "../../../../storage/background/mod.ts";
import type { Project } from "../../../directory/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { emailKey } from "../../lookup_keys.ts";
import { answerOf, type OperationCall, operation, SessionAnswer } from "../../operations.ts";
import type { SessionDevice } from "../../sessions/session.ts";
import { deviceOf, type OpenedSession } from "../../sessions/sessions.ts";
import { identitySetting } from "../../settings.ts";
import {
  type Account,
  accountBanned,
  hasDevice,
  isAnonymous,
  isBanned,
  isWithdrawn,
  newUser,
  type User,
  unixSeconds,
  withLogin,
} from "../../users.ts";
import { assertSignaturePresent, EmailSchema, isSignedFor, NewEmailSchema } from "../fields.ts";
import {
  anonymousPairEntries,
  claimEmail,
  isSameEmail,
  keepEmail,
  managedPool,
  NewPasswordSchema,
  PasswordSchema,
  poolMail,
  profileEntries,
  sessionReply,
  switchEmailKey,
} from "./pool_user.ts";

const DataSchema = v.object({
  email: NewEmailSchema,
  password: NewPasswordSchema,
  ...profileEntries,
  ...anonymousPairEntries,
});

type RegisterData = v.InferOutput<typeof DataSchema>;

const RegisterAnswer = named(
  "PoolRegistration",
  answerOf(v.strictObject({ data: v.strictObject({}), result: v.literal(1), message: v.string() })),
);

const message = "User is Correctly Created";

/** Registers a user, or turns an anonymous one into a registered one if the request has its ids. */
export function registerPoolUser(context: IdentityContext) {
  const { limiter, hasher, passwordPolicy } = context;
  return operation({
    ...managedPool,
    entries: {
      data: v.pipe(
        DataSchema,
        v.description("The new account, and the anonymous user of the device, if there is one"),
      ),
    },
    responses: { 201: { description: "The user is registered", schema: RegisterAnswer } },
    async run({ data }, call) {
      const { project, info } = call;
      await limiter.attempt("register", { projectId: project.id, address: info.address, email: data.email });
      if (identitySetting(project, "registration") === "closed") throw registrationDisabled();
      await checkPassword(data.password, passwordPolicy, { email: data.email });
      const anonymous = await findProvenAnonymous(context, project, data);
      const account = newAccount(context, data, await hasher.hash(data.password));
      const promoted =
        anonymous === null ? null : await promoteAnonymous(context, project.id, { anonymous, account });
      const user = promoted ?? (await create(context, project.id, account));
      if (user.account?.passwordHash === account.passwordHash) call.note({ userId: user.userId });
      else {
        await contest(context, project.id, user);
        mailHolder(context, call, data.email);
      }
      return identityEnvelope({ data: {}, result: 1, message }, { status: 201, message });
    },
  });
}

export async function create(context: IdentityContext, projectId: string, account: Account): Promise<User> {
  const { users, clock, random } = context;
  const ids = await claimEmail(context, projectId, { email: account.email, ids: await users.newIds(random) });
  const facts = { provider: "managedPool", username: account.nickname, account } as const;
  const user = await users.create(projectId, newUser(ids, unixSeconds(clock), facts));
  const isNew = user.account?.passwordHash === account.passwordHash;
  if (isNew) await users.claim(projectId, emailKey(account.email), ids);
  return user;
}

/** Notes that two have registered an address that nobody has proved: which of them it belongs to is open. */
async function contest({ users }: IdentityContext, projectId: string, holder: User): Promise<void> {
  if (holder.account?.isEmailVerified !== false || holder.account.isContested) return;
  await users.update(projectId, holder.userId, ({ account, ...user }) =>
    account === undefined || account.isEmailVerified
      ? { ...user, account }
      : { ...user, account: { ...account, isContested: true } },
  );
}

/** Builds the account of an address that nobody has proved yet. */
export function newAccount(
  { clock }: Pick<IdentityContext, "clock">,
  data: Omit<RegisterData, "password">,
  passwordHash: string,
): Account {
  return {
    email: data.email,
    isEmailVerified: false,
    isContested: false,
    nickname: data.nickname ?? "",
    passwordHash,
    terms: [data["custom:terms_optin1"] ?? "", data["custom:terms_optin2"] ?? ""],
    updatedAt: unixSeconds(clock),
  };
}

/** Mails the holder of the address, at a bounded rate, as strangers may register it again and again. */
function mailHolder(
  { users, mailer, background, limiter }: IdentityContext,
  call: OperationCall,
  email: string,
): void {
  const { project, info } = call;
  background.run("mail_already_registered", info, async () => {
    const facts = { projectId: project.id, address: info.address, email };
    if ((await limiter.attempt("registeredMail", facts)) === "silent") return;
    const holder = await users.findByKey(project.id, emailKey(email));
    if (holder?.account === undefined) return;
    await mailer.send(poolMail("alreadyRegistered", holder.account.email, call));
  });
}

export function registrationDisabled(): AppError {
  return new AppError("registration_disabled", "Cannot register as the project takes no new users");
}

/** The proof of an anonymous user: both ids, and the signature of a session record if the project demands it. */
export type AnonymousPair = v.InferOutput<v.ObjectSchema<typeof anonymousPairEntries, undefined>>;

/**
 * Finds the anonymous user of a pair; null if the request has none or the user is registered by now.
 *
 * @throws {AppError} `invalid_credentials`: the pair does not belong together, or its signature is not ours;
 * `validation_failed`: the project demands a signature, which is missing.
 */
async function findProvenAnonymous(
  context: IdentityContext,
  project: Project,
  pair: AnonymousPair,
): Promise<User | null> {
  if (!isComplete(pair)) return null;
  assertSignaturePresent(project, pair, "/data/");
  const user = await userOf(context, project, pair);
  if (user === null) throw rejected();
  return isAnonymous(user) ? user : null;
}

/**
 * Makes the anonymous user a registered one with the same id. Returns the holder of the address, or null if another
 * registration of the same anonymous user was faster.
 */
export async function promoteAnonymous(
  context: IdentityContext,
  projectId: string,
  { anonymous, account }: { readonly anonymous: User; readonly account: Account },
): Promise<User | null> {
  const { users } = context;
  const { userId } = anonymous;
  const holder = await claimEmail(context, projectId, { email: account.email, ids: anonymous });
  if (holder.userId !== userId) return await users.findById(projectId, holder.userId);
  const user = await users.update(projectId, userId, old =>
    isAnonymous(old) ? { ...old, provider: "managedPool", username: account.nickname, account } : old,
  );
  const email = user?.account?.email;
  if (email !== undefined && isSameEmail(email, account.email)) {
    await users.claim(projectId, emailKey(account.email), anonymous);
    return user;
  }
  await users.release(projectId, emailKey(account.email), userId);
  return null;
}

/**
 * Merges an anonymous user into the account that it logged in to: once, however often it logs in. What the user has is there
 * when the promise resolves; the boards follow.
 */
export async function mergeAnonymous(
  context: IdentityContext,
  { project, info }: OperationCall,
  { pair, into }: { readonly pair: AnonymousPair; readonly into: string },
): Promise<void> {
  const { merges, background, onMerge, onRemove } = context;
  const from = await findAnonymous(context, project, pair);
  if (from === null) return;
  const merge = { projectId: project.id, from: from.userId, into };
  if (!(await merges.begin(merge))) return;
  background.run("merge", info, async () => {
    await onRemove(project.id, from.userId);
    await onMerge(merge);
  });
}

/** Finds the anonymous user of a pair; null for every pair that proves none. */
export async function findAnonymous(
  context: IdentityContext,
  project: Project,
  pair: AnonymousPair,
): Promise<User | null> {
  const user = isComplete(pair) ? await userOf(context, project, pair) : null;
  return user !== null && isAnonymous(user) ? user : null;
}

type CompletePair = AnonymousPair & { readonly externalId: string; readonly deviceId: string };

function isComplete(pair: AnonymousPair): pair is CompletePair {
  return pair.externalId !== undefined && pair.deviceId !== undefined;
}

/** Finds the user of a pair, if both ids belong together. */
async function userOf(
  { users, records }: IdentityContext,
  project: Project,
  pair: CompletePair,
): Promise<User | null> {
  const { externalId, deviceId } = pair;
  const user = await users.findByKey(project.id, { kind: "external", externalId });
  if (user === null || !hasDevice(user, deviceId)) return null;
  return (await isSignedFor(user, pair, { records, project, deviceId })) ? user : null;
}

function rejected(): AppError {
  return new AppError(
    "invalid_credentials",
    "Cannot take over the anonymous user as externalId and deviceId do not belong together",
  );
}

/** Logins that start again because the password hash changed meanwhile. */
const attemptsMax = 3;

interface Login {
  readonly email: string;
  readonly password: string;
  readonly device: SessionDevice;
  /** A hash that no password fits. */
  readonly dummy: string;
  /** The user of the address, who is read again after a change. */
  readonly found: User | null;
}

interface VerifiedUser {
  readonly user: User;
  readonly passwordHash: string;
  readonly needsRehash: boolean;
}

export function logInPoolUser(context: IdentityContext) {
  const { limiter, random, hasher, users } = context;
  const dummy = dummyHash(hasher);
  return operation({
    ...managedPool,
    entries: {
      data: v.pipe(
        v.object({ email: EmailSchema, password: PasswordSchema, ...anonymousPairEntries }),
        v.description("The credentials, and the anonymous user of the device, if there is one"),
      ),
    },
    responses: { 200: { description: "The session record with tokens", schema: SessionAnswer } },
    async run({ data }, call) {
      const { project, info } = call;
      const { email, password } = data;
      const { deviceId = uuid(random) } = data;
      const found = await users.findByKey(project.id, emailKey(email));
      const facts = { projectId: project.id, address: info.address, email, deviceId };
      const isKnown = found !== null && hasDevice(found, deviceId);
      await limiter.attempt(isKnown ? "knownDeviceLogin" : "login", facts);
      const device = deviceOf(deviceId, call);
      const opened = await openSession(context, call, { email, password, device, dummy, found });
      const { user, session } = opened;
      call.note({ sessionId: session.sid, deviceId: session.deviceId });
      await limiter.clear({ ...facts, userId: user.userId });
      await mergeAnonymous(context, call, { pair: data, into: user.userId });
      repairEmailKey(context, call, { user, before: email });
      return await sessionReply(context, project.id, opened);
    },
  });
}

/**
 * Opens the session and only then writes the login, if the hash is still the verified one: a racing change of the
 * password either sees the session and ends it, or is seen here.
 */
async function openSession(
  context: IdentityContext,
  call: OperationCall,
  login: Login,
): Promise<OpenedSession & { readonly user: User }> {
  const { sessions, users, clock } = context;
  const { project } = call;
  const exhausted = () =>
    new AppError("conflict", "Cannot log in as the account changed meanwhile: try again");
  return await retry(
    async attempt => {
      const found = attempt === 1 ? login.found : await users.findByKey(project.id, emailKey(login.email));
      const verified = await verifyPassword(context, call, { ...login, found });
      const { user, passwordHash, needsRehash } = verified;
      if (!(await keepEmail(context, project.id, { user, email: login.email }))) throw loginRejected();
      const opened = await sessions.open(project, user, login.device);
      const written = await users.update(project.id, user.userId, old =>
        old.account?.passwordHash === passwordHash
          ? withLogin(old, login.device.deviceId, unixSeconds(clock))
          : old,
      );
      if (written?.account?.passwordHash === passwordHash && !isWithdrawn(written)) {
        if (needsRehash) rehashInBackground(context, call, verified, login.password);
        return { ...opened, user: written };
      }
      await sessions.revoke(project.id, user.userId, opened.session.sid);
      return undefined;
    },
    { attemptsMax, exhausted },
  );
}

async function verifyPassword(
  { hasher, clock }: IdentityContext,
  call: OperationCall,
  { password, dummy, found: user }: Login,
): Promise<VerifiedUser> {
  if (user !== null) call.note({ userId: user.userId });
  const { account } = user ?? {};
  const passwordHash = account?.passwordHash ?? dummy;
  const { ok, needsRehash } = await hasher.verify(passwordHash, password);
  if (!ok || user === null || isWithdrawn(user)) throw loginRejected();
  if (isBanned(user, clock())) throw accountBanned(user);
  const isDemanded = identitySetting(call.project, "emailVerification") === "required";
  if (isDemanded && account?.isEmailVerified !== true) throw notVerified();
  return { user, passwordHash, needsRehash };
}

/** Replaces a hash of an older algorithm or cost, unless the password changed meanwhile. */
function rehashInBackground(
  { users, hasher, background }: IdentityContext,
  { project, info }: OperationCall,
  { user, passwordHash }: VerifiedUser,
  password: string,
): void {
  background.run("rehash", info, async () => {
    const renewed = await hasher.hash(password);
    await users.update(project.id, user.userId, old =>
      old.account?.passwordHash === passwordHash
        ? { ...old, account: { ...old.account, passwordHash: renewed } }
        : old,
    );
  });
}

/** Completes a change of address that a crash interrupted. */
function repairEmailKey(
  context: IdentityContext,
  { project, info }: OperationCall,
  change: { readonly user: User; readonly before: string },
): void {
  const email = change.user.account?.email;
  if (email === undefined || isSameEmail(email, change.before)) return;
  context.background.run("mend_email", info, () => switchEmailKey(context, project.id, change));
}

function notVerified(): AppError {
  return new AppError(
    "email_not_verified",
    "Cannot log in as the e-mail address is not verified: ask for a code with PUT /v1/user/verify-email",
  );
}

function loginRejected(): AppError {
  return new AppError("invalid_credentials", "Cannot log in as e-mail and password do not belong together");
}
