/**
 * The `hostedIdp` provider: users of an OpenID provider. Every operation accepts an access token of the platform and a
 * token of the provider, whose user is created at the first use.
 *
 * @module
 */

import * as v from "valibot";
import { foreignBearerToken, invalidToken } from "../../../auth/tokens/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { identityEnvelope, named } from "../../../http/mod.ts";
import { answerOf, appProfile, loginHistory, tokenEntries } from "../answers.ts";
import type { IdentityContext } from "../context.ts";
import { DeviceIdSchema, type Operation, type OperationCall, objectOnly, operation } from "../operations.ts";
import type { Session } from "../sessions/session.ts";
import { type Authenticated, deviceOf } from "../sessions/sessions.ts";
import { hostedIssuer, identitySetting } from "../settings.ts";
import type { User } from "../users.ts";
import { AppProfileSchema, assertAppProfileFits, UsernameSchema } from "./fields.ts";
import { issuerUser, logInVouchedUser } from "./vouched_users.ts";

const provider = { strategies: ["email"], providers: ["hostedIdp"] } as const;
const profileEntries = { username: v.string(), appProfile, loginHistory };

const ProfileAnswer = named("HostedProfile", answerOf(v.strictObject(profileEntries)));
const UpdateAnswer = named(
  "HostedUpdate",
  answerOf(
    v.strictObject({
      externalId: v.string(),
      projectId: v.string(),
      accessToken: v.pipe(v.string(), v.description("Access token of the platform")),
      appProfile,
    }),
  ),
);
const CheckAnswer = named(
  "HostedCheck",
  answerOf(
    v.strictObject({
      ...profileEntries,
      userId: v.string(),
      accessToken: tokenEntries.accessToken,
      profileToken: v.exactOptional(tokenEntries.profileToken),
      refreshToken: v.exactOptional(tokenEntries.refreshToken),
    }),
  ),
);

/** Fetches the profile of the bearer. */
export function fetchHostedUser(context: IdentityContext): Operation {
  return operation({
    ...provider,
    entries: {},
    responses: { 200: { description: "The profile", schema: ProfileAnswer } },
    isLookup: true,
    run: async (_, call) => identityEnvelope(profileOf((await authenticate(context, call)).user)),
  });
}

/**
 * Changes the name and replaces the application profile of the bearer, and answers an access token of the platform: that of
 * the request, or for a token of the provider one of a session that all such updates of the user share.
 */
export function updateHostedUser(context: IdentityContext): Operation {
  return operation({
    ...provider,
    entries: {
      data: v.pipe(
        objectOnly("HostedChanges", {
          username: v.exactOptional(UsernameSchema),
          appProfile: v.exactOptional(AppProfileSchema),
        }),
        v.description("What to change; absent members stay"),
      ),
    },
    responses: { 200: { description: "The user as changed", schema: UpdateAnswer } },
    async run({ data }, call) {
      if (data.appProfile !== undefined) assertAppProfileFits(data.appProfile);
      const caller = await authenticate(context, call);
      const { userId } = caller.user;
      const user = await context.users.update(call.project.id, userId, old => ({ ...old, ...data }));
      if (user === null) throw invalidToken("user");
      // The request names no device. A session for each of them would drive out those of the user's devices.
      const accessToken =
        caller.session === null
          ? await context.sessions.accessTokenOn(call.project, user, deviceOf(userId, call))
          : tokenOf(call);
      return identityEnvelope({
        externalId: context.users.externalIdOf(user),
        projectId: call.project.id,
        accessToken,
        appProfile: user.appProfile,
      });
    },
  });
}

/**
 * Checks a token of the provider: its user, created at the first login, logs in on the device, and the answer carries the
 * tokens of a new session. An access token of the platform is accepted too, and answered with itself.
 */
export function checkHostedUser(context: IdentityContext): Operation {
  return operation({
    ...provider,
    entries: { deviceId: DeviceIdSchema },
    responses: { 200: { description: "The profile", schema: CheckAnswer } },
    async run({ deviceId }, call) {
      call.note({ deviceId });
      const { user, tokens } = context.tokens.namesOwnKey(tokenOf(call))
        ? await checkOwnToken(context, call, deviceId)
        : await logIn(context, call, deviceId);
      return identityEnvelope({ ...profileOf(user), userId: user.userId, ...tokens });
    },
  });
}

async function checkOwnToken(context: IdentityContext, call: OperationCall, deviceId: string) {
  const { user, session } = await authenticateSession(context, call);
  if (identitySetting(call.project, "deviceCheck") === "session" && deviceId !== session.deviceId) {
    throw new AppError("device_mismatch", "Cannot check the user as the session is of another device");
  }
  return { user, tokens: { accessToken: tokenOf(call) } };
}

async function logIn(context: IdentityContext, call: OperationCall, deviceId: string) {
  return await logInVouchedUser(context, call, { user: await vouchedUser(context, call), deviceId });
}

/** Authenticates the bearer of an access token of the platform, or of a token of the provider, which has no session. */
async function authenticate(
  context: IdentityContext,
  call: OperationCall,
): Promise<{ readonly user: User; readonly session: Session | null }> {
  return context.tokens.namesOwnKey(tokenOf(call))
    ? await authenticateSession(context, call)
    : { user: await vouchedUser(context, call), session: null };
}

/** Finds or creates the user of the provider's token, and spends a look-up. */
async function vouchedUser(context: IdentityContext, call: OperationCall): Promise<User> {
  const { project, info } = call;
  const issuer = hostedIssuer(project);
  const user = await issuerUser(context, project.id, { token: tokenOf(call), issuer });
  const { userId } = user;
  call.note({ userId });
  await context.limiter.attempt("profile", { projectId: project.id, address: info.address, userId });
  return user;
}

/** Authenticates the bearer of an access token, and spends a look-up before anything is read. */
async function authenticateSession(
  { sessions, limiter }: IdentityContext,
  { request, project, info, note }: OperationCall,
): Promise<Authenticated> {
  const caller = await sessions.authenticate(request, project, {
    async authorize(holder) {
      note(holder);
      const { userId } = holder;
      await limiter.attempt("profile", { projectId: project.id, address: info.address, userId });
    },
  });
  if (caller.user.provider !== "hostedIdp") throw invalidToken("provider");
  return caller;
}

function tokenOf({ request }: OperationCall): string {
  return foreignBearerToken(request.headers.get("authorization"));
}

function profileOf({ username, appProfile: profile, loginHistory: logins }: User) {
  return { username, appProfile: profile, loginHistory: logins };
}
