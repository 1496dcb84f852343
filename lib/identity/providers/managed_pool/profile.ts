/**
 * Profiles of users of the managed pool.
 *
 * @module
 */

import * as v from "valibot";
import { AppError } from "../../../errors/mod.ts";
import { type JsonText, jsonText, type Reply } from "../../../http/mod.ts";
import type { IdentityContext } from "../../context.ts";
import { type Operation, type OperationCall, operation, UuidSchema } from "../../operations.ts";
import { deviceItems } from "../../sessions/device_items.ts";
import type { User } from "../../users.ts";
import { type PoolUser, poolUser } from "./pool_user.ts";
import { poolSettings } from "./settings.ts";

const FetchSchema = v.object({});
const CheckSchema = v.object({ deviceId: UuidSchema });

/** Fetches the profile of the bearer. */
export function fetchPoolUser(context: IdentityContext): Operation {
  return operation({
    schema: FetchSchema,
    isLookup: true,
    async run(_, call): Promise<Reply> {
      return profileReply(context, call, await lookUp(context, call));
    },
  });
}

/** Checks the bearer, on whatever device or, where the project wants it so, on that of the session alone. */
export function checkPoolUser(context: IdentityContext): Operation {
  return operation({
    schema: CheckSchema,
    isLookup: true,
    async run({ deviceId }, call): Promise<Reply> {
      const caller = await lookUp(context, call);
      const isStrict = poolSettings(call.project).deviceCheck === "session";
      if (isStrict && deviceId !== caller.session.deviceId) {
        throw new AppError("device_mismatch", "Cannot check the user as the session is of another device");
      }
      return profileReply(context, call, caller);
    },
  });
}

/** The bearer, counted before anything is read. */
async function lookUp(context: IdentityContext, call: OperationCall): Promise<PoolUser> {
  const { project, info } = call;
  return await poolUser(context, call, async ({ userId }) => {
    await context.abuse.attempt("profile", { projectId: project.id, address: info.address, userId });
  });
}

const texts = new WeakMap<User, string>();

/** Written once per state of the user: sessions answer the same object for as long as the user is unchanged. */
function profileReply(context: IdentityContext, { project }: OperationCall, caller: PoolUser): Reply {
  const text = texts.get(caller.user) ?? JSON.stringify(profileBody(context, project.id, caller));
  texts.set(caller.user, text);
  return jsonText(text as JsonText<unknown>);
}

function profileBody(
  context: IdentityContext,
  projectId: string,
  { user, account: { email, nickname, terms, updatedAt } }: PoolUser,
): unknown {
  const { username, userId, loginHistory } = user;
  const optins = { "custom:terms_optin1": terms[0], "custom:terms_optin2": terms[1] };
  const data = {
    data: { username, email, ...optins, nickname, userId, loginHistory },
    ...optins,
    updatedAt: String(updatedAt),
    nickname,
    email,
    devices: deviceItems(context, projectId, user),
  };
  return { result: 1, message: "OK", data };
}
