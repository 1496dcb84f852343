/**
 * The routes that only users with a password have.
 *
 * @module
 */

import { type AnyRoute, looseRoute } from "../../../http/mod.ts";
import { EnvelopeSchema, serving, sessionErrors } from "../../_serving.ts";
import type { IdentityContext } from "../../context.ts";
import { SelectorSchema } from "../../operations.ts";
import { optionalUserTokenGuard, userTokenGuard } from "../../sessions/user_guard.ts";
import { changePoolPassword } from "./change_password.ts";
import { confirmPoolPassword } from "./confirm_password.ts";
import { forgotPoolPassword } from "./forgot_password.ts";

/** Builds the routes of passwords. */
export function passwordRoutes(context: IdentityContext): readonly AnyRoute[] {
  const { body } = serving(context);
  const name = "email/managedPool";
  const errors = ["unsupported_provider", "rate_limited", "too_many_attempts"] as const;
  // Whether forgot and confirm need a bearer is a setting of the project, which the body names.
  const recovery = [...errors, "missing_token", "invalid_token", "token_expired"] as const;
  return [
    looseRoute({
      auth: userTokenGuard,
      method: "PUT",
      path: "/v1/user/change-password",
      operation: "changePassword",
      summary: "Change the password, end all other sessions, and get a new session record",
      errors: [
        ...errors,
        ...sessionErrors,
        "invalid_credentials",
        "weak_password",
        "same_password",
        "conflict",
      ],
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The new session record with tokens", schema: EnvelopeSchema } },
      handle: body({ [name]: changePoolPassword(context) }, "change_password"),
    }),
    looseRoute({
      auth: optionalUserTokenGuard,
      method: "PUT",
      path: "/v1/user/forgot-password",
      operation: "forgotPassword",
      summary:
        "Mail a code for a new password, where the address has a user; with a client token or access token",
      errors: recovery,
      body: { schema: SelectorSchema },
      responses: { 200: { description: "The request was taken", schema: EnvelopeSchema } },
      handle: body({ [name]: forgotPoolPassword(context) }, "forgot_password"),
    }),
    looseRoute({
      auth: optionalUserTokenGuard,
      method: "POST",
      path: "/v1/user/confirm-forgot-password",
      operation: "confirmPassword",
      summary: "Set a new password with the code that was mailed; with a client token or access token",
      errors: [...recovery, "invalid_code", "weak_password"],
      body: { schema: SelectorSchema },
      responses: {
        200: { description: "The password was set, all sessions are over", schema: EnvelopeSchema },
      },
      handle: body({ [name]: confirmPoolPassword(context) }, "confirm_password"),
    }),
  ];
}
