/**
 * The `anonymous` provider: users known by their device. The pair of external id and device id is the capability.
 *
 * @module
 */

import * as v from "valibot";
import { capabilityId, uuid } from "../../auth/crypto/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Reply } from "../../http/mod.ts";
import type { IdentityContext } from "../context.ts";
import { type Operation, type OperationCall, operation, UuidSchema } from "../operations.ts";
import { accountBanned, isBanned } from "../sessions/ban.ts";
import { isAnonymous, loggedIn, type User, unixSeconds } from "../users.ts";
import { externalIdCharactersMax } from "./no_login.ts";
import { assertPresented, presentedInBody, speaksFor } from "./signature_demand.ts";

/** Longest `additionalId`, in characters. */
export const additionalIdCharactersMax = 128;

const RegisterSchema = v.object({
  data: v.object({
    deviceId: UuidSchema,
    additionalId: v.optional(
      v.pipe(
        v.string(),
        v.maxLength(additionalIdCharactersMax),
        v.check(text => text.isWellFormed(), "Expected well-formed Unicode"),
      ),
      "",
    ),
  }),
});

const LoginSchema = v.object({
  data: v.object({
    externalId: v.pipe(v.string(), v.minLength(1), v.maxLength(externalIdCharactersMax)),
    deviceId: UuidSchema,
    ...presentedInBody,
  }),
});

/** How often a registration starts again because its device led to a user who is not anonymous any more. */
export const deviceClaimsMax = 3;

/**
 * Registers a device. Doing so again with the same `deviceId` and `additionalId`, also at the same time, answers the
 * same user with `isNew: false`.
 */
export function registerAnonymous(context: IdentityContext): Operation {
  const { records, abuse, clock } = context;
  return operation({
    schema: RegisterSchema,
    async run({ data: { deviceId, additionalId } }, call): Promise<Reply> {
      const { id: projectId } = call.project;
      call.note({ deviceId });
      await abuse.attempt("anonymousRegister", { projectId, address: call.info.address });
      const { user, isNew } = await userOfDevice(context, projectId, { deviceId, additionalId });
      const { userId, externalId, signUp } = user;
      call.note({ userId });
      if (isBanned(user, clock())) throw accountBanned(user);
      noteSeen(context, call, user);
      const timeStamp = unixSeconds(clock);
      const record = records.issue(projectId, { userId, externalId, deviceId, timeStamp, signUp });
      return {
        status: 201,
        json: { result: 1, message: isNew ? "User is Correctly Created" : "OK", data: { ...record, isNew } },
      };
    },
  });
}

/**
 * The anonymous user of a device, made where there is none. A user who registered or was merged has credentials by now,
 * to which a device alone must not lead: the device gets a new user then.
 */
async function userOfDevice(
  { users, clock, random }: IdentityContext,
  projectId: string,
  registration: { readonly deviceId: string; readonly additionalId: string },
): Promise<{ readonly user: User; readonly isNew: boolean }> {
  const now = unixSeconds(clock);
  const way = { kind: "device", ...registration } as const;
  for (let attempt = 1; attempt <= deviceClaimsMax; attempt++) {
    const offered = { userId: uuid(random), externalId: capabilityId(random) };
    const ids = await users.claim(projectId, way, offered);
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
    await users.release(projectId, way, user.userId);
  }
  throw new AppError("conflict", "Cannot register the device as its user changes all the time: try again");
}

/** Logs a registered device in. A pair that does not belong together answers exactly like an unknown one. */
export function loginAnonymous(context: IdentityContext): Operation {
  const { users, records, abuse, clock } = context;
  return operation({
    schema: LoginSchema,
    async run({ data }, call): Promise<Reply> {
      const { id: projectId } = call.project;
      const { externalId, deviceId } = data;
      call.note({ deviceId });
      assertPresented(call.project, data, "/data/");
      const found = await users.byWay(projectId, { kind: "external", externalId });
      const isTheirs =
        found !== null &&
        owns(found, deviceId) &&
        speaksFor(found, data, { records, project: call.project, deviceId });
      if (!isTheirs) {
        await abuse.attempt("noLoginLookup", { projectId, address: call.info.address });
        throw rejected();
      }
      call.note({ userId: found.userId });
      const now = unixSeconds(clock);
      if (isBanned(found, clock())) throw accountBanned(found);
      const user = await users.update(projectId, found.userId, old =>
        isAnonymous(old) ? loggedIn(old, deviceId, now) : old,
      );
      if (user === null || !isAnonymous(user)) throw rejected();
      noteSeen(context, call, user);
      const { userId, signUp } = user;
      const record = records.issue(projectId, { userId, externalId, deviceId, timeStamp: now, signUp });
      return { status: 200, json: { result: 1, message: "OK", data: record } };
    },
  });
}

function noteSeen({ background, idleUsers }: IdentityContext, call: OperationCall, { userId }: User): void {
  background.run("note_seen", call.info, () => idleUsers.seen(call.project.id, userId));
}

function owns(user: User, deviceId: string): boolean {
  return isAnonymous(user) && user.devices.some(device => device.deviceId === deviceId);
}

function rejected(): AppError {
  return new AppError(
    "invalid_credentials",
    "Cannot log in as externalId and deviceId do not belong together",
  );
}
