/**
 * Guards of the audience API: users with a token of the space, back ends with an API key, or either.
 *
 * Every request names its organisation in a header. The header selects nothing: it must be the organisation of the credentials, so
 * that a client which mixes up two organisations gets an error and not the wrong data.
 */

import type { Permission } from "../../../auth/mod.ts";
import { hasAccessToken } from "../../../auth/tokens/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import type { Guard, GuardParameter } from "../../../http/mod.ts";
import type { Space } from "../../directory/mod.ts";
import type { OwnAccounts } from "../../identity/own_accounts.ts";
import type { SpaceUser } from "../../loyalty/mod.ts";
import { type SpaceGuardOptions, type SpaceKey, spaceGuard, type UserScope } from "../../space_tokens/mod.ts";

const organisationHeader = "x-platform-org-id";

/** A user, who may only reach their own data. */
export interface AudienceUser {
  readonly kind: "user";
  readonly space: Space;
  readonly user: SpaceUser;
}

/** A back end of the organisation that the space belongs to. */
export interface BackEnd {
  readonly kind: "backEnd";
  readonly space: Space;
  /** The API key of the request, or of the service token; an admin's name where a person calls. */
  readonly keyId: string;
  /** The issuer of the accounts that external ids name. */
  readonly accountIssuer: string | undefined;
}

/** Creates the guards of routes. */
export interface AudienceGuards {
  /** Admits users whose token has the scope. Refuses service tokens. */
  publicAudience(scope: UserScope): Guard<AudienceUser>;
  /** Admits back ends whose API key has the permission, for a space of their organisation. */
  privateAudience(permission: Permission): Guard<BackEnd, "space_id">;
  /** Admits back ends with the permission, by service token or API key, and users whose token has the scope. */
  batchAudience(permission: Permission, scope: UserScope): Guard<AudienceUser | BackEnd, "space_id">;
}

type AudienceGuardOptions = SpaceGuardOptions & {
  readonly ownAccounts: Pick<OwnAccounts, "issuerOfSpace">;
  /** Demands an API key with the permission, or an admin of the organisation. */
  readonly spaceKey: (permission: Permission) => Guard<SpaceKey, "space_id">;
};

const headers: readonly GuardParameter[] = [
  { name: "X-Platform-Org-ID", description: "Id of the organisation that the credentials belong to" },
];
const common = { headers, errors: ["validation_failed", "org_mismatch", "not_found"] } as const;
const forUsers = { ...common, errors: [...common.errors, "session_revoked", "forbidden"] } as const;

/** Creates the guards of the audience API. */
export function audienceGuards(options: AudienceGuardOptions): AudienceGuards {
  const { ownAccounts } = options;
  const bearer = spaceGuard(options);
  function keyGuard(permission: Permission): Guard<BackEnd, "space_id"> {
    const key = options.spaceKey(permission);
    return {
      ...key,
      ...common,
      errors: [...common.errors, ...(key.errors ?? [])],
      async authenticate(input): Promise<BackEnd> {
        const { organisationId, space, keyId } = await key.authenticate(input);
        requireOrganisation(input.request, organisationId);
        return { kind: "backEnd", space, keyId, accountIssuer: await ownAccounts.issuerOfSpace(space) };
      },
    };
  }
  function tokenGuard(permission: Permission | undefined, scope: UserScope): Guard<AudienceUser | BackEnd> {
    return {
      ...bearer,
      ...forUsers,
      security: bearer.security.map(option => ({ ...option, requires: [scope] })),
      async authenticate(input) {
        const { space, caller } = await bearer.authenticate(input);
        requireOrganisation(input.request, space.organisationId);
        if (caller.kind === "service") {
          if (permission === undefined) throw new AppError("forbidden", "Only users may call this");
          requireScope(caller.permissions, permission);
          const accountIssuer = await ownAccounts.issuerOfSpace(space);
          return { kind: "backEnd", space, keyId: caller.keyId, accountIssuer };
        }
        requireScope(caller.scope ?? [], scope);
        const { organisationId, spaceId, userId, projectId } = caller;
        return { kind: "user", space, user: { organisationId, spaceId, userId, projectId } };
      },
    };
  }
  return {
    publicAudience: scope => {
      const guard = tokenGuard(undefined, scope);
      return { ...guard, authenticate: async input => onlyUser(await guard.authenticate(input)) };
    },
    privateAudience: keyGuard,
    batchAudience: (permission, scope) => {
      const [token, key] = [tokenGuard(permission, scope), keyGuard(permission)];
      return {
        ...token,
        ...(key.query === undefined ? {} : { query: key.query }),
        security: [...token.security, ...key.security],
        authenticate: input =>
          input.request.headers.has("x-api-key") || hasAccessToken(input.request)
            ? key.authenticate(input)
            : token.authenticate(input),
      };
    },
  };
}

function onlyUser(caller: AudienceUser | BackEnd): AudienceUser {
  if (caller.kind === "user") return caller;
  throw new AppError("forbidden", "Only users may call this");
}

function requireOrganisation(request: Request, organisationId: string): void {
  const named = request.headers.get(organisationHeader);
  if (named === null || named === "") {
    throw new AppError("validation_failed", "Cannot serve a request that does not name its organisation", {
      fields: [{ pointer: "X-Platform-Org-ID", detail: "Is required as a header field" }],
    });
  }
  if (named.toLowerCase() === organisationId) return;
  throw new AppError("org_mismatch", "The credentials belong to another organisation than X-Platform-Org-ID");
}

function requireScope(granted: readonly string[], scope: string): void {
  if (granted.includes(scope)) return;
  throw new AppError("insufficient_scope", `The token lacks the scope ${scope}`);
}
