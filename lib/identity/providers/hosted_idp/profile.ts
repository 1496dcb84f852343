/**
 * Users of a hosted identity provider: check of its token, and their profile.
 *
 * A client checks the provider's token, gets an access token of the platform, and uses that from there on.
 *
 * @module
 */

import * as v from "valibot";
import { invalidToken } from "../../../auth/mod.ts";
import { foreignBearerToken } from "../../../auth/tokens/mod.ts";
import { AppError } from "../../../errors/mod.ts";
import { identityEnvelope, type Reply } from "../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, type OperationCall, operation, UuidSchema } from "../../operations.ts";
import type { Authenticated, SessionTokens } from "../../sessions/sessions.ts";
import type { User } from "../../users.ts";
import { AppProfileSchema, assertAppProfileFits } from "../app_profile.ts";
import { poolSettings } from "../managed_pool/settings.ts";
import { UsernameSchema } from "../no_login.ts";
import { logInVouched } from "../origin_login.ts";
import { issuerUser } from "./issuer_user.ts";
import { hostedIssuer } from "./settings.ts";

const FetchSchema = v.object({});
const CheckSchema = v.object({ deviceId: UuidSchema });
const UpdateSchema = v.object({
  data: v.pipe(
    v.unknown(),
    // An array is an object without any of these members.
    v.check(value => !Array.isArray(value), "Expected an object"),
    v.object({
      username: v.exactOptional(UsernameSchema),
      appProfile: v.exactOptional(AppProfileSchema),
    }),
  ),
});

/** Fetches the profile of the bearer of an access token. */
export function fetchHostedUser(context: IdentityContext): Operation {
  return operation({
    schema: FetchSchema,
    isLookup: true,
    async run(_, call): Promise<Reply> {
      const { user } = await bearer(context, call);
      return identityEnvelope(profileOf(user));
    },
  });
}

/** Changes the name and replaces the application profile of the bearer; the access token of the answer is the bearer. */
export function updateHostedUser(context: IdentityContext): Operation {
  return operation({
    schema: UpdateSchema,
    async run({ data }, call): Promise<Reply> {
      if (data.appProfile !== undefined) assertAppProfileFits(data.appProfile);
      const { userId } = (await bearer(context, call)).user;
      const user = await context.users.update(call.project.id, userId, old => ({ ...old, ...data }));
      if (user === null) throw invalidToken("user");
      const { externalId, appProfile } = user;
      const accessToken = tokenOf(call);
      return identityEnvelope({ externalId, projectId: call.project.id, accessToken, appProfile });
    },
  });
}

/**
 * Checks a token of the provider: its user, made when met first, logs in on the device, and the answer carries the tokens
 * of a new session. An access token of the platform is accepted as well, and answered with itself.
 */
export function checkHostedUser(context: IdentityContext): Operation {
  return operation({
    schema: CheckSchema,
    async run({ deviceId }, call): Promise<Reply> {
      call.note({ deviceId });
      const { user, tokens } = context.tokens.namesOwnKey(tokenOf(call))
        ? await checkOwn(context, call, deviceId)
        : await logIn(context, call, deviceId);
      return identityEnvelope({ ...profileOf(user), userId: user.userId, ...tokens });
    },
  });
}

interface Checked {
  readonly user: User;
  readonly tokens: Pick<SessionTokens, "accessToken"> & Partial<SessionTokens>;
}

async function checkOwn(context: IdentityContext, call: OperationCall, deviceId: string): Promise<Checked> {
  const { user, session } = await bearer(context, call);
  if (poolSettings(call.project).deviceCheck === "session" && deviceId !== session.deviceId) {
    throw new AppError("device_mismatch", "Cannot check the user as the session is of another device");
  }
  return { user, tokens: { accessToken: tokenOf(call) } };
}

async function logIn(context: IdentityContext, call: OperationCall, deviceId: string): Promise<Checked> {
  const { project, info } = call;
  const issuer = hostedIssuer(project);
  const { userId } = await issuerUser(context, project.id, { token: tokenOf(call), issuer });
  call.note({ userId });
  await context.abuse.attempt("profile", { projectId: project.id, address: info.address, userId });
  return await logInVouched(context, call, { userId, deviceId });
}

/** The user of the access token, counted before anything is read. */
async function bearer(
  { sessions, abuse }: IdentityContext,
  { request, project, info, note }: OperationCall,
): Promise<Authenticated> {
  const caller = await sessions.authenticate(request, project, {
    async admit(holder) {
      note(holder);
      await abuse.attempt("profile", { projectId: project.id, address: info.address, userId: holder.userId });
    },
  });
  if (caller.user.provider !== "hostedIdp") throw invalidToken("provider");
  return caller;
}

function tokenOf({ request }: OperationCall): string {
  return foreignBearerToken(request.headers.get("authorization"));
}

function profileOf({ username, appProfile, loginHistory }: User): Record<string, unknown> {
  return { username, appProfile, loginHistory };
}
