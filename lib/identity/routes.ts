/**
 * The routes of the identity API that exist so far: the credential-less and the anonymous users.
 *
 * @module
 */

import * as v from "valibot";
import { type AnyRoute, open, type Reply, route } from "../http/mod.ts";
import { loginAnonymous, registerAnonymous } from "./anonymous.ts";
import type { IdentityContext } from "./context.ts";
import { createNoLoginUser, fetchNoLoginUser, updateNoLoginUser } from "./no_login.ts";
import {
  type CallFacts,
  type Operations,
  runOperation,
  type Selector,
  SelectorSchema,
} from "./operations.ts";
import { logoutOperations, refreshOperations } from "./sessions/operations.ts";
import { userTokenGuard } from "./user_guard.ts";

/** What a token of a user may be refused for. */
const sessionErrors = ["invalid_token", "session_revoked", "account_banned"] as const;

const EnvelopeSchema = v.looseObject({
  result: v.pipe(v.number(), v.integer()),
  message: v.string(),
  data: v.looseObject({}),
});

/** Builds the identity routes. */
export function identityRoutes(context: IdentityContext): readonly AnyRoute[] {
  const body =
    (operations: Operations, event: string) =>
    (call: CallFacts & { readonly body: Selector }): Promise<Reply> =>
      runOperation(operations, call.body, { context, event, subject: "body", call });
  const query =
    (operations: Operations, event: string) =>
    (call: CallFacts & { readonly query: Selector }): Promise<Reply> =>
      runOperation(operations, call.query, { context, event, subject: "parameters", call });
  const register: Operations = {
    "simplified/noLogin": createNoLoginUser(context),
    "simplified/anonymous": registerAnonymous(context),
  };
  const profile: Operations = { "simplified/noLogin": fetchNoLoginUser(context) };
  const update: Operations = { "simplified/noLogin": updateNoLoginUser(context) };
  const refresh = refreshOperations(context);
  const logout = logoutOperations(context);
  const login: Operations = { "simplified/anonymous": loginAnonymous(context) };
  const common = { auth: open, errors: ["unsupported_provider", "account_banned", "rate_limited"] as const };
  return [
    route({
      ...common,
      method: "POST",
      path: "/v1/user",
      operation: "registerUser",
      summary: "Register a user with the provider that `strategy` and `provider` name",
      body: { schema: SelectorSchema },
      responses: {
        200: { description: "The user was created (noLogin)", schema: EnvelopeSchema },
        201: { description: "The user is registered (anonymous)", schema: EnvelopeSchema },
      },
      handle: body(register, "register"),
    }),
    route({
      ...common,
      method: "GET",
      path: "/v1/user",
      operation: "getUser",
      summary: "Fetch the profile of a user",
      errors: [...common.errors, "not_found"],
      query: SelectorSchema,
      responses: { 200: { description: "The profile", schema: EnvelopeSchema } },
      handle: query(profile, "profile"),
    }),
    route({
      ...common,
      method: "PUT",
      path: "/v1/user",
      operation: "updateUser",
      summary: "Change what a user may change",
      errors: [...common.errors, "not_found"],
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The user as changed", schema: EnvelopeSchema } },
      handle: body(update, "update"),
    }),
    route({
      ...common,
      method: "PUT",
      path: "/v1/user/login",
      operation: "logInUser",
      summary: "Log a user in",
      errors: [...common.errors, "invalid_credentials"],
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The session record", schema: EnvelopeSchema } },
      handle: body(login, "login"),
    }),
    route({
      auth: userTokenGuard,
      method: "POST",
      path: "/v1/user/refresh",
      operation: "refreshUser",
      summary: "Exchange a refresh token for new tokens; the access token may have expired",
      errors: [
        "unsupported_provider",
        ...sessionErrors,
        "refresh_token_reused",
        "device_mismatch",
        "rate_limited",
      ],
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The session record with new tokens", schema: EnvelopeSchema } },
      handle: body(refresh, "refresh"),
    }),
    route({
      auth: userTokenGuard,
      method: "POST",
      path: "/v1/user/logout",
      operation: "logOutUser",
      summary: "End the session of the access token, all others, or all; the access token may have expired",
      errors: ["unsupported_provider", "invalid_token"],
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The sessions are over", schema: EnvelopeSchema } },
      handle: body(logout, "logout"),
    }),
  ];
}
