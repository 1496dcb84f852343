/**
 * The routes of the identity API.
 *
 * @module
 */

import { type AnyRoute, looseRoute, open } from "../http/mod.ts";
import { EnvelopeSchema, serving, sessionErrors } from "./_serving.ts";
import type { IdentityContext } from "./context.ts";
import { DeviceSelectorSchema, type Operations, SelectorSchema } from "./operations.ts";
import { loginAnonymous, registerAnonymous } from "./providers/anonymous.ts";
import { checkHostedUser, fetchHostedUser, updateHostedUser } from "./providers/hosted_idp/profile.ts";
import { logInPoolUser } from "./providers/managed_pool/log_in.ts";
import { checkPoolUser, fetchPoolUser } from "./providers/managed_pool/profile.ts";
import { registerPoolUser } from "./providers/managed_pool/register.ts";
import { passwordRoutes } from "./providers/managed_pool/routes.ts";
import { updatePoolUser } from "./providers/managed_pool/update_user.ts";
import { createNoLoginUser, fetchNoLoginUser, updateNoLoginUser } from "./providers/no_login.ts";
import { socialRoutes } from "./providers/social/routes.ts";
import { logoutOperations, refreshOperations } from "./sessions/operations.ts";
import { optionalUserTokenGuard, userTokenGuard } from "./sessions/user_guard.ts";

/** Builds the identity routes. */
export function identityRoutes(context: IdentityContext): readonly AnyRoute[] {
  return [
    ...accountRoutes(context),
    ...profileRoutes(context),
    ...sessionRoutes(context),
    ...passwordRoutes(context),
    ...socialRoutes(context),
  ];
}

const commonErrors = ["unsupported_provider", "account_banned", "rate_limited"] as const;

function accountRoutes(context: IdentityContext): readonly AnyRoute[] {
  const { body } = serving(context);
  const register: Operations = {
    "simplified/noLogin": createNoLoginUser(context),
    "simplified/anonymous": registerAnonymous(context),
    "email/managedPool": registerPoolUser(context),
  };
  const update: Operations = {
    "simplified/noLogin": updateNoLoginUser(context),
    "email/managedPool": updatePoolUser(context),
    "email/hostedIdp": updateHostedUser(context),
  };
  return [
    looseRoute({
      auth: open,
      method: "POST",
      path: "/v1/user",
      operation: "registerUser",
      summary: "Register a user with the provider that `strategy` and `provider` name",
      body: { schema: SelectorSchema },
      responses: {
        200: { description: "The user was created (noLogin)", schema: EnvelopeSchema },
        201: { description: "The user is registered (anonymous, managedPool)", schema: EnvelopeSchema },
      },
      errors: [...commonErrors, "invalid_credentials", "weak_password", "registration_disabled"],
      handle: body(register, "register"),
    }),
    looseRoute({
      auth: optionalUserTokenGuard,
      method: "PUT",
      path: "/v1/user",
      operation: "updateUser",
      summary: "Change what a user may change",
      errors: [
        ...commonErrors,
        ...sessionErrors,
        "missing_token",
        "token_expired",
        "not_found",
        "reauth_required",
        "email_unavailable",
      ],
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The user as changed", schema: EnvelopeSchema } },
      handle: body(update, "update"),
    }),
  ];
}

function profileRoutes(context: IdentityContext): readonly AnyRoute[] {
  const { query } = serving(context);
  const profile: Operations = {
    "simplified/noLogin": fetchNoLoginUser(context),
    "email/managedPool": fetchPoolUser(context),
    "email/hostedIdp": fetchHostedUser(context),
  };
  const check: Operations = {
    "email/managedPool": checkPoolUser(context),
    "email/hostedIdp": checkHostedUser(context),
  };
  return [
    looseRoute({
      auth: optionalUserTokenGuard,
      method: "GET",
      path: "/v1/user",
      operation: "getUser",
      summary: "Fetch the profile of a user",
      errors: [...commonErrors, ...sessionErrors, "missing_token", "token_expired", "not_found"],
      query: SelectorSchema,
      responses: { 200: { description: "The profile", schema: EnvelopeSchema } },
      handle: query(profile, "profile"),
    }),
    looseRoute({
      auth: userTokenGuard,
      method: "GET",
      path: "/v1/user/check",
      operation: "checkUser",
      summary: "Check the access token of a user on a device, and fetch the profile",
      errors: [
        ...commonErrors,
        ...sessionErrors,
        "device_mismatch",
        "provider_error",
        "provider_unavailable",
      ],
      query: DeviceSelectorSchema,
      responses: { 200: { description: "The profile", schema: EnvelopeSchema } },
      handle: query(check, "check"),
    }),
  ];
}

function sessionRoutes(context: IdentityContext): readonly AnyRoute[] {
  const { body } = serving(context);
  const login: Operations = {
    "simplified/anonymous": loginAnonymous(context),
    "email/managedPool": logInPoolUser(context),
  };
  return [
    looseRoute({
      auth: open,
      method: "PUT",
      path: "/v1/user/login",
      operation: "logInUser",
      summary: "Log a user in",
      errors: [
        "unsupported_provider",
        "account_banned",
        "rate_limited",
        "too_many_attempts",
        "invalid_credentials",
        "conflict",
      ],
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The session record", schema: EnvelopeSchema } },
      handle: body(login, "login"),
    }),
    looseRoute({
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
      handle: body(refreshOperations(context), "refresh"),
    }),
    looseRoute({
      auth: userTokenGuard,
      method: "POST",
      path: "/v1/user/logout",
      operation: "logOutUser",
      summary: "End the session of the access token, all others, or all; the access token may have expired",
      errors: ["unsupported_provider", "invalid_token"],
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The sessions are over", schema: EnvelopeSchema } },
      handle: body(logoutOperations(context), "logout"),
    }),
  ];
}
