/**
 * The `noLogin` provider: users without credentials. Whoever knows the external id, 160 random bits, is the user.
 *
 * @module
 */

import * as v from "valibot";
import { capabilityId, uuid } from "../auth/mod.ts";
import { AppError } from "../errors/mod.ts";
import type { Reply } from "../http/mod.ts";
import type { IdentityContext } from "./context.ts";
import { type Operation, operation, UuidSchema } from "./operations.ts";
import { type User, unixSeconds } from "./users.ts";

/** Longest username, in characters. */
export const usernameCharactersMax = 100;
/** Longest external id that a request may name, in characters. */
export const externalIdCharactersMax = 128;

const selector = { projectId: UuidSchema, strategy: v.literal("simplified"), provider: v.literal("noLogin") };

const CreateSchema = v.object({
  ...selector,
  data: v.object({
    username: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(usernameCharactersMax),
      v.check(text => text.isWellFormed(), "Expected well-formed Unicode"),
    ),
  }),
});

const FetchSchema = v.object({
  ...selector,
  externalId: v.pipe(v.string(), v.minLength(1), v.maxLength(externalIdCharactersMax)),
});

/** Creates a user; the answer carries the external id, which is shown only here. */
export function createNoLoginUser({ users, records, clock, random }: IdentityContext): Operation {
  return operation({
    schema: CreateSchema,
    async run({ projectId, data }): Promise<Reply> {
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
      const { userId, externalId, username } = user;
      const { signUp: signup, ...record } = records.issue(projectId, {
        deviceId,
        timeStamp: now,
        externalId,
        userId,
        signUp: now,
      });
      return {
        status: 200,
        json: {
          result: 1,
          message: "User is Correctly Created",
          data: { ...record, isNew: true, username, signup },
        },
      };
    },
  });
}

/** Fetches a user's profile by the external id. */
export function fetchNoLoginUser({ users }: IdentityContext): Operation {
  return operation({
    schema: FetchSchema,
    async run({ projectId, externalId, strategy, provider }): Promise<Reply> {
      const user = await users.byWay(projectId, { kind: "external", externalId });
      if (user === null || user.provider !== "noLogin") {
        throw new AppError("not_found", "Cannot fetch the profile as no user has this externalId");
      }
      return { status: 200, json: { ...profile(user), strategy, provider, projectId, externalId } };
    },
  });
}

function profile({ username, loginHistory, appProfile }: User): Record<string, unknown> {
  return { result: 1, message: "OK", data: { username, loginHistory, appProfile } };
}
