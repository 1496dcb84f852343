/**
 * Accounts of the managed pool that come from another system with the hashes of their passwords. A hash is verified at the first
 * login, and replaced by one of ours then.
 */

import * as v from "valibot";
import { isUuid } from "../../../../auth/crypto/mod.ts";
import { hashExpectation } from "../../../../auth/passwords/mod.ts";
import { AppError, type FieldError, invalidField } from "../../../../base/errors/mod.ts";
import { issueDetail } from "../../../../http/requests/validate.ts";
import type { Space } from "../../../directory/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { emailKey } from "../../lookup_keys.ts";
import { defaultProjectOf } from "../../settings.ts";
import { newUser, unixSeconds } from "../../users.ts";
import { NewEmailSchema } from "../fields.ts";
import { claimEmail, isSameEmail } from "./pool_user.ts";

const hashCharactersMax = 512;

const AccountSchema = v.object({
  email: v.string("Is required with a passwordHash"),
  emailVerified: v.optional(v.boolean("Expected true or false"), false),
  passwordHash: v.pipe(
    v.string("Is required with an email"),
    v.maxLength(hashCharactersMax, `Expected a hash of at most ${hashCharactersMax} characters`),
  ),
});

/** The members of an account in a file, unchecked. */
export interface ImportedAccount {
  readonly email: unknown;
  readonly emailVerified: unknown;
  readonly passwordHash: unknown;
  /** The external id of the user, where the row names one. */
  readonly externalId: unknown;
}

export interface AccountImports {
  /** Returns what is wrong with an account of a user, or null. */
  faultOf(account: ImportedAccount, userId: string): FieldError | null;
  /**
   * Creates the account; an account that the user has already stays as it is, and the answer is false.
   *
   * @throws {AppError} `conflict`: somebody else has the address, or the user signs in otherwise.
   */
  create(space: Space, userId: string, account: ImportedAccount): Promise<boolean>;
}

type ImportContext = Pick<
  IdentityContext,
  "users" | "hasher" | "directory" | "clock" | "random" | "ownAccounts"
>;

export function createAccountImports(context: ImportContext): AccountImports {
  const { users, hasher, directory, clock, random, ownAccounts } = context;

  function parse(account: ImportedAccount) {
    const { email, emailVerified, passwordHash } = account;
    return v.safeParse(AccountSchema, {
      email: email ?? undefined,
      emailVerified: emailVerified ?? undefined,
      passwordHash: passwordHash ?? undefined,
    });
  }

  return {
    faultOf(account, userId) {
      const { output, issues: [issue] = [], success } = parse(account);
      if (issue !== undefined) {
        return { pointer: `/${String(issue.path?.[0]?.key ?? "")}`, detail: issueDetail(issue) };
      }
      if (!success) return null;
      const [emailIssue] = v.safeParse(NewEmailSchema, output.email).issues ?? [];
      if (emailIssue !== undefined) return { pointer: "/email", detail: issueDetail(emailIssue) };
      if (!hasher.accepts(output.passwordHash))
        return { pointer: "/passwordHash", detail: hashExpectation(output.passwordHash) };
      const detail = "Expected a UUID, or an externalId in its place, as the row has an account";
      return isUuid(userId) && userId === userId.toLowerCase() ? null : { pointer: "/userId", detail };
    },
    async create(space, userId, account) {
      const { email: given, emailVerified, passwordHash } = v.parse(AccountSchema, account);
      const email = v.parse(NewEmailSchema, given);
      const project = await defaultProjectOf(directory, space);
      if (project === null) {
        const detail = "Expected no account, as the space has no defaultProjectId";
        throw invalidField("Cannot import the account", "/email", detail);
      }
      const before = await users.findById(project.id, userId);
      if (before !== null) {
        if (before.account === undefined || !isSameEmail(before.account.email, email)) {
          throw taken("the user has another account");
        }
        // An import that stopped half-way may have left the address to be confirmed.
        await users.claim(project.id, emailKey(email), before);
        return false;
      }
      const ids = await users.newIds(random, userId);
      const holder = await claimEmail(context, project.id, { email, ids });
      if (holder.userId !== userId) throw taken("somebody else has the e-mail address");
      const now = unixSeconds(clock);
      const facts = {
        isEmailVerified: emailVerified,
        isContested: false,
        nickname: "",
        terms: ["", ""],
      } as const;
      const imported = { ...facts, email, passwordHash, updatedAt: now };
      const issuer = await ownAccounts.issuerOfSpace(space);
      const { externalId: subject } = account;
      // A back end goes on to name the user by it.
      const named = issuer !== undefined && typeof subject === "string" && { origin: { issuer, subject } };
      await users.create(
        project.id,
        newUser(ids, now, { provider: "managedPool", username: "", account: imported, ...named }),
      );
      await users.claim(project.id, emailKey(email), ids);
      return true;
    },
  };
}

function taken(reason: string): AppError {
  return new AppError("conflict", `Cannot import the account: ${reason}`);
}
