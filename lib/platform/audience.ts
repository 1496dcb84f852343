/**
 * The audience API of a platform: the only place where it meets loyalty and exports.
 *
 * @module
 */

import { type AudienceOptions, audienceGuards, audienceRoutes, type UserFinder } from "../audience/mod.ts";
import type { ApiKeys } from "../auth/mod.ts";
import { downloadRoutes, type Exports, exportRoutes } from "../exports/mod.ts";
import type { Area } from "../http/mod.ts";
import type { SpaceGuardOptions } from "../space_tokens/mod.ts";
import { withAudienceLimits } from "./quotas.ts";

/** What the audience API is made of. */
export interface AudienceParts extends Omit<AudienceOptions, "guards" | "users"> {
  readonly apiKeys: ApiKeys;
  readonly userDirectory: { readonly finder: UserFinder };
  readonly exports: Exports;
  readonly quotas: Parameters<typeof withAudienceLimits>[1];
}

/** The area of the audience API. */
export function audienceArea(parts: AudienceParts, spaces: SpaceGuardOptions): Area {
  const { apiKeys, exports, quotas } = parts;
  const guards = audienceGuards({ ...spaces, apiKeys });
  const routes = audienceRoutes({ ...parts, guards, users: parts.userDirectory.finder });
  const exporting = exportRoutes({
    exports,
    exporter: guards.privateAudience("users:export"),
    reader: guards.privateAudience("users:read"),
  });
  return {
    name: "audience",
    family: "problem",
    // Whoever downloads has no key that could pay: downloads have a limit of their own.
    routes: [...withAudienceLimits([...routes, ...exporting], quotas), ...downloadRoutes({ exports })],
  };
}
