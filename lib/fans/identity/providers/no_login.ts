/** The `noLogin` provider: users without credentials. The external id, 160 random bits, is the capability. */

import * as v from "valibot";
import { uuid } from "../../../auth/crypto/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { identityEnvelope, json, named } from "../../../http/mod.ts";
import { retry } from "../../../storage/background/mod.ts";
import type { IdentityContext } from "../context.ts";
import {
  answerOf,
  appProfile,
  DeviceIdSchema,
  loginHistory,
  type OperationCall,
  operation,
  RecordAnswer,
  recordEntries,
  signUp,
} from "../operations.ts";
import {
  accountBanned,
  hasDevice,
  isAnonymous,
  isBanned,
  isWithdrawn,
  newUser,
  type User,
  unixSeconds,
  withLogin,
} from "../users.ts";
import {
  AppProfileSchema,
  assertAppProfileFits,
  assertSignaturePresent,
  ExternalIdSchema,
  isSignedFor,
  type PresentedSignature,
  signatureInBody,
  signatureInQuery,
  UsernameSchema,
} from "./fields.ts";

const noLogin = { strategies: ["simplified"], providers: ["noLogin"] } as const;

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
export function createNoLoginUser(context: IdentityContext) {
  const { users, records, limiter, clock, random } = context;
  return operation({
    ...noLogin,
    entries: { data: v.pipe(v.object({ username: UsernameSchema }), v.description("The new user")) },
    responses: { 200: { description: "The user is created (noLogin)", schema: CreateAnswer } },
    async run({ projectId, data }, call) {
      await limiter.attempt("noLoginCreate", { projectId, address: call.info.address });
      const now = unixSeconds(clock);
      const deviceId = uuid(random);
      const { username } = data;
      const unseen = newUser(await users.newIds(random), now, { provider: "noLogin", username });
      const user = await users.create(projectId, withLogin(unseen, deviceId, now));
      call.note({ userId: user.userId, deviceId });
      const { signUp: signup, ...record } = await records.issue(projectId, user, {
        deviceId,
        timeStamp: now,
      });
      return identityEnvelope(
        { ...record, isNew: true, username, signup },
        { message: "User is Correctly Created" },
      );
    },
  });
}

export function fetchNoLoginUser(context: IdentityContext) {
  return operation({
    ...noLogin,
    entries: { externalId: ExternalIdSchema, ...signatureInQuery },
    responses: { 200: { description: "The profile", schema: ProfileAnswer } },
    isLookup: true,
    run: async (input, call) => json(200, profileOf(await findNoLoginUser(context, input, call, ""), input)),
  });
}

/** Answers a new session record, as records prove their user for 90 days only. */
export function logInNoLoginUser(context: IdentityContext) {
  const { users, records, clock } = context;
  return operation({
    ...noLogin,
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
      return identityEnvelope(await records.issue(projectId, user, { deviceId, timeStamp: now }));
    },
  });
}

