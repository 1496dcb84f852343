/**
 * Registration with e-mail and password.
 *
 * The answer is the same, to the byte, whether the address was free or taken, and costs one KDF in either case; who has the
 * address is told by mail.
 *
 * @module
 */

import * as v from "valibot";
import { capabilityId, uuid } from "../../../auth/crypto/mod.ts";
import { checkPassword } from "../../../auth/passwords/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import { identityEnvelope, type Reply } from "../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, type OperationCall, operation } from "../../operations.ts";
import { type Account, type User, type UserIds, unixSeconds } from "../../users.ts";
import { promote, provenAnonymous } from "./anonymous_pair.ts";
import { claimEmail, emailWay } from "./email_way.ts";
import { anonymousPair, EmailSchema, NewPasswordSchema, traits } from "./fields.ts";
import { alreadyRegisteredMail } from "./mails.ts";
import { poolSettings } from "./settings.ts";

const RegisterSchema = v.object({
  data: v.object({ email: EmailSchema, password: NewPasswordSchema, ...traits, ...anonymousPair }),
});

type RegisterInput = v.InferOutput<typeof RegisterSchema>["data"];

const message = "User is Correctly Created";

/** Registers a user, or turns an anonymous one whose ids are given into a registered one. */
export function registerPoolUser(context: IdentityContext): Operation {
  const { abuse, hasher, passwordPolicy } = context;
  return operation({
    schema: RegisterSchema,
    async run({ data }, call): Promise<Reply> {
      const { project, info } = call;
      await abuse.attempt("register", { projectId: project.id, address: info.address, email: data.email });
      if (poolSettings(project).registration === "closed") throw registrationDisabled();
      await checkPassword(data.password, passwordPolicy);
      const anonymous = await provenAnonymous(context, project, data);
      const account = newAccount(context, data, await hasher.hash(data.password));
      const promoted = anonymous === null ? null : await promote(context, project.id, { anonymous, account });
      const user = promoted ?? (await create(context, project.id, account));
      if (user.account?.passwordHash === account.passwordHash) call.note({ userId: user.userId });
      else tellHolder(context, call, data.email);
      return identityEnvelope({ data: {}, result: 1, message }, { status: 201, message });
    },
  });
}

/** The user who has the address now: the new one, or who had it before. */
async function create(context: IdentityContext, projectId: string, account: Account): Promise<User> {
  const { users, clock, random } = context;
  const offered: UserIds = { userId: uuid(random), externalId: capabilityId(random) };
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
  if (isNew) await users.claim(projectId, emailWay(account.email), ids);
  return user;
}

function newAccount({ clock }: IdentityContext, data: RegisterInput, passwordHash: string): Account {
  return {
    email: data.email,
    isEmailVerified: false,
    nickname: data.nickname ?? "",
    passwordHash,
    terms: [data["custom:terms_optin1"] ?? "", data["custom:terms_optin2"] ?? ""],
    updatedAt: unixSeconds(clock),
  };
}

/** Told once in a while only, so that nobody is flooded with mail by strangers who register the address. */
function tellHolder(
  { users, mailer, background, abuse }: IdentityContext,
  { project, info }: OperationCall,
  email: string,
): void {
  background.run("mail_already_registered", info, async () => {
    const facts = { projectId: project.id, address: info.address, email };
    if ((await abuse.attempt("registeredMail", facts)) === "silent") return;
    const holder = await users.byWay(project.id, emailWay(email));
    if (holder?.account === undefined) return;
    await mailer.send(alreadyRegisteredMail({ to: holder.account.email, from: project.name }));
  });
}

function registrationDisabled(): AppError {
  return new AppError("registration_disabled", "Cannot register as the project takes no new users");
}
