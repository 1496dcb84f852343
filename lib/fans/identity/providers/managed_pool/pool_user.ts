import * as v from "valibot";
import { passwordUnitsMax } from "../../../../auth/passwords/mod.ts";
import { invalidToken } from "../../../../auth/tokens/mod.ts";
import type { Mail } from "../../../../base/outbound/outbound.ts";
import { identityEnvelope } from "../../../../http/mod.ts";
import { wellFormed } from "../../../../http/requests/validate.ts";
import { isPublicName } from "../../../users/mod.ts";
import type { IdentityContext } from "../../context.ts";
import type { UserIds } from "../../external_ids.ts";
import { emailKey, normaliseEmail } from "../../lookup_keys.ts";
import { authenticateUser, DeviceIdSchema, type OperationCall } from "../../operations.ts";
import type { Session } from "../../sessions/session.ts";
import type { OpenedSession } from "../../sessions/sessions.ts";
import { identitySetting } from "../../settings.ts";
import { type Account, type User, unixSeconds } from "../../users.ts";
import { ExternalIdSchema, signatureInBody } from "../fields.ts";
import { type PoolMailKind, writePoolMail } from "./mails.ts";

export interface PoolUser {
  readonly user: User;
  readonly account: Account;
  readonly session: Session;
}

/** Authenticates the bearer of a request as a user of the pool; `isCounted` spends a look-up. */
export async function authenticatePoolUser(
  context: IdentityContext,
  call: OperationCall,
  isCounted = false,
): Promise<PoolUser> {
  const { user, session } = await authenticateUser(context, call, { provider: "managedPool", isCounted });
  call.note({ deviceId: session.deviceId });
  const { account } = user;
  if (account === undefined) throw invalidToken("provider");
  return { user, account, session };
}

/**
 * Demands a client token or access token of a user without a session, unless the project does without.
 *
 * @throws {AppError} What {@linkcode ClientTokens.check} throws.
 */
export async function requireClientToken(
  { clientTokens }: IdentityContext,
  { request, project }: OperationCall,
): Promise<void> {
  if (identitySetting(project, "recoveryAuth") === "bearer") await clientTokens.check(request, project.id);
}

export async function sessionReply(
  { records, clock }: IdentityContext,
  projectId: string,
  { session, tokens, user }: OpenedSession & { readonly user: User },
) {
  const record = await records.issue(projectId, user, {
    deviceId: session.deviceId,
    timeStamp: unixSeconds(clock),
  });
  return identityEnvelope({ ...record, ...tokens });
}

const nicknameCharactersMax = 100;
const termsCharactersMax = 256;
const codeCharactersMax = 32;

export const managedPool = { strategies: ["email"], providers: ["managedPool"] } as const;

/** A password to verify: any that could once be chosen. */
export const PasswordSchema = v.pipe(v.string(), v.minLength(1), v.maxLength(passwordUnitsMax), wellFormed);

/** A new password. The password policy checks it, and refuses it as `weak_password`. */
export const NewPasswordSchema = v.pipe(
  v.string(),
  v.description("8 to 1,024 characters, and no common one"),
);

export const CodeSchema = v.pipe(
  v.string(),
  v.description("The mailed code; whatever is no digit is left out"),
  v.minLength(1),
  v.maxLength(codeCharactersMax),
  wellFormed,
);

const NicknameSchema = v.pipe(
  v.string(),
  v.description("Name that everybody may see, or an empty text"),
  v.maxLength(nicknameCharactersMax),
  v.check(name => name === "" || isPublicName(name), "Expected visible text without control characters"),
);
const TermsSchema = v.pipe(
  v.string(),
  v.description("Consent to a set of terms"),
  v.maxLength(termsCharactersMax),
  wellFormed,
);

export const profileEntries = {
  nickname: v.exactOptional(NicknameSchema),
  "custom:terms_optin1": v.exactOptional(TermsSchema),
  "custom:terms_optin2": v.exactOptional(TermsSchema),
};