export function updateNoLoginUser(context: IdentityContext) {
  return operation({
    ...noLogin,
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
    (await isSignedFor(user, named, { records, project: call.project }));
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

const additionalIdCharactersMax = 128;
const deviceClaimsMax = 3;

const anonymous = { strategies: ["simplified"], providers: ["anonymous"] } as const;

const RegisterAnswer = named(
  "AnonymousRegistration",
  answerOf(v.strictObject({ ...recordEntries, isNew: v.boolean() })),
);

/**
 * Registers a device. Repeated and racing registrations with the same `deviceId` and `additionalId` answer the same user
 * with `isNew: false`. In a project that demands signatures they must present the record, as the ids alone are no proof.
 */
export function registerAnonymous(context: IdentityContext) {
  const { records, limiter, clock } = context;
  return operation({
    ...anonymous,
    entries: {
      data: v.pipe(
        v.object({
          deviceId: DeviceIdSchema,
          additionalId: v.optional(
            v.pipe(
              v.string(),
              v.maxLength(additionalIdCharactersMax),
              v.check(text => text.isWellFormed(), "Expected well-formed Unicode"),
            ),
            "",
          ),
          ...signatureInBody,
        }),
        v.description("The device to register, and what tells its users apart"),
      ),
    },
    responses: { 201: { description: "The user is registered", schema: RegisterAnswer } },
    async run({ data }, call) {
      const { deviceId, additionalId } = data;
      const { id: projectId } = call.project;
      call.note({ deviceId });
      await limiter.attempt("anonymousRegister", { projectId, address: call.info.address });
      const { user, isNew } = await userOfDevice(context, projectId, { deviceId, additionalId });
      call.note({ userId: user.userId });
      if (!isNew && !(await isSignedFor(user, data, { records, project: call.project, deviceId }))) {
        throw registeredBefore();
      }
      if (isBanned(user, clock())) throw accountBanned(user);
      noteActivity(context, call, user);
      const timeStamp = unixSeconds(clock);
      const record = await records.issue(projectId, user, { deviceId, timeStamp });
      const message = isNew ? "User is Correctly Created" : "OK";
      return identityEnvelope({ ...record, isNew }, { status: 201, message });
    },
  });
}

/**
 * Finds or creates the anonymous user of a device. A user who registered or was merged has credentials by now, so that
 * the device alone must not lead there: it gets a new user.
 */
async function userOfDevice(
  { users, clock, random }: IdentityContext,
  projectId: string,
  registration: { readonly deviceId: string; readonly additionalId: string },
): Promise<{ readonly user: User; readonly isNew: boolean }> {
  const now = unixSeconds(clock);
  const key = { kind: "device", ...registration } as const;
  async function claimUser(): Promise<{ user: User; isNew: boolean } | undefined> {
    const offered = await users.newIds(random);
    const ids = await users.claim(projectId, key, offered);
    const unseen = newUser(ids, now, { provider: "anonymous", username: "", registration });
    const user = await users.create(projectId, withLogin(unseen, registration.deviceId, now));
    if (isAnonymous(user)) return { user, isNew: ids.userId === offered.userId };
    await users.release(projectId, key, user.userId);
    return undefined;
  }
  const message = "Cannot register the device as its user changes all the time: try again";
  const exhausted = () => new AppError("conflict", message);
  return await retry(claimUser, { attemptsMax: deviceClaimsMax, exhausted });
}

/** Logs a registered device in. A pair that does not belong together answers exactly like an unknown one. */
export function loginAnonymous(context: IdentityContext) {
  const { users, records, clock } = context;
  return operation({
    ...anonymous,
    entries: {
      data: v.pipe(
        v.object({ externalId: ExternalIdSchema, deviceId: DeviceIdSchema, ...signatureInBody }),
        v.description("The user and the registered device"),
      ),
    },
    responses: { 200: { description: "The session record", schema: RecordAnswer } },
    async run({ data }, call) {
      const { id: projectId } = call.project;
      const { deviceId } = data;
      const found = await findAnonymousUser(context, data, call, "/data/");
      const now = unixSeconds(clock);
      const user = await users.update(projectId, found.userId, old =>
        isAnonymous(old) ? withLogin(old, deviceId, now) : old,
      );
      if (user === null || !isAnonymous(user)) throw rejected();
      noteActivity(context, call, user);
      return identityEnvelope(await records.issue(projectId, user, { deviceId, timeStamp: now }));
    },
  });
}

/** Finds the user of a pair, whose members are at `at` in the request. Only misses are counted. */
export async function findAnonymousUser(
  { users, records, limiter, clock }: IdentityContext,
  pair: PresentedSignature & { readonly externalId: string; readonly deviceId: string },
  { project, info, note }: OperationCall,
  at: "" | "/data/",
): Promise<User> {
  const { externalId, deviceId } = pair;
  note({ deviceId });
  assertSignaturePresent(project, pair, at);
  const found = await users.findByKey(project.id, { kind: "external", externalId });
  const isTheirs =
    found !== null &&
    isAnonymous(found) &&
    hasDevice(found, deviceId) &&
    (await isSignedFor(found, pair, { records, project, deviceId }));
  if (!isTheirs) {
    await limiter.attempt("noLoginLookup", { projectId: project.id, address: info.address });
    throw rejected();
  }
  note({ userId: found.userId });
  if (isBanned(found, clock())) throw accountBanned(found);
  return found;
}

function noteActivity(
  { background, idleUsers }: IdentityContext,
  call: OperationCall,
  { userId }: User,
): void {
  background.run("note_seen", call.info, () => idleUsers.noteActivity(call.project.id, userId));
}

function registeredBefore(): AppError {
  return new AppError(
    "invalid_credentials",
    "Cannot register the device again without timeStamp and signature of its session record: register a new deviceId",
  );
}

function rejected(): AppError {
  return new AppError(
    "invalid_credentials",
    "Cannot log in as externalId and deviceId do not belong together",
  );
}
