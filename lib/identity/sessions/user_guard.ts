/**
 * Guards of identity routes. Which project a token must be of is known only when the body or query is read, so the guard
 * asks for a bearer token, and the operation of the provider authenticates its user.
 *
 * @module
 */

import { bearerToken } from "../../auth/mod.ts";
import type { Guard } from "../../http/mod.ts";

const security: Guard<null>["security"] = [
  {
    schemes: {
      userToken: {
        type: "http",
        scheme: "bearer",
        bearerFormat: "JWT",
        description: "Access token of a user, from login or refresh; for checks also a token of the provider",
      },
    },
  },
];

/** Demands a bearer token, of whomever. */
export const userTokenGuard: Guard<null> = {
  security,
  authenticate: ({ request }) => {
    bearerToken(request.headers.get("authorization"));
    return null;
  },
};

/** Leaves it to the provider whether a bearer token is needed. */
export const optionalUserTokenGuard: Guard<null> = {
  security,
  optional: true,
  authenticate: () => null,
};
