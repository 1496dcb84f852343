/** The guard of routes for back ends. */

import { AppError } from "../../base/errors/mod.ts";
import type { Guard } from "../../http/route.ts";
import { chain } from "../../storage/background/mod.ts";
import type { ApiKeyPrincipal, ApiKeys } from "./api_keys.ts";
import type { Permission } from "./record.ts";

const schemes = {
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key", description: "Key of a back end." },
  apiSecret: { type: "apiKey", in: "header", name: "X-API-Secret", description: "Secret of the key." },
};

/** Options of {@linkcode apiKeyGuard}. */
export interface ApiKeyGuardOptions {
  readonly apiKeys: Pick<ApiKeys, "verify">;
  /** The permission that the key needs. @default any valid key passes */
  readonly permission?: Permission;
}

/**
 * Creates a guard that demands a valid `X-API-Key` and `X-API-Secret`.
 *
 * Its `authenticate` throws `missing_api_key` where a header field is missing or empty, `invalid_api_key`, and
 * `insufficient_scope` where the key lacks the permission.
 */
export function apiKeyGuard(options: ApiKeyGuardOptions): Guard<ApiKeyPrincipal> {
  const { apiKeys, permission } = options;
  return {
    security: [{ schemes, requires: permission === undefined ? [] : [permission] }],
    authenticate({ request }) {
      const key = request.headers.get("x-api-key") ?? "";
      const secret = request.headers.get("x-api-secret") ?? "";
      if (key === "" || secret === "") {
        throw new AppError(
          "missing_api_key",
          "This request needs the header fields X-API-Key and X-API-Secret of a back end",
        );
      }
      const principal = apiKeys.verify(key, secret);
      return chain(principal, caller => requirePermission(caller, permission));
    },
  };
}

function requirePermission(principal: ApiKeyPrincipal, permission: Permission | undefined): ApiKeyPrincipal {
  if (permission !== undefined && !principal.permissions.includes(permission)) {
    throw new AppError("insufficient_scope", `The API key lacks the permission ${permission}`);
  }
  return principal;
}
