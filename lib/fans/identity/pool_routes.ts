/**
 * The routes of e-mail accounts: passwords and the verification of addresses.
 *
 * @module
 */

import type { AnyRoute } from "../../http/mod.ts";
import type { IdentityContext } from "./context.ts";
import { operationRoute, optionalUserTokenGuard, sessionErrors, userTokenGuard } from "./operations.ts";
import { changePoolPassword } from "./providers/managed_pool/change_password.ts";
import { confirmPoolPassword, forgotPoolPassword } from "./providers/managed_pool/recover_password.ts";
import { confirmEmail, sendEmailCode } from "./providers/managed_pool/verify_email.ts";

const mailedCodeErrors = [
  "rate_limited",
  "too_many_attempts",
  "missing_token",
  "invalid_token",
  "token_expired",
] as const;

/** The selector of the pool in examples. */
export const pool = {
  projectId: "0c000000-0000-4000-8000-000000000001",
  strategy: "email",
  provider: "managedPool",
} as const;
/** The address of examples. */
export const email = "fan@example.org";

/** Builds the routes of e-mail accounts. */
export function poolRoutes(context: IdentityContext): readonly AnyRoute[] {
  return [...passwordRoutes(context), ...verificationRoutes(context)];
}

function passwordRoutes(context: IdentityContext): readonly AnyRoute[] {
  return [
    operationRoute(context, {
      method: "PUT",
      path: "/v1/user/change-password",
      operation: "changePassword",
      summary: "Change the password",
      description: "Changes the password by the previous one, ends all other sessions and opens a new one.",
      auth: userTokenGuard,
      event: "change_password",
      schemas: { body: "PasswordChange" },
      operations: [changePoolPassword(context)],
      errors: [
        "rate_limited",
        "too_many_attempts",
        ...sessionErrors,
        "invalid_credentials",
        "weak_password",
        "same_password",
        "conflict",
      ],
      example: {
        ...pool,
        data: { previousPassword: "correct horse battery", password: "battery staple correct" },
      },
    }),
    operationRoute(context, {
      method: "PUT",
      path: "/v1/user/forgot-password",
      operation: "forgotPassword",
      summary: "Mail a code for a new password",
      description:
        "Mails a code for a new password to the user of the address. The bearer is a client token or an access token, unless the project serves requests without.",
      auth: optionalUserTokenGuard,
      event: "forgot_password",
      schemas: { body: "PasswordRecovery" },
      operations: [forgotPoolPassword(context)],
      errors: mailedCodeErrors,
      example: { ...pool, data: { email } },
    }),
    operationRoute(context, {
      method: "POST",
      path: "/v1/user/confirm-forgot-password",
      operation: "confirmPassword",
      summary: "Set a new password by a code",
      description:
        "Sets a new password by the mailed code and ends all sessions. The bearer is a client token or an access token, unless the project serves requests without.",
      auth: optionalUserTokenGuard,
      event: "confirm_password",
      schemas: { body: "PasswordConfirmation" },
      operations: [confirmPoolPassword(context)],
      errors: [...mailedCodeErrors, "invalid_code", "weak_password"],
      example: {
        ...pool,
        data: { email, confirmationCode: "12345678", password: "battery staple correct" },
      },
    }),
  ];
}

function verificationRoutes(context: IdentityContext): readonly AnyRoute[] {
  return [
    operationRoute(context, {
      method: "PUT",
      path: "/v1/user/verify-email",
      operation: "verifyEmail",
      summary: "Mail a code that verifies the address",
      description:
        "Mails a code to the user of the address, if it is not verified yet. The bearer is a client token or an access token, unless the project serves requests without.",
      auth: optionalUserTokenGuard,
      event: "verify_email",
      schemas: { body: "EmailVerification" },
      operations: [sendEmailCode(context)],
      errors: [...mailedCodeErrors, "not_available"],
      example: { ...pool, data: { email } },
    }),
    operationRoute(context, {
      method: "POST",
      path: "/v1/user/confirm-email",
      operation: "confirmEmail",
      summary: "Verify the address by a code",
      description:
        "Marks the address as verified by the mailed code. The bearer is a client token or an access token, unless the project serves requests without.",
      auth: optionalUserTokenGuard,
      event: "confirm_email",
      schemas: { body: "EmailConfirmation" },
      operations: [confirmEmail(context)],
      errors: [...mailedCodeErrors, "not_available", "invalid_code"],
      example: { ...pool, data: { email, confirmationCode: "12345678" } },
    }),
  ];
}
