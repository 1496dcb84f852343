/**
 * The `hostedIdp` provider: users of an OpenID provider. A client checks the provider's token once, gets an access token
 * of the platform, and uses that from there on.
 *
 * @module
 */

import * as v from "valibot";
import { foreignBearerToken, invalidToken } from "../../auth/tokens/mod.ts";
import { AppError } from "../../errors/mod.ts";
import { identityEnvelope, named } from "../../http/mod.ts";
import { answerOf, appProfile, loginHistory, tokenEntries } from "../answers.ts";
import type { IdentityContext } from "../context.ts";
import { DeviceIdSchema, type Operation, type OperationCall, objectOnly, operation } from "../operations.ts";
import type { Authenticated } from "../sessions/sessions.ts";
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
      accessToken: v.pipe(v.string(), v.description("The bearer of the request")),
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

/** Fetches the profile of the bearer of an access token. */
export function fetchHostedUser(context: IdentityContext): Operation {
  return operation({
    ...provider,
    entries: {},
    responses: { 200: { description: "The profile", schema: ProfileAnswer } },
    isLookup: true,
    run: async (_, call) => identityEnvelope(profileOf((await authenticate(context, call)).user)),
  });
}

/** Changes the name and replaces the application profile of the bearer. */
export function updateHostedUser(context: IdentityContext): Operation {
  return operation({
    ...provider,
    entries: {
      data: objectOnly("HostedChanges", {
        username: v.exactOptional(UsernameSchema),
        appProfile: v.exactOptional(AppProfileSchema),
      }),
    },
    responses: { 200: { description: "The user as changed", schema: UpdateAnswer } },
    async run({ data }, call) {
      if (data.appProfile !== undefined) assertAppProfileFits(data.appProfile);
      const { userId } = (await authenticate(context, call)).user;
      const user = await context.users.update(call.project.id, userId, old => ({ ...old, ...data }));
      if (user === null) throw invalidToken("user");
      const { externalId, appProfile: profile } = user;
      const accessToken = tokenOf(call);
      return identityEnvelope({
        externalId,
        projectId: call.project.id,
        accessToken,
        appProfile: profile,
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
  const { user, session } = await authenticate(context, call);
  if (identitySetting(call.project, "deviceCheck") === "session" && deviceId !== session.deviceId) {
    throw new AppError("device_mismatch", "Cannot check the user as the session is of another device");
  }
  return { user, tokens: { accessToken: tokenOf(call) } };
}

async function logIn(context: IdentityContext, call: OperationCall, deviceId: string) {
  const { project, info } = call;
  const issuer = hostedIssuer(project);
  const user = await issuerUser(context, project.id, { token: tokenOf(call), issuer });
  const { userId } = user;
  call.note({ userId });
  await context.limiter.attempt("profile", { projectId: project.id, address: info.address, userId });
  return await logInVouchedUser(context, call, { user, deviceId });
}

/** Authenticates the bearer of an access token, and spends a look-up before anything is read. */
async function authenticate(
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
