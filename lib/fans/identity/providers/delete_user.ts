/**
 * Deletion of accounts by their users.
 *
 * @module
 */

import { invalidToken } from "../../../auth/tokens/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { identityEnvelope } from "../../../http/mod.ts";
import { EmptyAnswer } from "../answers.ts";
import type { IdentityContext } from "../context.ts";
import { DeviceIdSchema, type Operation, type OperationCall, operation } from "../operations.ts";
import type { Session } from "../sessions/session.ts";
import { findAnonymousUser } from "./anonymous.ts";
import { ExternalIdSchema } from "./fields.ts";
import { findNoLoginUser } from "./no_login.ts";
import { signatureInQuery } from "./signature_demand.ts";

/** Age of the last login from which its session can neither change the e-mail address nor delete the account. */
const reauthenticationMsMax = 900_000;

const responses = {
  200: { description: "The account and everything about it are deleted", schema: EmptyAnswer },
} as const;

/** Deletes the user of the access token, who logged in within the last 15 minutes. */
export function deleteSessionUser(context: IdentityContext): Operation {
  return operation({
    strategies: ["email", "simplified"],
    providers: ["managedPool", "hostedIdp", "socialOne", "socialTwo", "socialThree"],
    entries: {},
    responses,
    async run({ provider }, call) {
      const { user, session } = await context.sessions.authenticate(call.request, call.project, {
        authorize: call.note,
      });
      if (user.provider !== provider) throw invalidToken("provider");
      requireRecentLogin(context, session, "delete the account");
      return await remove(context, call, user.userId);
    },
  });
}

/** Deletes the user of the external id. */
export function deleteNoLoginUser(context: IdentityContext): Operation {
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

/** Deletes the user of the external id and device. */
export function deleteAnonymousUser(context: IdentityContext): Operation {
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
