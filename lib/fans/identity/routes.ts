/** The routes of the identity API. */

import * as v from "valibot";
import { open } from "../../http/mod.ts";
import type { IdentityContext } from "./context.ts";
import {
  DeviceIdSchema,
  operationRoute,
  optionalUserTokenGuard,
  sessionErrors,
  userTokenGuard,
} from "./operations.ts";
import {
  deleteAnonymousUser,
  deleteNoLoginUser,
  deleteSessionUser,
  logOutUser,
  refreshUser,
} from "./providers/delete_user.ts";
import { logInByCode } from "./providers/managed_pool/code_login.ts";
import {
  confirmEmail,
  confirmPoolPassword,
  forgotPoolPassword,
  mailLoginCode,
  sendEmailCode,
} from "./providers/managed_pool/mailed_codes.ts";
import { logInPoolUser, registerPoolUser } from "./providers/managed_pool/register.ts";
import {
  changePoolPassword,
  checkPoolUser,
  fetchPoolUser,
  updatePoolUser,
} from "./providers/managed_pool/update_user.ts";
import {
  createNoLoginUser,
  fetchNoLoginUser,
  logInNoLoginUser,
  loginAnonymous,
  registerAnonymous,
  updateNoLoginUser,
} from "./providers/no_login.ts";
import { beginOpenIdLogin, confirmOpenIdLogin, logInHostedUser } from "./providers/openid_login.ts";
import { socialChecks } from "./providers/social_check.ts";
import { checkHostedUser, fetchHostedUser, updateHostedUser } from "./providers/vouched_users.ts";

const commonErrors = ["account_banned", "rate_limited"] as const;
const providerErrors = ["provider_error", "provider_unavailable"] as const;
const profileErrors = [
  ...commonErrors,
  ...sessionErrors,
  "missing_token",
  "token_expired",
  "not_found",
  ...providerErrors,
] as const;
const deviceId = "5f0c2e5a-7a31-4b0e-9c1d-2f3a4b5c6d7e";

/** Documents a parameter; the operation checks its value. */
const parameter = (description: string) => v.exactOptional(v.pipe(v.string(), v.description(description)));

const timeStamp = v.exactOptional(
  v.pipe(
    v.string(),
    v.metadata({
      type: "integer",
      description: "Time of the session record, if the project demands its signature",
    }),
  ) as v.GenericSchema as v.GenericSchema<string, number>,
);

/** Builds the identity routes. */
export function identityRoutes(context: IdentityContext) {
  return [
    ...accountRoutes(context),
    deletionRoute(context),
    ...profileRoutes(context),
    ...sessionRoutes(context),
    ...openIdRoutes(context),
    ...poolRoutes(context),
  ];
}

function accountRoutes(context: IdentityContext) {
  return [
    operationRoute(context, {
      method: "POST",
      path: "/v1/user",
      operation: "registerUser",
      summary: "Register a user",
      description:
        "Registers a user with the provider that `strategy` and `provider` select. Registering an e-mail address answers the same whether it is free or taken.",
      auth: open,
      event: "register",
      schemas: { body: "Registration", answer: "RegisteredUser" },
      operations: [createNoLoginUser(context), registerAnonymous(context), registerPoolUser(context)],
      errors: [...commonErrors, "invalid_credentials", "weak_password", "registration_disabled", "conflict"],
      example: { ...pool, data: { email, password: "correct horse battery", nickname: "Fan" } },
    }),
    operationRoute(context, {
      method: "PUT",
      path: "/v1/user",
      operation: "updateUser",
      summary: "Change a user",
      description:
        "Changes the profile of the user: of the external id for `noLogin`, of the access token for the other providers. For `hostedIdp` it may be a token of the provider.",
      auth: optionalUserTokenGuard,
      event: "update",
      schemas: { body: "UserChanges", answer: "UpdatedUser" },
      operations: [updateNoLoginUser(context), updatePoolUser(context), updateHostedUser(context)],
      errors: [...profileErrors, "reauth_required", "email_unavailable"],
      example: { ...pool, data: { nickname: "Super fan" } },
    }),
  ];
}