/** The capability of an anonymous user: both ids, and the signature if the project demands one. */
export const anonymousPairEntries = {
  externalId: v.exactOptional(ExternalIdSchema),
  deviceId: v.exactOptional(DeviceIdSchema),
  ...signatureInBody,
};

/** Time for which an unconfirmed claim blocks an address. */
const claimMs = 60_000;

export function isSameEmail(left: string, right: string): boolean {
  return normaliseEmail(left) === normaliseEmail(right);
}

/** Claims an address for a minute, and returns the ids of its holder: `ids` if it was free. */
export function claimEmail(
  { users, clock }: Pick<IdentityContext, "users" | "clock">,
  projectId: string,
  claim: { readonly email: string; readonly ids: UserIds },
): Promise<UserIds> {
  return users.claim(projectId, emailKey(claim.email), claim.ids, { until: clock() + claimMs });
}

/**
 * Keeps the address by which a user was found for the user; false where the user has lost it by now. A registration that broke off
 * claimed it for a minute only.
 */
export async function keepEmail(
  { users }: Pick<IdentityContext, "users">,
  projectId: string,
  { user, email }: { readonly user: User; readonly email: string },
): Promise<boolean> {
  if (user.account?.isEmailVerified !== false) return true;
  return await users.keep(projectId, emailKey(email), user.userId);
}

/**
 * Confirms the address of the user's account as its only e-mail key, after the record was written. `before` is the former
 * address. Racing changes of one user end with the key of the address that was written last.
 */
export async function switchEmailKey(
  { users }: IdentityContext,
  projectId: string,
  { user, before }: { readonly user: User; readonly before: string },
): Promise<void> {
  const email = user.account?.email ?? before;
  const holder = await users.claim(projectId, emailKey(email), user);
  if (holder.userId === user.userId && !isSameEmail(before, email)) {
    await users.release(projectId, emailKey(before), user.userId);
  }
  const current = await users.findById(projectId, user.userId);
  if (current?.account !== undefined && !isSameEmail(current.account.email, email)) {
    await users.release(projectId, emailKey(email), user.userId);
  }
}

const acceptLanguageCharactersMax = 512;

/** Writes a mail to a user of the project that a request is about. */
export function poolMail(
  kind: PoolMailKind,
  to: string,
  { project, request }: Pick<OperationCall, "project" | "request">,
  code?: string,
): Mail {
  const { id, name } = project;
  const page = kind === "loginCode" ? identitySetting(project, "codeLoginLink") : undefined;
  // A fragment reaches no server, and a mail scanner that opens the link presses no button.
  const link =
    page === undefined ? undefined : `${page}#${new URLSearchParams({ email: to, code: code ?? "" })}`;
  const locale = preferredLanguage(request.headers.get("accept-language"));
  const own = identitySetting(project, "mails");
  return {
    to,
    kind,
    ...writePoolMail({ kind, name, own, locale, code, link }),
    project: { id, name },
    ...(own?.sender === undefined ? {} : { sender: own.sender }),
    ...(code === undefined ? {} : { code }),
    ...(link === undefined ? {} : { link }),
    ...(locale === undefined ? {} : { locale }),
  };
}

/** Returns the language of the greatest weight in an `Accept-Language` header. */
function preferredLanguage(header: string | null): string | undefined {
  const ranges = (header ?? "").slice(0, acceptLanguageCharactersMax).split(",");
  const weighted = ranges.flatMap(range => {
    const [, tag, weight = "1"] =
      /^\s*([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8}){0,4})\s*(?:;\s*q=([01](?:\.\d{0,3})?)\s*)?$/.exec(range) ?? [];
    return tag === undefined || Number(weight) === 0 ? [] : [{ tag, weight: Number(weight) }];
  });
  return weighted.toSorted((left, right) => right.weight - left.weight)[0]?.tag;
}
