/**
 * The `noLogin` provider: users without credentials. Whoever knows the external id, 160 random bits, is the user.
 *
 * @module
 */

import * as v from "valibot";
import { capabilityId, uuid } from "../../auth/crypto/mod.ts";
import { AppError } from "../../errors/mod.ts";
import type { Reply } from "../../http/mod.ts";
import { isPublicName } from "../../users/mod.ts";
import type { IdentityContext } from "../context.ts";
import { type Operation, type OperationCall, operation, type Selector, UuidSchema } from "../operations.ts";
import { accountBanned, isBanned } from "../sessions/ban.ts";
import type { IssuedRecord } from "../sessions/session_records.ts";
import { type User, unixSeconds } from "../users.ts";
import { AppProfileSchema, assertAppProfileFits } from "./app_profile.ts";
import {
  assertPresented,
  type Presented,
  presentedInBody,
  presentedInQuery,
  speaksFor,
} from "./signature_demand.ts";

/** Longest username, in characters. */
export const usernameCharactersMax = 100;
/** Longest external id that a request may name, in characters. */
export const externalIdCharactersMax = 128;

/** A name that everybody may see. */
export const UsernameSchema: v.GenericSchema<string, string> = v.pipe(
  v.string(),
  v.minLength(1),
  v.maxLength(usernameCharactersMax),
  v.check(name => name === "" || isPublicName(name), "Expected visible text without control characters"),
);

const selector = { projectId: UuidSchema, strategy: v.literal("simplified"), provider: v.literal("noLogin") };

const CreateSchema = v.object({
  ...selector,
  data: v.object({ username: UsernameSchema }),
});

const externalId = v.pipe(v.string(), v.minLength(1), v.maxLength(externalIdCharactersMax));
const FetchSchema = v.object({ ...selector, externalId, ...presentedInQuery });
const UpdateSchema = v.object({
  ...selector,
  externalId,
  ...presentedInBody,
  data: v.object({ appProfile: AppProfileSchema }),
});

/** Creates a user; the answer carries the external id, which is shown only here. */
export function createNoLoginUser(context: IdentityContext): Operation {
  const { users, records, abuse, clock, random } = context;
  return operation({
    schema: CreateSchema,
    async run({ projectId, data }, call): Promise<Reply> {
      await abuse.attempt("noLoginCreate", { projectId, address: call.info.address });
      const now = unixSeconds(clock);
      const deviceId = uuid(random);
      const user = await users.create(projectId, {
        userId: uuid(random),
        externalId: capabilityId(random),
        provider: "noLogin",
        username: data.username,
        signUp: now,
        loginHistory: [now],
        devices: [{ deviceId, signUp: now, lastLogin: now }],
        appProfile: {},
      });
      call.note({ userId: user.userId, deviceId });
      return created(user, records.issue(projectId, { ...user, deviceId, timeStamp: now }));
    },
  });
}

function created({ username }: User, { signUp: signup, ...record }: IssuedRecord): Reply {
  const data = { ...record, isNew: true, username, signup };
  return { status: 200, json: { result: 1, message: "User is Correctly Created", data } };
}

/** Fetches a user's profile by the external id. */
export function fetchNoLoginUser(context: IdentityContext): Operation {
  return operation({
    schema: FetchSchema,
    isLookup: true,
    async run(input, call): Promise<Reply> {
      const user = await find(context, input, call);
      return profile(user, input);
    },
  });
}

/** Replaces a user's application profile. */
export function updateNoLoginUser(context: IdentityContext): Operation {
  return operation({
    schema: UpdateSchema,
    async run(input, call): Promise<Reply> {
      const { appProfile } = input.data;
      assertAppProfileFits(appProfile);
      const { userId } = await find(context, input, call);
      const user = await context.users.update(input.projectId, userId, old => ({ ...old, appProfile }));
      if (user === null) throw unknown();
      return profile(user, input);
    },
  });
}

interface Named extends Presented {
  readonly projectId: string;
  readonly externalId: string;
}

/**
 * The user that a request names. Only misses are counted: who knows an external id of 160 bits is not guessing, and the
 * people behind one address at an event must not use up each other's look-ups.
 */
async function find(context: IdentityContext, named: Named, call: OperationCall): Promise<User> {
  const { users, records, abuse, clock } = context;
  const { projectId, externalId: key } = named;
  assertPresented(call.project, named, call.request.method === "GET" ? "" : "/");
  const user = await users.byWay(projectId, { kind: "external", externalId: key });
  const isTheirs = user?.provider === "noLogin" && speaksFor(user, named, { records, project: call.project });
  if (!isTheirs) {
    await abuse.attempt("noLoginLookup", { projectId, address: call.info.address });
    throw unknown();
  }
  call.note({ userId: user.userId });
  if (isBanned(user, clock())) throw accountBanned(user);
  return user;
}

function unknown(): AppError {
  return new AppError("not_found", "Cannot serve the request as no user has this externalId");
}

function profile(user: User, named: Selector & Named): Reply {
  const { strategy, provider, projectId, externalId: key } = named;
  const { username, loginHistory, appProfile } = user;
  const data = { username, loginHistory, appProfile };
  return {
    status: 200,
    json: { result: 1, message: "OK", data, strategy, provider, projectId, externalId: key },
  };
}
