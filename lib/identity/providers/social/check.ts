/**
 * The non-standard check of users of social providers.
 *
 * The route needs a bearer token, which is one of two:
 *
 * - the token of the social provider itself; where the query has an `accessToken` or `idToken` too, the bearer is that
 *   token. Its user is made when met first;
 * - an access token of the platform, of a user of this provider; a token of the provider in the query must be of the same
 *   user then, and without one the provider is not asked.
 *
 * A token that was made here, of whatever kind, is never sent to a provider. With a `deviceId`, which is an addition to the interface,
 * the user of a provider's token logs in there, and the answer carries `userId` and the tokens of a new session.
 *
 * @module
 */

import * as v from "valibot";
import { invalidToken } from "../../../auth/mod.ts";
import { foreignBearerToken, tokenCharsMax } from "../../../auth/tokens/mod.ts";
import { identityEnvelope, type Reply } from "../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import {
  type Operation,
  type OperationCall,
  type Operations,
  operation,
  UuidSchema,
} from "../../operations.ts";
import { accountBanned, isBanned } from "../../sessions/ban.ts";
import { deviceItems } from "../../sessions/device_items.ts";
import type { SessionTokens } from "../../sessions/sessions.ts";
import { type User, unixSeconds } from "../../users.ts";
import { EmailSchema } from "../managed_pool/fields.ts";
import { logInVouched } from "../origin_login.ts";
import { originUser, usernameFrom } from "../origin_user.ts";
import { type SocialProvider, socialProviders } from "./settings.ts";
import { socialSubjectCharactersMax } from "./token_debug.ts";
import {
  type SocialIdentity,
  type SocialProof,
  type SocialVerifier,
  socialTokenRejected,
} from "./verifier.ts";

const token = v.pipe(v.string(), v.minLength(1), v.maxLength(tokenCharsMax));
const socialUserId = v.pipe(v.string(), v.minLength(1), v.maxLength(socialSubjectCharactersMax));
const strategies = ["email", "simplified"] as const;

function schemaOf(provider: SocialProvider): v.GenericSchema<unknown, CheckInput> {
  return v.object({
    projectId: UuidSchema,
    strategy: v.picklist(strategies),
    provider: v.literal(provider),
    // The interface demands it of the first provider alone.
    userId: provider === "socialOne" ? socialUserId : v.exactOptional(socialUserId),
    accessToken: v.exactOptional(token),
    idToken: v.exactOptional(token),
    deviceId: v.exactOptional(UuidSchema),
  });
}

interface CheckInput extends SocialProof {
  readonly provider: SocialProvider;
  readonly deviceId?: string | undefined;
}

/** The checks, by provider; the interface does not say of which strategy they are, so both are served. */
export function socialChecks(context: IdentityContext): Operations {
  return Object.fromEntries(
    socialProviders.flatMap(provider => {
      const check = checkSocialUser(context, provider);
      return strategies.map(strategy => [`${strategy}/${provider}`, check] as const);
    }),
  );
}

function checkSocialUser(context: IdentityContext, provider: SocialProvider): Operation {
  return operation({
    schema: schemaOf(provider),
    async run(input, call): Promise<Reply> {
      const { project, info } = call;
      const verifier = context.socialVerifiers.of(project, provider);
      await context.abuse.attempt("socialCheck", { projectId: project.id, address: info.address });
      const bearer = foreignBearerToken(call.request.headers.get("authorization"));
      if (context.tokens.namesOwnKey(bearer)) {
        const user = await checkOwn(context, call, { input, verifier });
        return reply(context, project.id, { user });
      }
      const identity = await verifier.verify(proofOf(input, bearer));
      const user = await vouchedUser(context, call, { provider, identity });
      const { deviceId } = input;
      if (deviceId === undefined) return reply(context, project.id, { user });
      return reply(context, project.id, await logInVouched(context, call, { userId: user.userId, deviceId }));
    },
  });
}

/** What a request proves whose bearer is a token of the provider. */
function proofOf({ userId, accessToken, idToken }: CheckInput, bearer: string): SocialProof {
  if (accessToken === undefined && idToken === undefined) return { userId, accessToken: bearer };
  if (bearer !== accessToken && bearer !== idToken) throw invalidToken("bearer");
  return { userId, accessToken, idToken };
}

/** The user of an access token of the platform, and of the token of the provider where there is one. */
async function checkOwn(
  context: IdentityContext,
  call: OperationCall,
  { input, verifier }: { readonly input: CheckInput; readonly verifier: SocialVerifier },
): Promise<User> {
  const { request, project, note } = call;
  const { user } = await context.sessions.authenticate(request, project, { admit: note });
  const { provider, origin } = user;
  if (provider !== input.provider || origin === undefined) throw invalidToken("provider");
  const { userId, accessToken, idToken } = input;
  if (userId !== undefined && userId !== origin.subject) throw socialTokenRejected("subject");
  if (accessToken === undefined && idToken === undefined) return user;
  const identity = await verifier.verify({ userId, accessToken, idToken });
  if (identity.issuer !== origin.issuer || identity.subject !== origin.subject) {
    throw socialTokenRejected("caller");
  }
  return await remember(context, project.id, { user, identity });
}

/** The user of the provider's token. */
async function vouchedUser(
  context: IdentityContext,
  { project, note }: OperationCall,
  { provider, identity }: { readonly provider: SocialProvider; readonly identity: SocialIdentity },
): Promise<User> {
  const username = usernameFrom(identity.nickname);
  const user = await originUser(context, project.id, { provider, origin: identity, username });
  note({ userId: user.userId });
  if (isBanned(user, context.clock())) throw accountBanned(user);
  return await remember(context, project.id, { user, identity });
}

/** Keeps what the provider says of the user, where that is news. */
async function remember(
  { users, clock }: IdentityContext,
  projectId: string,
  { user, identity }: { readonly user: User; readonly identity: SocialIdentity },
): Promise<User> {
  const email = v.is(EmailSchema, identity.email) ? identity.email : "";
  const isEmailVerified = email !== "" && identity.emailVerified;
  const nickname = usernameFrom(identity.nickname);
  const known = user.social;
  const isKnown =
    known?.nickname === nickname && known.email === email && known.isEmailVerified === isEmailVerified;
  if (isKnown) return user;
  const social = { nickname, email, isEmailVerified, updatedAt: unixSeconds(clock) };
  const updated = await users.update(projectId, user.userId, old => ({ ...old, social }));
  if (updated === null) throw invalidToken("user");
  return updated;
}

function reply(
  context: IdentityContext,
  projectId: string,
  { user, tokens }: { readonly user: User; readonly tokens?: SessionTokens },
): Reply {
  const { nickname = "", email = "", updatedAt = user.signUp } = user.social ?? {};
  return identityEnvelope({
    updatedAt: String(updatedAt),
    nickname,
    email,
    devices: deviceItems(context, projectId, user),
    ...(tokens === undefined ? {} : { userId: user.userId, ...tokens }),
  });
}
