/** Login with a mailed code, without a password. Where nobody has the address, the code opens an account. */

import * as v from "valibot";
import { uuid } from "../../../../auth/crypto/mod.ts";
import { dummyHash } from "../../../../auth/passwords/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { emailKey } from "../../lookup_keys.ts";
import { type OperationCall, operation, SessionAnswer } from "../../operations.ts";
import { deviceOf } from "../../sessions/sessions.ts";
import { identitySetting } from "../../settings.ts";
import { accountBanned, isBanned, isWithdrawn, type User, unixSeconds, withLogin } from "../../users.ts";
import { NewEmailSchema } from "../fields.ts";
import { assertOffered, invalidCode, redeem } from "./mailed_codes.ts";
import {
  anonymousPairEntries,
  CodeSchema,
  isSameEmail,
  keepEmail,
  managedPool,
  profileEntries,
  requireClientToken,
  sessionReply,
} from "./pool_user.ts";
import {
  create,
  findAnonymous,
  mergeAnonymous,
  newAccount,
  promoteAnonymous,
  registrationDisabled,
} from "./register.ts";

const DataSchema = v.object({
  email: NewEmailSchema,
  confirmationCode: CodeSchema,
  ...profileEntries,
  ...anonymousPairEntries,
});

type CodeLogin = v.InferOutput<typeof DataSchema>;

/** Logs the user in who proves control of the address. Wrong, spent and expired codes are answered alike. */
export function logInByCode(context: IdentityContext) {
  const { limiter, random } = context;
  return operation({
    ...managedPool,
    entries: {
      data: v.pipe(
        DataSchema,
        v.description(
          "The address with its code, the profile of a new account, and the anonymous user of the device",
        ),
      ),
    },
    responses: { 200: { description: "The session record with tokens", schema: SessionAnswer } },
    async run({ data }, call) {
      const { project, info } = call;
      const { email, deviceId = uuid(random) } = data;
      await requireClientToken(context, call);
      assertOffered(project, "login");
      const facts = { projectId: project.id, address: info.address, email };
      await limiter.attempt("confirmLogin", facts);
      if (!(await redeem(context, call, "login", data))) throw invalidCode("log in");
      const user = await proveAccount(context, call, data);
      call.note({ userId: user.userId });
      const opened = await openSession(context, call, { user, email, deviceId });
      call.note({ sessionId: opened.session.sid, deviceId });
      await limiter.clear({ ...facts, userId: user.userId, deviceId }, "account");
      await mergeAnonymous(context, call, { pair: data, into: user.userId });
      return await sessionReply(context, project.id, opened);
    },
  });
}

/**
 * Gives the account of the address to the one who proved it, and creates one where there is none. A password and sessions from
 * before the first proof end: the one who registered the address need not be its owner.
 *
 * @throws {AppError} `registration_disabled`; `invalid_code`: the account has another address by now; `account_banned`.
 */
async function proveAccount(context: IdentityContext, call: OperationCall, data: CodeLogin): Promise<User> {
  const { users, sessions, hasher, clock } = context;
  const { project } = call;
  const found =
    (await users.findByKey(project.id, emailKey(data.email))) ?? (await signUp(context, call, data));
  if (isBanned(found, clock())) throw accountBanned(found);
  if (!(await keepEmail(context, project.id, { user: found, email: data.email })))
    throw invalidCode("log in");
  let isFirstProof = false;
  const user = await users.update(project.id, found.userId, ({ account, ...old }) => {
    isFirstProof = account?.isEmailVerified === false && isSameEmail(account.email, data.email);
    if (account === undefined || !isFirstProof) return { ...old, account };
    const proved = { passwordHash: dummyHash(hasher), isEmailVerified: true, isContested: false };
    return { ...old, account: { ...account, ...proved, updatedAt: unixSeconds(clock) } };
  });
  if (user === null || !hasAddress(user, data.email)) throw invalidCode("log in");
  if (isFirstProof) await sessions.revokeAll(project.id, user.userId);
  return user;
}

async function signUp(context: IdentityContext, { project }: OperationCall, data: CodeLogin): Promise<User> {
  if (identitySetting(project, "registration") === "closed") throw registrationDisabled();
  const account = newAccount(context, data, dummyHash(context.hasher));
  const anonymous = await findAnonymous(context, project, data);
  const promoted =
    anonymous === null ? null : await promoteAnonymous(context, project.id, { anonymous, account });
  return promoted ?? (await create(context, project.id, account));
}

function hasAddress(user: User, email: string): boolean {
  return user.account !== undefined && isSameEmail(user.account.email, email) && !isWithdrawn(user);
}

/** Opens the session before the login is written, so that a racing removal or change of the address is seen by one of both. */
async function openSession(
  { sessions, users, clock }: IdentityContext,
  call: OperationCall,
  login: { readonly user: User; readonly email: string; readonly deviceId: string },
) {
  const { project } = call;
  const { user, email, deviceId } = login;
  const opened = await sessions.open(project, user, deviceOf(deviceId, call));
  const written = await users.update(project.id, user.userId, old =>
    hasAddress(old, email) ? withLogin(old, deviceId, unixSeconds(clock)) : old,
  );
  if (written !== null && hasAddress(written, email)) return { ...opened, user: written };
  await sessions.revoke(project.id, user.userId, opened.session.sid);
  throw invalidCode("log in");
}
