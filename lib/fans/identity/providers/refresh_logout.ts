/**
 * Refresh and logout, the same for every provider whose users have sessions.
 *
 * @module
 */

import * as v from "valibot";
import { tokenCharsMax } from "../../../auth/tokens/mod.ts";
import { identityEnvelope } from "../../../http/mod.ts";
import { EmptyAnswer, SessionAnswer } from "../answers.ts";
import type { IdentityContext } from "../context.ts";
import { type Operation, operation, UuidSchema } from "../operations.ts";
import { unixSeconds } from "../users.ts";

const everyProvider = {
  strategies: ["email"],
  providers: ["managedPool", "hostedIdp", "socialOne", "socialTwo", "socialThree"],
} as const;

/** Exchanges a refresh token for new tokens. */
export function refreshUser({ sessions, records, limiter, clock }: IdentityContext): Operation {
  return operation({
    ...everyProvider,
    entries: {
      deviceId: v.pipe(UuidSchema, v.description("Device of the session, a UUID")),
      refreshToken: v.pipe(
        v.string(),
        v.description("The last refresh token of the session, which is exchanged once"),
        v.minLength(1),
        v.maxLength(tokenCharsMax),
      ),
    },
    responses: { 200: { description: "The session record with new tokens", schema: SessionAnswer } },
    async run({ projectId, provider, deviceId, refreshToken }, { request, info, project, note }) {
      const { user, session, tokens } = await sessions.refresh(project, {
        deviceId,
        refreshToken,
        request,
        provider,
        async authorize(holder) {
          note({ ...holder, deviceId });
          await limiter.attempt("refresh", { ...holder, projectId, address: info.address });
        },
      });
      // A record from before its session would prove nothing, and another process, with another clock, opened it.
      const timeStamp = Math.max(unixSeconds(clock), Math.floor(session.createdAt / 1_000));
      return identityEnvelope({ ...records.issue(projectId, user, { deviceId, timeStamp }), ...tokens });
    },
  });
}

/** Ends the session of the access token, all others, or all. */
export function logOutUser({ sessions }: IdentityContext): Operation {
  return operation({
    ...everyProvider,
    entries: {
      scope: v.pipe(
        v.optional(v.picklist(["local", "others", "global"]), "local"),
        v.description("Ends the session of the token (`local`), all other sessions of the user, or all"),
      ),
    },
    responses: { 200: { description: "The sessions are over", schema: EmptyAnswer } },
    async run({ scope }, { request, project, note }) {
      await sessions.logOut(request, project, { scope, authorize: note });
      return identityEnvelope({});
    },
  });
}
