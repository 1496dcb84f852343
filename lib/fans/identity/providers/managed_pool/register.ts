/**
 * Registration with e-mail and password.
 *
 * The answer is the same, to the byte, for a free and a taken address, and both cost one key derivation. The holder of a
 * taken address gets a mail.
 *
 * @module
 */

import * as v from "valibot";
import { capabilityId, uuid } from "../../../../auth/crypto/mod.ts";
import { checkPassword } from "../../../../auth/passwords/mod.ts";
import { AppError } from "../../../../base/errors/mod.ts";
import { identityEnvelope, named } from "../../../../http/mod.ts";
import { answerOf } from "../../answers.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, type OperationCall, operation } from "../../operations.ts";
import { identitySetting } from "../../settings.ts";
import { type Account, type User, unixSeconds } from "../../users.ts";
import { NewEmailSchema } from "../fields.ts";
import { findProvenAnonymous, promoteAnonymous } from "./anonymous_pair.ts";
import { claimEmail, emailKey } from "./email_keys.ts";
import { anonymousPairEntries, managedPool, NewPasswordSchema, profileEntries } from "./fields.ts";
import { alreadyRegisteredMail } from "./mails.ts";

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
export function registerPoolUser(context: IdentityContext): Operation {
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

/** Creates the user of the address, or returns the one that has it. */
async function create(context: IdentityContext, projectId: string, account: Account): Promise<User> {
  const { users, clock, random } = context;
  const offered = users.sealIds(uuid(random), capabilityId(random));
  const ids = await claimEmail(context, projectId, { email: account.email, ids: offered });
  const user = await users.create(projectId, {
    ...ids,
    provider: "managedPool",
    username: account.nickname,
    signUp: unixSeconds(clock),
    loginHistory: [],
    devices: [],
    appProfile: {},
    account,
  });
  const isNew = user.account?.passwordHash === account.passwordHash;
  if (isNew) await users.claim(projectId, emailKey(account.email), ids);
  return user;
}

/** Notes that two have registered an address that nobody has proved: which of them it belongs to is open. */
async function contest({ users }: IdentityContext, projectId: string, holder: User): Promise<void> {
  if (holder.account?.isEmailVerified !== false || holder.account.isContested === true) return;
  await users.update(projectId, holder.userId, ({ account, ...user }) =>
    account === undefined || account.isEmailVerified
      ? { ...user, account }
      : { ...user, account: { ...account, isContested: true } },
  );
}

function newAccount({ clock }: IdentityContext, data: RegisterData, passwordHash: string): Account {
  return {
    email: data.email,
    isEmailVerified: false,
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
    await mailer.send(alreadyRegisteredMail({ to: holder.account.email, call }));
  });
}

function registrationDisabled(): AppError {
  return new AppError("registration_disabled", "Cannot register as the project takes no new users");
}
