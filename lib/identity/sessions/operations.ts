/**
 * Refresh and logout, the same for every provider whose users have sessions.
 *
 * @module
 */

import * as v from "valibot";
import { tokenCharsMax } from "../../auth/tokens/mod.ts";
import type { Reply } from "../../http/mod.ts";
import type { IdentityContext } from "../context.ts";
import { type Operation, type Operations, operation, UuidSchema } from "../operations.ts";
import { unixSeconds } from "../users.ts";

/** The providers whose users have sessions; all are of the strategy `email`. */
const sessionProviders = ["managedPool", "hostedIdp", "socialOne", "socialTwo", "socialThree"] as const;

const selector = {
  projectId: UuidSchema,
  strategy: v.literal("email"),
  provider: v.picklist(sessionProviders),
};

const RefreshSchema = v.object({
  ...selector,
  deviceId: UuidSchema,
  refreshToken: v.pipe(v.string(), v.minLength(1), v.maxLength(tokenCharsMax)),
});

const LogoutSchema = v.object({
  ...selector,
  scope: v.optional(v.picklist(["local", "others", "global"]), "local"),
});

/** Refresh, by provider. */
export function refreshOperations(context: IdentityContext): Operations {
  return everyProvider(refresh(context));
}

/** Logout, by provider. */
export function logoutOperations(context: IdentityContext): Operations {
  return everyProvider(logout(context));
}

function refresh({ sessions, records, abuse, clock }: IdentityContext): Operation {
  return operation({
    schema: RefreshSchema,
    async run({ projectId, provider, deviceId, refreshToken }, call): Promise<Reply> {
      const { request, info, project, note } = call;
      const { user, tokens } = await sessions.refresh(project, {
        deviceId,
        refreshToken,
        request,
        provider,
        async admit(holder) {
          note({ ...holder, deviceId });
          await abuse.attempt("refresh", { ...holder, projectId, address: info.address });
        },
      });
      const { userId, externalId, signUp } = user;
      const facts = { userId, externalId, deviceId, timeStamp: unixSeconds(clock), signUp };
      const data = { ...records.issue(projectId, facts), ...tokens };
      return { status: 200, json: { result: 1, message: "OK", data } };
    },
  });
}

function logout({ sessions }: IdentityContext): Operation {
  return operation({
    schema: LogoutSchema,
    async run({ scope }, { request, project, note }): Promise<Reply> {
      await sessions.logOut(request, project, { scope, admit: note });
      return { status: 200, json: { result: 1, message: "OK", data: {} } };
    },
  });
}

function everyProvider(one: Operation): Operations {
  return Object.fromEntries(sessionProviders.map(provider => [`email/${provider}`, one]));
}