function deletionRoute(context: IdentityContext) {
  return operationRoute(context, {
    method: "DELETE",
    path: "/v1/user",
    operation: "deleteOwnUser",
    summary: "Delete a user's account",
    description:
      "Deletes the account and everything about it for ever: sessions, credentials, scores, loyalty and profile. The user is that of the external id for `noLogin`, of external id and device for `anonymous`, and else of the access token, whose login is at most 15 minutes old.",
    auth: optionalUserTokenGuard,
    event: "delete",
    operations: [deleteSessionUser(context), deleteNoLoginUser(context), deleteAnonymousUser(context)],
    errors: [
      ...commonErrors,
      ...sessionErrors,
      "missing_token",
      "token_expired",
      "not_found",
      "invalid_credentials",
      "reauth_required",
    ],
    query: {
      externalId: parameter("External id of a `noLogin` or `anonymous` user"),
      deviceId: parameter("Device of an `anonymous` user"),
      timeStamp,
      signature: parameter("Signature of the session record, if the project demands it"),
    },
  });
}

function profileRoutes(context: IdentityContext) {
  return [
    operationRoute(context, {
      method: "GET",
      path: "/v1/user",
      operation: "getUser",
      summary: "Fetch the profile of a user",
      description:
        "Fetches the profile of the user: of the external id for `noLogin`, of the access token for the other providers. For `hostedIdp` it may be a token of the provider.",
      auth: optionalUserTokenGuard,
      event: "profile",
      schemas: { answer: "IdentityProfile" },
      operations: [fetchNoLoginUser(context), fetchPoolUser(context), fetchHostedUser(context)],
      errors: profileErrors,
      query: {
        externalId: parameter("External id of a `noLogin` user"),
        timeStamp,
        signature: parameter("Signature of the session record, if the project demands it"),
      },
    }),
    operationRoute(context, {
      method: "GET",
      path: "/v1/user/check",
      operation: "checkUser",
      summary: "Check a token on a device",
      description:
        "Checks the access token of a user on a device, and fetches the profile. For `hostedIdp` it may be a token of the provider, which logs the user in.",
      auth: userTokenGuard,
      event: "check",
      schemas: { answer: "CheckedUser" },
      operations: [checkPoolUser(context), checkHostedUser(context)],
      errors: [...commonErrors, ...sessionErrors, "device_mismatch", ...providerErrors],
      query: { deviceId: v.pipe(DeviceIdSchema, v.description("Id of the device")) },
    }),
    operationRoute(context, {
      method: "GET",
      path: "/v1/user/check/nonstandard",
      operation: "checkSocialUser",
      summary: "Check a token of a social provider",
      description:
        "Checks the token of a social provider and fetches the profile of its user. With a `deviceId` the user logs in on that device.",
      auth: userTokenGuard,
      event: "social_check",
      operations: socialChecks(context),
      errors: [
        ...sessionErrors,
        "token_expired",
        "social_token_rejected",
        "rate_limited",
        "too_many_attempts",
        ...providerErrors,
      ],
      query: {
        userId: parameter("Id of the user at the provider, demanded for `socialOne`"),
        accessToken: parameter("Access token of the provider"),
        idToken: parameter("ID token of the provider"),
        deviceId: v.exactOptional(v.pipe(DeviceIdSchema, v.description("Device to log in on"))),
      },
    }),
  ];
}

function sessionRoutes(context: IdentityContext) {
  return [
    operationRoute(context, {
      method: "PUT",
      path: "/v1/user/login",
      operation: "logInUser",
      summary: "Log a user in",
      description:
        "Logs a user in and answers the session record, with tokens for e-mail users. A `noLogin` user gets a new record for the external id, and a `hostedIdp` user comes to exist with the first login. The ids of an anonymous user in the request merge that user into the account.",
      auth: open,
      event: "login",
      schemas: { body: "Login", answer: "LoggedInUser" },
      operations: [
        logInNoLoginUser(context),
        loginAnonymous(context),
        logInPoolUser(context),
        logInHostedUser(context),
      ],
      errors: [
        ...commonErrors,
        "rate_limited",
        "invalid_token",
        "token_expired",
        "session_revoked",
        ...providerErrors,
        "too_many_attempts",
        "invalid_credentials",
        "email_not_verified",
        "not_found",
        "conflict",
      ],
      example: { ...pool, data: { email, password: "correct horse battery", deviceId } },
    }),
    operationRoute(context, {
      method: "POST",
      path: "/v1/user/refresh",
      operation: "refreshUser",
      summary: "Exchange a refresh token for new tokens",
      description:
        "Exchanges a refresh token for new tokens. The bearer is an access token of the same session, which may have expired.",
      auth: userTokenGuard,
      event: "refresh",
      schemas: { body: "SessionRefresh" },
      operations: [refreshUser(context)],
      errors: [...sessionErrors, "refresh_token_reused", "device_mismatch", "rate_limited"],
      example: { ...pool, deviceId, refreshToken: "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl" },
    }),
    operationRoute(context, {
      method: "POST",
      path: "/v1/user/logout",
      operation: "logOutUser",
      summary: "Log a user out",
      description:
        "Ends the session of the access token (`local`), all others (`others`) or all (`global`). The token may have expired.",
      auth: userTokenGuard,
      event: "logout",
      schemas: { body: "Logout" },
      operations: [logOutUser(context)],
      errors: ["invalid_token"],
      example: { ...pool, scope: "local" },
    }),
  ];
}

