/**
 * Login with e-mail and password.
 *
 * Every attempt that is let through costs one KDF, whether the address is unknown, the password wrong, the user banned or
 * without a password, so that neither answer nor duration tells which addresses have an account.
 *
 * @module
 */

import * as v from "valibot";
import { uuid } from "../../../auth/crypto/mod.ts";
import { dummyHash } from "../../../auth/passwords/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import type { Reply } from "../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, type OperationCall, operation } from "../../operations.ts";
import { accountBanned, isBanned } from "../../sessions/ban.ts";
import type { OpenedSession, SessionDevice } from "../../sessions/sessions.ts";
import { loggedIn, type User, unixSeconds } from "../../users.ts";
import { mergeAnonymous } from "./anonymous_pair.ts";
import { emailWay, isSameEmail, settleEmail } from "./email_way.ts";
import { anonymousPair, EmailSchema, PasswordSchema } from "./fields.ts";
import { rehashLater } from "./rehash.ts";
import { sessionReply } from "./session_reply.ts";

/** How often a login starts again because the password hash changed under it. */
export const loginAttemptsMax = 3;

const LoginSchema = v.object({
  data: v.object({ email: EmailSchema, password: PasswordSchema, ...anonymousPair }),
});

interface Credentials {
  readonly email: string;
  readonly password: string;
}

interface LoginContext extends IdentityContext {
  /** A hash that no password fits. */
  readonly noPassword: string;
}

interface Verified {
  readonly user: User;
  readonly passwordHash: string;
  readonly needsRehash: boolean;
}

/** Logs a user in, on the device that the request names or a new one. */
export function logInPoolUser(context: IdentityContext): Operation {
  const { abuse, random, hasher } = context;
  const noPassword = dummyHash(hasher);
  return operation({
    schema: LoginSchema,
    async run({ data }, call): Promise<Reply> {
      const { project, info, request } = call;
      const facts = { projectId: project.id, address: info.address, email: data.email };
      await abuse.attempt("login", facts);
      const device: SessionDevice = {
        deviceId: data.deviceId ?? uuid(random),
        userAgent: request.headers.get("user-agent") ?? "",
        ...(info.address === undefined ? {} : { address: info.address }),
      };
      const opened = await openSession({ ...context, noPassword }, call, { credentials: data, device });
      const { user, session } = opened;
      call.note({ sessionId: session.sid, deviceId: session.deviceId });
      await abuse.clear({ ...facts, userId: user.userId });
      mergeAnonymous(context, call, { pair: data, into: user.userId });
      mendWay(context, call, { user, before: data.email });
      return sessionReply(context, project.id, opened);
    },
  });
}

/**
 * Opens the session and only then writes the login, on condition that the hash is still the one that was verified: a
 * password that changes meanwhile either sees the session and ends it, or is seen here.
 */
async function openSession(
  context: LoginContext,
  call: OperationCall,
  { credentials, device }: { readonly credentials: Credentials; readonly device: SessionDevice },
): Promise<OpenedSession & { readonly user: User }> {
  const { sessions, users, clock } = context;
  const { project } = call;
  for (let attempt = 1; attempt <= loginAttemptsMax; attempt++) {
    const { user, passwordHash, needsRehash } = await verifiedUser(context, call, credentials);
    const opened = await sessions.open(project, user, device);
    const written = await users.update(project.id, user.userId, old =>
      old.account?.passwordHash === passwordHash ? loggedIn(old, device.deviceId, unixSeconds(clock)) : old,
    );
    if (written?.account?.passwordHash === passwordHash) {
      if (needsRehash) rehashLater(context, call, { user, passwordHash, password: credentials.password });
      return { ...opened, user: written };
    }
    await sessions.revoke(project.id, user.userId, opened.session.sid);
  }
  throw new AppError("conflict", "Cannot log in as the account changed meanwhile: try again");
}

async function verifiedUser(
  { users, hasher, noPassword, clock }: LoginContext,
  call: OperationCall,
  { email, password }: Credentials,
): Promise<Verified> {
  const user = await users.byWay(call.project.id, emailWay(email));
  if (user !== null) call.note({ userId: user.userId });
  const passwordHash = user?.account?.passwordHash ?? noPassword;
  const { ok, needsRehash } = await hasher.verify(passwordHash, password);
  if (!ok || user === null) throw rejected();
  if (isBanned(user, clock())) throw accountBanned(user);
  return { user, passwordHash, needsRehash };
}

/** A change of address that a crash cut short is brought to its end by the next login. */
function mendWay(
  context: IdentityContext,
  { project, info }: OperationCall,
  change: { readonly user: User; readonly before: string },
): void {
  const email = change.user.account?.email;
  if (email === undefined || isSameEmail(email, change.before)) return;
  context.background.run("mend_email", info, () => settleEmail(context, project.id, change));
}

function rejected(): AppError {
  return new AppError("invalid_credentials", "Cannot log in as e-mail and password do not belong together");
}
