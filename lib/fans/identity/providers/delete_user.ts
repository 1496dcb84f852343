/** Deletion of accounts by their users. */

import * as v from "valibot";
import { tokenCharsMax } from "../../../auth/tokens/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { identityEnvelope } from "../../../http/mod.ts";
import type { IdentityContext } from "../context.ts";
import {
  authenticateUser,
  DeviceIdSchema,
  EmptyAnswer,
  type OperationCall,
  operation,
  SessionAnswer,
  UuidSchema,
} from "../operations.ts";
import type { Session } from "../sessions/session.ts";
import { unixSeconds } from "../users.ts";
import { ExternalIdSchema, signatureInQuery } from "./fields.ts";
import { findAnonymousUser, findNoLoginUser } from "./no_login.ts";

/** Age of the last login from which its session can neither change the e-mail address nor delete the account. */
const reauthenticationMsMax = 900_000;

const responses = {
  200: { description: "The account and everything about it are deleted", schema: EmptyAnswer },
} as const;

/** Deletes the user of the access token, who logged in within the last 15 minutes. */
export function deleteSessionUser(context: IdentityContext) {
  return operation({
    strategies: ["email", "simplified"],
    providers: ["managedPool", "hostedIdp", "socialOne", "socialTwo", "socialThree"],
    entries: {},
    responses,
    async run({ provider }, call) {
      const { user, session } = await authenticateUser(context, call, { provider });
      requireRecentLogin(context, session, "delete the account");
      return await remove(context, call, user.userId);
    },
  });
}

export function deleteNoLoginUser(context: IdentityContext) {
  return operation({
    strategies: ["simplified"],
    providers: ["noLogin"],
    entries: { externalId: ExternalIdSchema, ...signatureInQuery },
    responses,
    async run(input, call) {
      const { userId } = await findNoLoginUser(context, input, call, "");
      return await remove(context, call, userId);
    },
  });
}

export function deleteAnonymousUser(context: IdentityContext) {
  return operation({
    strategies: ["simplified"],
    providers: ["anonymous"],
    entries: { externalId: ExternalIdSchema, deviceId: DeviceIdSchema, ...signatureInQuery },
    responses,
    async run(input, call) {
      const { userId } = await findAnonymousUser(context, input, call, "");
      return await remove(context, call, userId);
    },
  });
}

/** @throws {AppError} `reauth_required`: the session is of a login 15 minutes ago or earlier. */
export function requireRecentLogin({ clock }: IdentityContext, session: Session, aim: string): void {
  if (clock() - session.authenticatedAt < reauthenticationMsMax) return;
  throw new AppError("reauth_required", `Cannot ${aim} as the last login is too old`);
}

async function remove({ removals }: IdentityContext, { project, note }: OperationCall, userId: string) {
  note({ userId });
  await removals.remove(project.id, userId);
  return identityEnvelope({});
}

const everyProvider = {
  strategies: ["email"],
  providers: ["managedPool", "hostedIdp", "socialOne", "socialTwo", "socialThree"],
} as const;

export function refreshUser({ sessions, records, limiter, clock }: IdentityContext) {
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
      return identityEnvelope({
        ...(await records.issue(projectId, user, { deviceId, timeStamp })),
        ...tokens,
      });
    },
  });
}

export function logOutUser({ sessions }: IdentityContext) {
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
