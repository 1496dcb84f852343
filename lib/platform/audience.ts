/**
 * The audience API of a platform: the only place where it meets loyalty and exports.
 *
 * @module
 */

import {
  type AudienceContext,
  audienceGuards,
  audienceRoutes,
  createActionBatches,
  createCursors,
  createProfiles,
} from "../audience/mod.ts";
import type { ApiKeys, Clock, RandomBytes } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import { downloadRoutes, type Exports, exportRoutes } from "../exports/mod.ts";
import type { Area } from "../http/mod.ts";
import { type Loyalty, memberPartition } from "../loyalty/mod.ts";
import type { SpaceGuardOptions } from "../space_tokens/mod.ts";
import type { Store } from "../storage/mod.ts";
import { withAudienceLimits } from "./quotas.ts";

/** What the audience API is made of. */
export interface AudienceParts {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly apiKeys: ApiKeys;
  readonly loyalty: Loyalty;
  readonly actions: Pick<AudienceContext, "intake" | "deadLetters">;
  readonly userDirectory: { readonly finder: AudienceContext["users"] };
  readonly exports: Exports;
  /** Signs the cursors of lists. */
  readonly cursorKey: Uint8Array;
  readonly quotas: Parameters<typeof withAudienceLimits>[1];
}

/** The area of the audience API. */
export function audienceArea(parts: AudienceParts, spaces: SpaceGuardOptions): Area {
  const { store, directory, clock, random, apiKeys, loyalty, actions, exports, cursorKey, quotas } = parts;
  const guards = audienceGuards({ ...spaces, apiKeys });
  const routes = audienceRoutes({
    ...actions,
    batches: createActionBatches({ store, clock, marks: loyalty.reader, deadLetters: actions.deadLetters }),
    guards,
    directory,
    loyalty,
    profiles: createProfiles({ store, clock, loyalty, partitionOf: memberPartition }),
    users: parts.userDirectory.finder,
    cursors: createCursors({ key: cursorKey, clock }),
    clock,
    random,
  });
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
