/**
 * The `noLogin` provider: users without credentials. The external id, 160 random bits, is the capability.
 *
 * @module
 */

import * as v from "valibot";
import { capabilityId, uuid } from "../../../auth/crypto/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { identityEnvelope, json, named } from "../../../http/mod.ts";
import { answerOf, appProfile, loginHistory, RecordAnswer, recordEntries, signUp } from "../answers.ts";
import type { IdentityContext } from "../context.ts";
import { type Operation, type OperationCall, operation } from "../operations.ts";
import { accountBanned, isBanned, isWithdrawn, type User, unixSeconds, withLogin } from "../users.ts";
import { AppProfileSchema, assertAppProfileFits, ExternalIdSchema, UsernameSchema } from "./fields.ts";
import {
  assertSignaturePresent,
  isSignedFor,
  type PresentedSignature,
  signatureInBody,
  signatureInQuery,
} from "./signature_demand.ts";

const provider = { strategies: ["simplified"], providers: ["noLogin"] } as const;

const { signUp: _, ...unsigned } = recordEntries;
const CreateAnswer = named(
  "NoLoginRegistration",
  answerOf(
    v.strictObject({
      ...unsigned,
      isNew: v.boolean(),
      username: v.string(),
      // The interface spells the time of sign-up so in this answer.
      signup: signUp,
    }),
  ),
);

const ProfileAnswer = named(
  "NoLoginProfile",
  v.strictObject({
    result: v.literal(1),
    message: v.string(),
    data: v.strictObject({ username: v.string(), loginHistory, appProfile }),
    strategy: v.literal("simplified"),
    provider: v.literal("noLogin"),
    projectId: v.string(),
    externalId: v.string(),
  }),
);

type ProfileAnswer = v.InferOutput<typeof ProfileAnswer>;

/** Creates a user. Only this answer carries the external id. */
export function createNoLoginUser(context: IdentityContext): Operation {
  const { users, records, limiter, clock, random } = context;
  return operation({
    ...provider,
    entries: { data: v.pipe(v.object({ username: UsernameSchema }), v.description("The new user")) },
    responses: { 200: { description: "The user is created (noLogin)", schema: CreateAnswer } },
    async run({ projectId, data }, call) {
      await limiter.attempt("noLoginCreate", { projectId, address: call.info.address });
      const now = unixSeconds(clock);
      const deviceId = uuid(random);
      const user = await users.create(projectId, {
        ...users.sealIds(uuid(random), capabilityId(random)),
        provider: "noLogin",
        username: data.username,
        signUp: now,
        loginHistory: [now],
        devices: [{ deviceId, signUp: now, lastLogin: now }],
        appProfile: {},
      });
      call.note({ userId: user.userId, deviceId });
      const { signUp: signup, ...record } = records.issue(projectId, user, { deviceId, timeStamp: now });
      return identityEnvelope(
        { ...record, isNew: true, username: user.username, signup },
        { message: "User is Correctly Created" },
      );
    },
  });
}

/** Fetches a user's profile by the external id. */
export function fetchNoLoginUser(context: IdentityContext): Operation {
  return operation({
    ...provider,
    entries: { externalId: ExternalIdSchema, ...signatureInQuery },
    responses: { 200: { description: "The profile", schema: ProfileAnswer } },
    isLookup: true,
    run: async (input, call) => json(200, profileOf(await findNoLoginUser(context, input, call, ""), input)),
  });
}

/** Answers a new session record, as records prove their user for 90 days only. */
export function logInNoLoginUser(context: IdentityContext): Operation {
  const { users, records, clock } = context;
  return operation({
    ...provider,
    entries: {
      data: v.pipe(
        v.object({ externalId: ExternalIdSchema, ...signatureInBody }),
        v.description("The user who logs in"),
      ),
    },
    responses: { 200: { description: "The session record", schema: RecordAnswer } },
    async run({ projectId, data }, call) {
      const { userId, devices } = await findNoLoginUser(context, { ...data, projectId }, call, "/data/");
      const [{ deviceId } = { deviceId: uuid(context.random) }] = devices;
      const now = unixSeconds(clock);
      const user = await users.update(projectId, userId, old => withLogin(old, deviceId, now));
      if (user === null) throw unknownUser();
      call.note({ deviceId });
      return identityEnvelope(records.issue(projectId, user, { deviceId, timeStamp: now }));
    },
  });
}

/** Replaces a user's application profile. */
export function updateNoLoginUser(context: IdentityContext): Operation {
  return operation({
    ...provider,
    entries: {
      externalId: ExternalIdSchema,
      ...signatureInBody,
      data: v.pipe(
        v.object({ appProfile: AppProfileSchema }),
        v.description("What replaces the application profile"),
      ),
    },
    responses: { 200: { description: "The user as changed", schema: ProfileAnswer } },
    async run(input, call) {
      assertAppProfileFits(input.data.appProfile);
      const { userId } = await findNoLoginUser(context, input, call, "/");
      const user = await context.users.update(input.projectId, userId, old => ({
        ...old,
        appProfile: input.data.appProfile,
      }));
      if (user === null) throw unknownUser();
      return json(200, profileOf(user, input));
    },
  });
}

/**
 * Finds the user that a request names. Only misses are counted: an external id of 160 bits cannot be guessed, and the
 * people behind one address at an event must not use up each other's look-ups. `at` is the place of the signature.
 */
export async function findNoLoginUser(
  context: IdentityContext,
  named: PresentedSignature & { readonly projectId: string; readonly externalId: string },
  call: OperationCall,
  at: "" | "/" | "/data/",
): Promise<User> {
  const { users, records, limiter, clock } = context;
  const { projectId, externalId } = named;
  assertSignaturePresent(call.project, named, at);
  const user = await users.findByKey(projectId, { kind: "external", externalId });
  const isTheirs =
    user?.provider === "noLogin" &&
    !isWithdrawn(user) &&
    isSignedFor(user, named, { records, project: call.project });
  if (!isTheirs) {
    await limiter.attempt("noLoginLookup", { projectId, address: call.info.address });
    throw unknownUser();
  }
  call.note({ userId: user.userId });
  if (isBanned(user, clock())) throw accountBanned(user);
  return user;
}

function unknownUser(): AppError {
  return new AppError("not_found", "Cannot serve the request as no user has this externalId");
}

function profileOf(
  { username, loginHistory: logins, appProfile: profile }: User,
  { strategy, provider: name, projectId, externalId }: Omit<ProfileAnswer, "result" | "message" | "data">,
) {
  const data = { username, loginHistory: logins, appProfile: profile };
  return { result: 1, message: "OK", data, strategy, provider: name, projectId, externalId } as const;
}
