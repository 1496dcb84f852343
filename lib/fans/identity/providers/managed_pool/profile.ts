/**
 * Profiles of users of the managed pool.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../../../base/errors/mod.ts";
import { type JsonText, type JsonTextReply, jsonText, named } from "../../../../http/mod.ts";
import { answerOf, DeviceItemSchema, loginHistory, updatedAt } from "../../answers.ts";
import type { IdentityContext } from "../../context.ts";
import { DeviceIdSchema, type Operation, type OperationCall, operation } from "../../operations.ts";
import { identitySetting } from "../../settings.ts";
import type { User } from "../../users.ts";
import { managedPool } from "./fields.ts";
import { authenticatePoolUser, type PoolUser } from "./pool_user.ts";

const optins = { "custom:terms_optin1": v.string(), "custom:terms_optin2": v.string() };

const ProfileAnswer = named(
  "PoolProfile",
  answerOf(
    v.strictObject({
      data: v.strictObject({
        username: v.string(),
        email: v.string(),
        ...optins,
        nickname: v.string(),
        userId: v.string(),
        loginHistory,
      }),
      ...optins,
      updatedAt,
      nickname: v.string(),
      email: v.string(),
      emailVerified: v.pipe(v.boolean(), v.description("True if the user proved control of the address")),
      devices: v.array(DeviceItemSchema),
    }),
  ),
);

type ProfileAnswer = v.InferOutput<typeof ProfileAnswer>;

const lookup = {
  ...managedPool,
  responses: { 200: { description: "The profile", schema: ProfileAnswer } },
  isLookup: true,
} as const;

/** Fetches the profile of the bearer. */
export function fetchPoolUser(context: IdentityContext): Operation {
  return operation({
    ...lookup,
    entries: {},
    run: async (_, call) => profileReply(context, call, await authenticate(context, call)),
  });
}

/** Checks the bearer, on any device or, by a setting of the project, on that of the session only. */
export function checkPoolUser(context: IdentityContext): Operation {
  return operation({
    ...lookup,
    entries: { deviceId: DeviceIdSchema },
    async run({ deviceId }, call) {
      const caller = await authenticate(context, call);
      const isStrict = identitySetting(call.project, "deviceCheck") === "session";
      if (isStrict && deviceId !== caller.session.deviceId) {
        throw new AppError("device_mismatch", "Cannot check the user as the session is of another device");
      }
      return profileReply(context, call, caller);
    },
  });
}

/** Authenticates the bearer, and spends a look-up before anything is read. */
async function authenticate(context: IdentityContext, call: OperationCall): Promise<PoolUser> {
  const { project, info } = call;
  return await authenticatePoolUser(context, call, async ({ userId }) => {
    await context.limiter.attempt("profile", { projectId: project.id, address: info.address, userId });
  });
}

const texts = new WeakMap<User, JsonText<ProfileAnswer>>();

/** Answers the text of the profile, written once per state: sessions return the same object for an unchanged user. */
function profileReply(
  context: IdentityContext,
  { project }: OperationCall,
  caller: PoolUser,
): JsonTextReply<200, ProfileAnswer> {
  const text = texts.get(caller.user) ?? profileText(context, project.id, caller);
  texts.set(caller.user, text);
  return jsonText(text);
}

function profileText(
  { records }: IdentityContext,
  projectId: string,
  { user, account }: PoolUser,
): JsonText<ProfileAnswer> {
  const { username, userId, loginHistory: logins } = user;
  const { email, nickname, terms } = account;
  const consent = { "custom:terms_optin1": terms[0], "custom:terms_optin2": terms[1] };
  const data = {
    data: { username, email, ...consent, nickname, userId, loginHistory: [...logins] },
    ...consent,
    updatedAt: String(account.updatedAt),
    nickname,
    email,
    emailVerified: account.isEmailVerified,
    devices: records.devicesOf(projectId, user),
  };
  const answer: ProfileAnswer = { result: 1, message: "OK", data };
  return JSON.stringify(answer) as JsonText<ProfileAnswer>;
}
