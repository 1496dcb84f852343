/**
 * The `anonymous` provider: users with a device. The pair of external id and device id is the capability.
 *
 * @module
 */

import * as v from "valibot";
import { capabilityId, uuid } from "../../../auth/crypto/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { identityEnvelope, named } from "../../../http/mod.ts";
import { answerOf, RecordAnswer, recordEntries } from "../answers.ts";
import type { IdentityContext } from "../context.ts";
import { DeviceIdSchema, type Operation, type OperationCall, operation } from "../operations.ts";
import { accountBanned, isAnonymous, isBanned, type User, unixSeconds, withLogin } from "../users.ts";
import { ExternalIdSchema } from "./fields.ts";
import {
  assertSignaturePresent,
  isSignedFor,
  type PresentedSignature,
  signatureInBody,
} from "./signature_demand.ts";

const additionalIdCharactersMax = 128;
const deviceClaimsMax = 3;

const provider = { strategies: ["simplified"], providers: ["anonymous"] } as const;

const RegisterAnswer = named(
  "AnonymousRegistration",
  answerOf(v.strictObject({ ...recordEntries, isNew: v.boolean() })),
);

/**
 * Registers a device. Repeated and racing registrations with the same `deviceId` and `additionalId` answer the same user
 * with `isNew: false`. In a project that demands signatures they must present the record, as the ids alone are no proof.
 */
export function registerAnonymous(context: IdentityContext): Operation {
  const { records, limiter, clock } = context;
  return operation({
    ...provider,
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
      if (!isNew && !isSignedFor(user, data, { records, project: call.project, deviceId })) {
        throw registeredBefore();
      }
      if (isBanned(user, clock())) throw accountBanned(user);
      noteActivity(context, call, user);
      const timeStamp = unixSeconds(clock);
      const record = records.issue(projectId, user, { deviceId, timeStamp });
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
  for (let attempt = 1; attempt <= deviceClaimsMax; attempt++) {
    const offered = users.sealIds(uuid(random), capabilityId(random));
    const ids = await users.claim(projectId, key, offered);
    const user = await users.create(projectId, {
      ...ids,
      provider: "anonymous",
      username: "",
      signUp: now,
      loginHistory: [now],
      devices: [{ deviceId: registration.deviceId, signUp: now, lastLogin: now }],
      appProfile: {},
      registration,
    });
    if (isAnonymous(user)) return { user, isNew: ids.userId === offered.userId };
    await users.release(projectId, key, user.userId);
  }
  throw new AppError("conflict", "Cannot register the device as its user changes all the time: try again");
}

/** Logs a registered device in. A pair that does not belong together answers exactly like an unknown one. */
export function loginAnonymous(context: IdentityContext): Operation {
  const { users, records, clock } = context;
  return operation({
    ...provider,
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
      return identityEnvelope(records.issue(projectId, user, { deviceId, timeStamp: now }));
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
    found !== null && hasDevice(found, deviceId) && isSignedFor(found, pair, { records, project, deviceId });
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

function hasDevice(user: User, deviceId: string): boolean {
  return isAnonymous(user) && user.devices.some(device => device.deviceId === deviceId);
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
