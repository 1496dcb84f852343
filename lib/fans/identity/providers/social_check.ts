/**
 * The non-standard check of users of social providers.
 *
 * The bearer token of the route is one of two:
 *
 * - a token of the social provider, the same as `accessToken` or `idToken` if the query has one of them. Its user is
 *   created at the first check;
 * - an access token of the platform, of a user of this provider. A token of the provider in the query must be of the same
 *   user then, and without one the provider is not asked.
 *
 * A token of the platform, of any kind, is never sent to a provider. With a `deviceId`, an addition to the interface, the
 * user logs in on that device, and the answer carries `userId` and the tokens of a new session.
 */

import * as v from "valibot";
import { foreignBearerToken, invalidToken, tokenCharsMax } from "../../../auth/tokens/mod.ts";
import { identityEnvelope, named } from "../../../http/mod.ts";
import type { IdentityContext } from "../context.ts";
import {
  answerOf,
  authenticateUser,
  DeviceIdSchema,
  DeviceItemSchema,
  type OperationCall,
  operation,
  tokenEntries,
  updatedAt,
} from "../operations.ts";
import type { SessionTokens } from "../sessions/session.ts";
import { type SocialProvider, socialProviders } from "../settings.ts";
import {
  type SocialIdentity,
  type SocialProof,
  type SocialVerifier,
  socialSubjectCharactersMax,
  socialTokenRejected,
} from "../social/social_verifiers.ts";
import { accountBanned, isBanned, type User, unixSeconds } from "../users.ts";
import { EmailSchema } from "./fields.ts";
import { findOrCreateVouchedUser, logInVouchedUser, usernameFrom } from "./vouched_users.ts";

const token = (description: string) =>
  v.exactOptional(v.pipe(v.string(), v.description(description), v.minLength(1), v.maxLength(tokenCharsMax)));
const socialUserId = v.pipe(
  v.string(),
  v.description("Id of the user at the provider, demanded of the first provider only"),
  v.minLength(1),
  v.maxLength(socialSubjectCharactersMax),
);

const socialCheckQuery = {
  userId: v.exactOptional(socialUserId),
  accessToken: token("Access token of the provider"),
  idToken: token("ID token of the provider"),
  deviceId: v.exactOptional(v.pipe(DeviceIdSchema, v.description("Device to log in on"))),
};

const CheckAnswer = named(
  "SocialCheck",
  answerOf(
    v.strictObject({
      updatedAt,
      nickname: v.string(),
      email: v.string(),
      devices: v.array(DeviceItemSchema),
      userId: v.exactOptional(v.string()),
      accessToken: v.exactOptional(tokenEntries.accessToken),
      profileToken: v.exactOptional(tokenEntries.profileToken),
      refreshToken: v.exactOptional(tokenEntries.refreshToken),
    }),
  ),
);

type CheckInput = v.InferOutput<v.ObjectSchema<typeof socialCheckQuery, undefined>>;

/** Builds the checks of the social providers. The interface names no strategy for them, so both are served. */
export function socialChecks(context: IdentityContext) {
  return socialProviders.map(provider =>
    operation({
      strategies: ["email", "simplified"],
      providers: [provider],
      entries: {
        ...socialCheckQuery,
        ...(provider === "socialOne" ? { userId: socialUserId } : {}),
      } as typeof socialCheckQuery,
      responses: { 200: { description: "The user", schema: CheckAnswer } },
      run: (input, call) => checkSocialUser(context, call, { provider, input }),
    }),
  );
}

async function checkSocialUser(
  context: IdentityContext,
  call: OperationCall,
  { provider, input }: { readonly provider: SocialProvider; readonly input: CheckInput },
) {
  const { project, info } = call;
  const verifier = context.socialVerifiers.of(project, provider);
  await context.limiter.attempt("socialCheck", { projectId: project.id, address: info.address });
  const bearer = foreignBearerToken(call.request.headers.get("authorization"));
  if (context.tokens.namesOwnKey(bearer)) {
    const user = await checkOwnToken(context, call, { provider, input, verifier });
    return await answer(context, project.id, user);
  }
  const identity = await verifier.verify(proofOf(input, bearer));
  const user = await vouchedUser(context, call, { provider, identity });
  const { deviceId } = input;
  if (deviceId === undefined) return await answer(context, project.id, user);
  const loggedIn = await logInVouchedUser(context, call, { user, deviceId });
  return await answer(context, project.id, loggedIn.user, loggedIn.tokens);
}

/** Builds the proof of a request whose bearer is a token of the provider. */
function proofOf({ userId, accessToken, idToken }: CheckInput, bearer: string): SocialProof {
  if (accessToken === undefined && idToken === undefined) return { userId, accessToken: bearer };
  if (bearer !== accessToken && bearer !== idToken) throw invalidToken("bearer");
  return { userId, accessToken, idToken };
}

/** Checks an access token of the platform, and the token of the provider if there is one. */
async function checkOwnToken(
  context: IdentityContext,
  call: OperationCall,
  check: {
    readonly provider: SocialProvider;
    readonly input: CheckInput;
    readonly verifier: SocialVerifier;
  },
): Promise<User> {
  const { user } = await authenticateUser(context, call, { provider: check.provider });
  const { origin } = user;
  if (origin === undefined) throw invalidToken("provider");
  const { userId, accessToken, idToken } = check.input;
  if (userId !== undefined && userId !== origin.subject) throw socialTokenRejected("subject");
  if (accessToken === undefined && idToken === undefined) return user;
  const identity = await check.verifier.verify({ userId, accessToken, idToken });
  if (identity.issuer !== origin.issuer || identity.subject !== origin.subject) {
    throw socialTokenRejected("caller");
  }
  return await updateProfile(context, call.project.id, { user, identity });
}

/** Finds or creates the user of an identity, with the profile that the provider gives. */
export async function vouchedUser(
  context: IdentityContext,
  { project, note }: OperationCall,
  { provider, identity }: { readonly provider: SocialProvider; readonly identity: SocialIdentity },
): Promise<User> {
  const username = usernameFrom(identity.nickname);
  const user = await findOrCreateVouchedUser(context, project.id, { provider, origin: identity, username });
  note({ userId: user.userId });
  if (isBanned(user, context.clock())) throw accountBanned(user);
  return await updateProfile(context, project.id, { user, identity });
}

/** Stores the profile that the provider gives, if it has changed. */
async function updateProfile(
  { users, clock }: IdentityContext,
  projectId: string,
  { user, identity }: { readonly user: User; readonly identity: SocialIdentity },
): Promise<User> {
  const { success, output } = v.safeParse(EmailSchema, identity.email);
  const email = success ? output : "";
  const isEmailVerified = email !== "" && identity.emailVerified;
  const nickname = usernameFrom(identity.nickname);
  const old = user.social;
  const isUnchanged =
    old?.nickname === nickname && old.email === email && old.isEmailVerified === isEmailVerified;
  if (isUnchanged) return user;
  const social = { nickname, email, isEmailVerified, updatedAt: unixSeconds(clock) };
  const updated = await users.update(projectId, user.userId, stored => ({ ...stored, social }));
  if (updated === null) throw invalidToken("user");
  return updated;
}

async function answer({ records }: IdentityContext, projectId: string, user: User, tokens?: SessionTokens) {
  const { nickname = "", email = "", updatedAt: changedAt = user.signUp } = user.social ?? {};
  return identityEnvelope({
    updatedAt: String(changedAt),
    nickname,
    email,
    devices: await records.devicesOf(projectId, user),
    ...(tokens === undefined ? {} : { userId: user.userId, ...tokens }),
  });
}
