/** The operations of identity. */

import type { operatorRoutes } from "../fans/identity/operators/routes.ts";
import type { identityRoutes } from "../fans/identity/routes.ts";
import type { tokenExchangeRoute } from "../fans/identity/token_exchange.ts";
import type { Area, BodyOf } from "./area.ts";
import type { Operations, RoutesOf, Rows } from "./operations.ts";

type Routes =
  | RoutesOf<typeof identityRoutes>
  | RoutesOf<typeof operatorRoutes>
  | RoutesOf<typeof tokenExchangeRoute>;

/** Operations of the area identity. */
export interface IdentityOperations extends Operations<Routes> {}

/** Input of a registration. */
export type Registration = BodyOf<IdentityOperations["registerUser"]>;
/** Input of a login. */
export type Login = BodyOf<IdentityOperations["logInUser"]>;
/** The proof for which a token of the space is issued. */
export type IdentityProof = BodyOf<IdentityOperations["issueSpaceToken"]>;

/** The area identity, for `createClient`. */
export const identity: Area<IdentityOperations> = {
  rows: {
    registerUser: "POST /v1/user",
    updateUser: "PUT /v1/user u",
    deleteOwnUser: "DELETE /v1/user u",
    getUser: "GET /v1/user u",
    checkUser: "GET /v1/user/check u",
    checkSocialUser: "GET /v1/user/check/nonstandard u",
    logInUser: "PUT /v1/user/login",
    refreshUser: "POST /v1/user/refresh ur",
    logOutUser: "POST /v1/user/logout ur",
    changePassword: "PUT /v1/user/change-password u1",
    forgotPassword: "PUT /v1/user/forgot-password u",
    confirmPassword: "POST /v1/user/confirm-forgot-password u",
    verifyEmail: "PUT /v1/user/verify-email u",
    confirmEmail: "POST /v1/user/confirm-email u",
    beginOpenIdLogin: "POST /v1/user/authorize",
    confirmOpenIdLogin: "POST /v1/user/confirm-authorize",
    mailLoginCode: "PUT /v1/user/login-code u",
    confirmLogin: "POST /v1/user/confirm-login u",
    listProjectAudit: "GET /internal/identity/projects/:projectId/audit ka",
    listUserAudit: "GET /internal/identity/projects/:projectId/users/:userId/audit ka",
    listUserSessions: "GET /internal/identity/projects/:projectId/users/:userId/sessions ka",
    revokeUserSessions: "DELETE /internal/identity/projects/:projectId/users/:userId/sessions ka",
    revokeUserSession: "DELETE /internal/identity/projects/:projectId/users/:userId/sessions/:sessionId ka",
    banUser: "PUT /internal/identity/projects/:projectId/users/:userId/ban ka",
    unbanUser: "DELETE /internal/identity/projects/:projectId/users/:userId/ban ka",
    findUsersByEmail: "GET /internal/identity/projects/:projectId/users ka",
    getProjectUser: "GET /internal/identity/projects/:projectId/users/:userId ka",
    unlockUser: "POST /internal/identity/projects/:projectId/users/:userId/unlock kar",
    mergeUser: "POST /internal/identity/projects/:projectId/users/:userId/merge kar",
    deleteUser: "DELETE /internal/identity/projects/:projectId/users/:userId ka",
    issueClientToken: "POST /internal/identity/projects/:projectId/client-tokens ka",
    listClientTokens: "GET /internal/identity/projects/:projectId/client-tokens ka",
    endClientToken: "DELETE /internal/identity/projects/:projectId/client-tokens/:tokenId ka",
    issueSpaceToken: "POST /api/auth/token r",
  } satisfies Rows<Routes>,
};
