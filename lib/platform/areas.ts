/** The areas of a platform with their guards, routes and limits. */

import { apiKeyGuard, apiKeyRoutes } from "../auth/api_keys/routes.ts";
import { jwksArea } from "../auth/tokens/jwks_routes.ts";
import { feedRoutes } from "../authoring/feeds/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import { audienceGuards } from "../fans/audience/http/guards.ts";
import { audienceRoutes } from "../fans/audience/http/routes.ts";
import { readDisplayName } from "../fans/audience/profile/record.ts";
import { requireUnarchived } from "../fans/directory/directory.ts";
import type { Directory } from "../fans/directory/mod.ts";
import { downloadRoutes } from "../fans/exports/http/download_routes.ts";
import { exportRoutes } from "../fans/exports/http/routes.ts";
import type { UserData } from "../fans/exports/mod.ts";
import { operatorRoutes } from "../fans/identity/operators/routes.ts";
import { createAccountImports } from "../fans/identity/providers/managed_pool/account_imports.ts";
import { identityRoutes } from "../fans/identity/routes.ts";
import { offersCodeLogin } from "../fans/identity/settings.ts";
import { tokenExchangeRoute } from "../fans/identity/token_exchange.ts";
import { createPublicProfiles } from "../fans/identity/users.ts";
import { createPublicBoards, type LeaderboardContext } from "../fans/leaderboards/http/read_routes.ts";
import { leaderboardRoutes } from "../fans/leaderboards/http/routes.ts";
import { createHiddenUsers } from "../fans/leaderboards/ranking/hidden_users.ts";
import { locationRoutes } from "../fans/location/location.ts";
import { loyaltyControlRoutes } from "../fans/loyalty/http/config_routes.ts";
import { loyaltyOperatorRoutes } from "../fans/loyalty/http/operator_routes.ts";
import { loyaltyRoutes } from "../fans/loyalty/http/routes.ts";
import { optionalSpaceGuard, type SpaceGuardOptions, spaceGuard } from "../fans/space_tokens/mod.ts";
import { type AnyRoute, type Area, type Call, chain } from "../http/mod.ts";
import { BackEndGuards } from "./back_end_guards.ts";
import {
  withAudienceLimits,
  withControlLimits,
  withIdempotency,
  withLoyaltyLimits,
  withTokenLimits,
} from "./rate_limits.ts";
import type { Services } from "./services.ts";
import { createUserData } from "./user_data.ts";
import { version } from "./version.ts";

export const areaNames = [
  "identity",
  "location",
  "spaceTokens",
  "leaderboards",
  "loyalty",
  "audience",
  "control",
  "feeds",
  "studio",
  "show",
  "keys",
] as const;

/** An area of a platform; each can be mounted alone. */
export type AreaName = (typeof areaNames)[number];

export function createAreas(services: Services): Readonly<Record<AreaName, Area>> {
  const { apiKeys, keyRing, quotas } = services;
  const spaces = spaceGuardOptions(services);
  const guards = new BackEndGuards(services);
  const keysWriter = guards.key("keys:write");
  const boards = leaderboardContext(services, guards);
  const userData = createUserData({ ...services, deadLetters: services.actions.deadLetters });
  const userKinds = userData.kinds;
  const operated = operatorRoutes({ ...services, userKinds, ...userGuards(guards), ...configGuards(guards) });
  const unarchived = (area: Area): Area => withoutArchived(area, services.directory);
  return {
    identity: unarchived({
      name: "identity",
      family: "identity",
      routes: [...identityRoutes(services), ...withTokenLimits(operated, quotas)],
    }),
    location: { name: "location", family: "identity", routes: locationRoutes(services) },
    spaceTokens: { name: "space-tokens", family: "problem", routes: [tokenExchangeRoute(services)] },
    leaderboards: unarchived({
      name: "leaderboards",
      family: "problem",
      routes: withTokenLimits(leaderboardRoutes(boards), quotas),
    }),
    loyalty: unarchived(loyaltyArea(services, spaces, guards)),
    audience: unarchived(audienceArea({ ...services, userData }, spaces, guards)),
    control: {
      name: "control",
      family: "jsonApi",
      routes: [
        ...withControlLimits(services.control?.routes ?? [], quotas),
        ...withTokenLimits(controlRoutes(services, guards), quotas),
        ...withTokenLimits(apiKeyRoutes({ apiKeys, keysWriter }), quotas),
      ],
    },
    feeds: {
      name: "feeds",
      family: "problem",
      routes: feedRoutes({
        ...services,
        version,
        live: boards.live,
        publicBoards: createPublicBoards(boards),
      }),
    },
    show: services.show?.({ ...services, offersCodeLogin, version }) ?? {
      name: "show",
      family: "problem",
      routes: [],
    },
    studio: services.studio ?? { name: "studio", family: "problem", routes: [] },
    keys: jwksArea({ ring: keyRing }),
  };
}

function userGuards(guards: BackEndGuards) {
  return {
    usersReader: guards.key("users:read"),
    usersWriter: guards.key("users:write"),
    usersRemover: guards.key("users:write", "organisation"),
    rewardsWriter: guards.key("rewards:write"),
  };
}

function configGuards(guards: BackEndGuards) {
  return { configReader: guards.key("config:read"), configWriter: guards.key("config:write") };
}

