/** Guards of the routes of back ends. They take an API key, or the access token of an admin in its place. */

import { apiKeyGuard } from "../auth/api_keys/routes.ts";
import { isUuid } from "../auth/crypto/mod.ts";
import { type ApiKeyPrincipal, type ApiKeys, type Permission, permissions } from "../auth/mod.ts";
import { hasAccessToken } from "../auth/tokens/mod.ts";
import {
  type Author,
  type Authors,
  authorGuard,
  requirePerson,
} from "../authoring/control/access/authors.ts";
import type { Roles } from "../authoring/control/access/roles.ts";
import { AppError } from "../base/errors/mod.ts";
import type { Directory, Home, Space } from "../fans/directory/mod.ts";
import { type SpaceKey, spaceKeyGuard, spaceOfHost, spaceOfKey } from "../fans/space_tokens/mod.ts";
import { chain, type Guard, type GuardInput } from "../http/mod.ts";

interface BackEndGuardsOptions {
  readonly apiKeys: ApiKeys;
  readonly authors: Authors;
  readonly roles: Roles;
  readonly directory: Directory;
}

/** Who calls with a token: a name as long-lived as that of a key, for trails and limits. */
const callerShape = /^user:[^/]+\/(.+)$/;

/** Returns the id of the access token by which an admin calls, or null for an API key. */
export function tokenOfCaller(keyId: string): string | null {
  return callerShape.exec(keyId)?.[1] ?? null;
}

export class BackEndGuards {
  readonly #options: BackEndGuardsOptions;
  readonly #author: Guard<Author>;

  constructor(options: BackEndGuardsOptions) {
    this.#options = options;
    this.#author = authorGuard(options.authors);
  }

  /**
   * Demands an API key with the permission, or the token of an admin of the organisation, space or project in the path.
   * `organisation` demands an admin of the whole organisation, for what reaches beyond the project.
   */
  key(permission: Permission, level?: "organisation"): Guard<ApiKeyPrincipal> {
    const guard = apiKeyGuard({ apiKeys: this.#options.apiKeys, permission });
    return this.#withAdmins(guard, level, ({ params }, author) =>
      this.#admit(author, homeInPath(params), level),
    );
  }

  /**
   * Demands an API key with the permission, and finds the space that the request means. A token has to be that of an admin of the
   * space, or of the whole organisation for what all of its spaces share: users, exports, queued actions.
   */
  spaceKey(
    permission: Permission,
    level: "space" | "organisation" = "organisation",
  ): Guard<SpaceKey, "space_id"> {
    const { apiKeys, directory } = this.#options;
    const guard = spaceKeyGuard({ apiKeys, directory, permission });
    return this.#withAdmins(guard, level, async (input, author) => {
      const space = await this.#namedSpace(input);
      return { ...(await this.#admit(author, { kind: "space", id: space.id }, level)), space };
    });
  }

  #withAdmins<A, N extends string>(
    guard: Guard<A, N>,
    level: "space" | "organisation" | undefined,
    admit: (input: GuardInput, author: Author) => Promise<A>,
  ): Guard<A, N> {
    const requires = [level === undefined ? "admin" : `${level}:admin`];
    return {
      ...guard,
      security: [...guard.security, ...this.#author.security.map(option => ({ ...option, requires }))],
      errors: [...(guard.errors ?? []), "not_found", "forbidden"],
      authenticate: input =>
        hasAccessToken(input.request)
          ? chain(this.#author.authenticate(input), author => {
              requirePerson(author, "serve in place of an API key");
              return admit(input, author);
            })
          : guard.authenticate(input),
    };
  }

  /** Finds the space as a key's is found if the request names its organisation, else by query and Host. */
  async #namedSpace(input: GuardInput): Promise<Space> {
    const { directory } = this.#options;
    const organisationId = input.request.headers.get("x-platform-org-id")?.toLowerCase() ?? "";
    if (organisationId !== "" && !isUuid(organisationId)) throw unknown("space");
    try {
      return await (organisationId === ""
        ? spaceOfHost(directory, input)
        : spaceOfKey(directory, organisationId, input));
    } catch (error) {
      throw error instanceof AppError && error.code === "not_found" ? unknown("space") : error;
    }
  }

  /**
   * Returns an admin as the holder of a key with all permissions.
   *
   * @throws {AppError} `not_found`: there is no such place, or the caller has no role in it; `forbidden`: a lesser role.
   */
  async #admit(author: Author, home: Home, level: string = home.kind): Promise<ApiKeyPrincipal> {
    const { roles } = this.#options;
    const place = await roles.chain(home);
    const role = place === null ? "none" : (await roles.roleIn(author, place)).role;
    if (place === null || role === "none") throw unknown(home.kind);
    const { organisationId } = place;
    const whole = { homes: [{ kind: "organisation", id: organisationId }], organisationId } as const;
    const held = level === home.kind ? role : (await roles.roleIn(author, whole)).role;
    if (held !== "admin") {
      throw new AppError("forbidden", `Cannot do this as it needs the role admin in the ${level}`);
    }
    return { keyId: `user:${author.user.id}/${author.token.id}`, organisationId, permissions };
  }
}

function homeInPath(params: Readonly<Record<string, string>>): Home {
  for (const kind of ["organisation", "space", "project"] as const) {
    const id = params[`${kind}Id`];
    if (id === undefined) continue;
    if (!isUuid(id)) throw unknown(kind);
    return { kind, id: id.toLowerCase() };
  }
  throw new TypeError("Cannot guard a route whose path names no organisation, space or project");
}

/** Creates the same error for a place that does not exist and one in which the caller has no role. */
function unknown(kind: string): AppError {
  return new AppError("not_found", `Cannot serve the request as there is no such ${kind}`);
}
