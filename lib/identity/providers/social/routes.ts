/**
 * The route that only users of social providers have.
 *
 * @module
 */

import * as v from "valibot";
import { type AnyRoute, looseRoute } from "../../../http/mod.ts";
import { EnvelopeSchema, serving, sessionErrors } from "../../_serving.ts";
import type { IdentityContext } from "../../context.ts";
import { type Selector, UuidSchema } from "../../operations.ts";
import { userTokenGuard } from "../../sessions/user_guard.ts";
import { socialChecks } from "./check.ts";

const QuerySchema: v.GenericSchema<unknown, Selector> = v.looseObject({
  projectId: UuidSchema,
  strategy: v.string(),
  provider: v.string(),
  userId: v.exactOptional(v.string()),
  accessToken: v.exactOptional(v.string()),
  idToken: v.exactOptional(v.string()),
  deviceId: v.exactOptional(UuidSchema),
});

/** Builds the route of the non-standard check. */
export function socialRoutes(context: IdentityContext): readonly AnyRoute[] {
  return [
    looseRoute({
      auth: userTokenGuard,
      method: "GET",
      path: "/v1/user/check/nonstandard",
      operation: "checkSocialUser",
      summary: "Check the token of a social provider, and fetch what is known of its user",
      errors: [
        "unsupported_provider",
        ...sessionErrors,
        "token_expired",
        "social_token_rejected",
        "rate_limited",
        "too_many_attempts",
        "provider_error",
        "provider_unavailable",
      ],
      query: QuerySchema,
      responses: { 200: { description: "The user", schema: EnvelopeSchema } },
      handle: serving(context).query(socialChecks(context), "social_check"),
    }),
  ];
}