function spaceGuardOptions(services: Services): SpaceGuardOptions {
  const { apiKeys, sessionGuard } = services;
  return {
    ...services,
    checkSession: sessionGuard.check.bind(sessionGuard),
    checkKey: caller =>
      chain(apiKeys.isAlive(caller), isAlive => {
        if (!isAlive)
          throw new AppError(
            "session_revoked",
            "The API key of the token, or the secret that it was issued for, was revoked",
          );
      }),
  };
}

function leaderboardContext(services: Services, guards: BackEndGuards): LeaderboardContext {
  const { store, directory, clock, apiKeys, leaderboards } = services;
  return {
    store,
    directory,
    clock,
    retention: leaderboards,
    live: leaderboards.live,
    hiddenUsers: createHiddenUsers({ store, clock }),
    publicProfiles: createPublicProfiles({
      store,
      clock,
      displayNameOf: (organisationId, userId) => readDisplayName(store, { organisationId, userId }),
    }),
    keyHolder: apiKeyGuard({ apiKeys }),
    ...userGuards(guards),
  };
}

function loyaltyArea(services: Services, spaces: SpaceGuardOptions, guards: BackEndGuards): Area {
  const { cursors, directory, loyalty, ownAccounts, quotas } = services;
  const users = loyaltyRoutes({
    accountUser: (space, externalId) => ownAccounts.userOfSpace(space, externalId),
    directory,
    loyalty,
    cursors,
    tokenHolder: spaceGuard(spaces),
    visitor: optionalSpaceGuard(spaces),
  });
  const operators = loyaltyOperatorRoutes({
    loyalty,
    usersReader: guards.spaceKey("users:read"),
    rewardsWriter: guards.spaceKey("rewards:write"),
    poolKeeper: guards.spaceKey("rewards:write", "space"),
  });
  return {
    name: "loyalty",
    family: "problem",
    routes: [...withLoyaltyLimits(users, quotas), ...withTokenLimits(withIdempotency(operators), quotas)],
  };
}

function audienceArea(
  services: Services & { readonly userData: UserData },
  spaces: SpaceGuardOptions,
  backEnds: BackEndGuards,
): Area {
  const { exports, ownAccounts, quotas } = services;
  const guards = audienceGuards({
    ...spaces,
    ownAccounts,
    spaceKey: permission => backEnds.spaceKey(permission),
  });
  const routes = audienceRoutes({
    ...services,
    guards,
    users: services.userDirectory.finder,
    accountImports: createAccountImports(services),
  });
  const exporting = exportRoutes({
    exports,
    exporter: guards.privateAudience("users:export"),
    reader: guards.privateAudience("users:read"),
    userData: services.userData,
  });
  return {
    name: "audience",
    family: "problem",
    // Downloads present a link instead of a key, and have a limit of their own.
    routes: [...withAudienceLimits([...routes, ...exporting], quotas), ...downloadRoutes({ exports })],
  };
}

function controlRoutes(services: Services, guards: BackEndGuards): Area["routes"] {
  const { directory, loyalty, loyaltyVersions, webhookKeyOf } = services;
  return loyaltyControlRoutes({
    ...configGuards(guards),
    directory,
    versions: loyaltyVersions,
    webhooks: loyalty.webhooks,
    config: spaceId => chain(loyalty.config(spaceId), ({ config }) => config),
    keyOf: webhookKeyOf,
  });
}

/** Operations that serve archived projects although their method may change something. */
const serving: ReadonlySet<string> = new Set([
  // Reading needs a login.
  ...["logInUser", "refreshUser", "logOutUser", "revokeUserSessions", "revokeUserSession"],
  // Nobody has to stay in an archive.
  ...["deleteOwnUser", "deleteUser"],
  // A trial, which changes nothing.
  "tryAction",
]);

/** Lets the routes of an area that change something of a project refuse it where the project is archived. */
function withoutArchived(area: Area, directory: Pick<Directory, "project">): Area {
  return {
    ...area,
    routes: area.routes.map(route => (mayChange(route) ? guarded(route, directory) : route)),
  };
}

function mayChange({ method, operation }: AnyRoute): boolean {
  return method !== "GET" && !serving.has(operation);
}

function guarded(route: AnyRoute, directory: Pick<Directory, "project">): AnyRoute {
  return {
    ...route,
    errors: [...(route.errors ?? []), "project_archived"],
    handle: call => {
      const projectId = projectOf(call);
      if (projectId === null) return route.handle(call);
      return chain(directory.project(projectId), project => {
        requireUnarchived(project);
        return route.handle(call);
      });
    },
  };
}

/** Returns the project of the user's token, which the user acts in whatever the request names; without one that which it names. */
function projectOf({
  params,
  query,
  body,
  principal,
}: Call<unknown, unknown, unknown, unknown>): string | null {
  const { projectId: inPath } = (params ?? {}) as Named;
  const { projectId: inBody } = (body ?? {}) as Named;
  const { projectId: inQuery, project_id: named = inQuery } = (query ?? {}) as Named;
  const { user, caller = user } = (principal ?? {}) as { readonly user?: Named; readonly caller?: Named };
  const found = caller?.projectId ?? inPath ?? inBody ?? named;
  return typeof found === "string" ? found.toLowerCase() : null;
}

interface Named {
  readonly projectId?: unknown;
  readonly project_id?: unknown;
}
