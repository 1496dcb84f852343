/**
 * Login with e-mail and password.
 *
 * Every attempt within the limits costs one key derivation: for an unknown address, a wrong password, a banned user and a
 * user without a password. So neither answer nor duration reveals accounts.
 *
 * @module
 */

import * as v from "valibot";
import { uuid } from "../../../../auth/crypto/mod.ts";
import { dummyHash } from "../../../../auth/passwords/mod.ts";
import { AppError } from "../../../../base/errors/mod.ts";
import { SessionAnswer } from "../../answers.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, type OperationCall, operation } from "../../operations.ts";
import type { SessionDevice } from "../../sessions/session.ts";
import { deviceOf, type OpenedSession } from "../../sessions/sessions.ts";
import { identitySetting } from "../../settings.ts";
import { accountBanned, isBanned, isWithdrawn, type User, unixSeconds, withLogin } from "../../users.ts";
import { EmailSchema } from "../fields.ts";
import { mergeAnonymous } from "./anonymous_pair.ts";
import { emailKey, isSameEmail, switchEmailKey } from "./email_keys.ts";
import { anonymousPairEntries, managedPool, PasswordSchema } from "./fields.ts";
import { sessionReply } from "./pool_user.ts";

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

/** Logs a user in, on the device of the request or a new one. */
export function logInPoolUser(context: IdentityContext): Operation {
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
      await limiter.attempt(hasDevice(found, deviceId) ? "knownDeviceLogin" : "login", facts);
      const device = deviceOf(deviceId, call);
      const opened = await openSession(context, call, { email, password, device, dummy, found });
      const { user, session } = opened;
      call.note({ sessionId: session.sid, deviceId: session.deviceId });
      await limiter.clear({ ...facts, userId: user.userId });
      await mergeAnonymous(context, call, { pair: data, into: user.userId });
      repairEmailKey(context, call, { user, before: email });
      return sessionReply(context, project.id, opened);
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
  for (let attempt = 1; attempt <= attemptsMax; attempt++) {
    const found = attempt === 1 ? login.found : await users.findByKey(project.id, emailKey(login.email));
    const verified = await verifyPassword(context, call, { ...login, found });
    const { user, passwordHash, needsRehash } = verified;
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
  }
  throw new AppError("conflict", "Cannot log in as the account changed meanwhile: try again");
}

/** Tests if the user logged in on the device before. */
function hasDevice(user: User | null, deviceId: string): boolean {
  return user?.devices.some(device => device.deviceId === deviceId) ?? false;
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
  if (!ok || user === null || isWithdrawn(user)) throw rejected();
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

function rejected(): AppError {
  return new AppError("invalid_credentials", "Cannot log in as e-mail and password do not belong together");
}