function openIdRoutes(context: IdentityContext) {
  const hosted = { ...pool, provider: "hostedIdp" };
  const returnTo = "https://app.example/welcome";
  return [
    operationRoute(context, {
      method: "POST",
      path: "/v1/user/authorize",
      operation: "beginOpenIdLogin",
      summary: "Begin a login at an OpenID provider",
      description:
        "Answers the address at the provider to send the browser to, and the key of the login. The provider sends the user back to `returnTo` with a code and the state.",
      auth: open,
      event: "openid_login",
      schemas: { body: "OpenIdLoginRequest" },
      operations: [beginOpenIdLogin(context)],
      errors: ["rate_limited", "not_available", ...providerErrors],
      example: { ...hosted, data: { returnTo } },
    }),
    operationRoute(context, {
      method: "POST",
      path: "/v1/user/confirm-authorize",
      operation: "confirmOpenIdLogin",
      summary: "Log in with the code of an OpenID provider",
      description:
        "Exchanges the code at the provider and logs its user in, who comes to exist with the first login. The ids of an anonymous user in the request merge that user into the account.",
      auth: open,
      event: "openid_confirm",
      schemas: { body: "OpenIdConfirmation" },
      operations: [confirmOpenIdLogin(context)],
      errors: [
        ...commonErrors,
        "not_available",
        "invalid_code",
        "invalid_token",
        "token_expired",
        "session_revoked",
        "social_token_rejected",
        ...providerErrors,
      ],
      example: {
        ...hosted,
        data: {
          code: "SplxlOBeZQQYbYS6WxSbIA",
          state: "af0ifjsldkj",
          key: "1767225600000.5f0c2e5a",
          returnTo,
          deviceId,
        },
      },
    }),
  ];
}

const mailedCodeErrors = [
  "rate_limited",
  "too_many_attempts",
  "missing_token",
  "invalid_token",
  "token_expired",
] as const;

const pool = {
  projectId: "0c000000-0000-4000-8000-000000000001",
  strategy: "email",
  provider: "managedPool",
} as const;
const email = "fan@example.org";

function poolRoutes(context: IdentityContext) {
  return [...passwordRoutes(context), ...verificationRoutes(context), ...codeLoginRoutes(context)];
}

function codeLoginRoutes(context: IdentityContext) {
  return [
    operationRoute(context, {
      method: "PUT",
      path: "/v1/user/login-code",
      operation: "mailLoginCode",
      summary: "Mail a code to log in",
      description:
        "Mails a code to log in to the address, also where it has no account yet, unless registration is closed. The bearer is a client token or an access token, unless the project serves requests without.",
      auth: optionalUserTokenGuard,
      event: "login_code",
      schemas: { body: "LoginCodeRequest" },
      operations: [mailLoginCode(context)],
      errors: [...mailedCodeErrors, "not_available"],
      example: { ...pool, data: { email } },
    }),
    operationRoute(context, {
      method: "POST",
      path: "/v1/user/confirm-login",
      operation: "confirmLogin",
      summary: "Log in with a mailed code",
      description:
        "Logs the user of the address in by the mailed code, and registers one who is new. The bearer is a client token or an access token, unless the project serves requests without. The ids of an anonymous user in the request make it the new account, or merge it into the one that exists.",
      auth: optionalUserTokenGuard,
      event: "confirm_login",
      schemas: { body: "CodeLogin" },
      operations: [logInByCode(context)],
      errors: [
        ...mailedCodeErrors,
        "not_available",
        "invalid_code",
        "account_banned",
        "registration_disabled",
        "conflict",
      ],
      example: { ...pool, data: { email, confirmationCode: "12345678", deviceId } },
    }),
  ];
}

function passwordRoutes(context: IdentityContext) {
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

function verificationRoutes(context: IdentityContext) {
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
