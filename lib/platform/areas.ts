/**
 * The areas of a platform with their guards, routes and limits.
 *
 * @module
 */

import { audienceGuards, audienceRoutes } from "../audience/mod.ts";
import { apiKeyGuard, apiKeyRoutes, jwksArea } from "../auth/mod.ts";
import { AppError } from "../errors/mod.ts";
import { downloadRoutes, exportRoutes } from "../exports/mod.ts";
import { feedRoutes } from "../feeds/mod.ts";
import { type Area, chain } from "../http/mod.ts";
import { createPublicProfiles, identityRoutes, operatorRoutes, tokenExchangeRoute } from "../identity/mod.ts";
import { createHiddenUsers, leaderboardRoutes } from "../leaderboards/mod.ts";
import { locationRoutes } from "../location/mod.ts";
import { loyaltyControlRoutes, loyaltyOperatorRoutes, loyaltyRoutes } from "../loyalty/mod.ts";
import {
  optionalSpaceGuard,
  type SpaceGuardOptions,
  spaceGuard,
  spaceKeyGuard,
} from "../space_tokens/mod.ts";
import { withAudienceLimits, withControlLimits, withIdempotency, withLoyaltyLimits } from "./rate_limits.ts";
import type { Services } from "./services.ts";

/** Names of the areas of a platform. */
export const areaNames = [
  "identity",
  "location",
  "spaceTokens",
  "leaderboards",
  "loyalty",
  "audience",
  "control",
  "feeds",
  "keys",
] as const;

/** An area of a platform; each can be mounted alone. */
export type AreaName = (typeof areaNames)[number];

/** Creates the areas of a platform. */
export function createAreas(services: Services): Readonly<Record<AreaName, Area>> {
  const { apiKeys, keyRing } = services;
  const spaces = spaceGuardOptions(services);
  const keysWriter = apiKeyGuard({ apiKeys, permission: "keys:write" });
  return {
    identity: {
      name: "identity",
      family: "identity",
      routes: [
        ...identityRoutes(services),
        ...operatorRoutes({ ...services, ...userGuards(services), ...configGuards(services) }),
      ],
    },
    location: { name: "location", family: "identity", routes: locationRoutes(services) },
    spaceTokens: { name: "space-tokens", family: "problem", routes: [tokenExchangeRoute(services)] },
    leaderboards: leaderboardArea(services),
    loyalty: loyaltyArea(services, spaces),
    audience: audienceArea(services, spaces),
    control: {
      name: "control",
      family: "jsonApi",
      routes: [
        ...withControlLimits(services.control?.routes ?? [], services.quotas),
        ...controlRoutes(services),
        ...apiKeyRoutes({ apiKeys, keysWriter }),
      ],
    },
    feeds: { name: "feeds", family: "problem", routes: feedRoutes(services) },
    keys: jwksArea({ ring: keyRing }),
  };
}

function userGuards({ apiKeys }: Services) {
  return {
    usersReader: apiKeyGuard({ apiKeys, permission: "users:read" }),
    usersWriter: apiKeyGuard({ apiKeys, permission: "users:write" }),
    rewardsWriter: apiKeyGuard({ apiKeys, permission: "rewards:write" }),
  };
}

function configGuards({ apiKeys }: Services) {
  return {
    configReader: apiKeyGuard({ apiKeys, permission: "config:read" }),
    configWriter: apiKeyGuard({ apiKeys, permission: "config:write" }),
  };
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

function leaderboardArea(services: Services): Area {
  const { store, directory, clock, apiKeys, leaderboards } = services;
  const routes = leaderboardRoutes({
    store,
    directory,
    clock,
    retention: leaderboards,
    live: leaderboards.live,
    hiddenUsers: createHiddenUsers({ store, clock }),
    publicProfiles: createPublicProfiles({ store, clock }),
    keyHolder: apiKeyGuard({ apiKeys }),
    ...userGuards(services),
  });
  return { name: "leaderboards", family: "problem", routes };
}

function loyaltyArea(services: Services, spaces: SpaceGuardOptions): Area {
  const { apiKeys, cursors, directory, loyalty, quotas } = services;
  const users = loyaltyRoutes({
    directory,
    loyalty,
    cursors,
    tokenHolder: spaceGuard(spaces),
    visitor: optionalSpaceGuard(spaces),
  });
  const operators = loyaltyOperatorRoutes({
    loyalty,
    usersReader: spaceKeyGuard({ apiKeys, directory, permission: "users:read" }),
    rewardsWriter: spaceKeyGuard({ apiKeys, directory, permission: "rewards:write" }),
  });
  return {
    name: "loyalty",
    family: "problem",
    routes: [...withLoyaltyLimits(users, quotas), ...withIdempotency(operators)],
  };
}

function audienceArea(services: Services, spaces: SpaceGuardOptions): Area {
  const { apiKeys, exports, quotas } = services;
  const guards = audienceGuards({ ...spaces, apiKeys });
  const routes = audienceRoutes({ ...services, guards, users: services.userDirectory.finder });
  const exporting = exportRoutes({
    exports,
    exporter: guards.privateAudience("users:export"),
    reader: guards.privateAudience("users:read"),
  });
  return {
    name: "audience",
    family: "problem",
    // Downloads present a link instead of a key, and have a limit of their own.
    routes: [...withAudienceLimits([...routes, ...exporting], quotas), ...downloadRoutes({ exports })],
  };
}

function controlRoutes(services: Services): Area["routes"] {
  const { directory, loyalty, loyaltyVersions, webhookKeyOf } = services;
  return loyaltyControlRoutes({
    ...configGuards(services),
    directory,
    versions: loyaltyVersions,
    webhooks: loyalty.webhooks,
    config: spaceId => chain(loyalty.config(spaceId), ({ config }) => config),
    keyOf: webhookKeyOf,
  });
}
