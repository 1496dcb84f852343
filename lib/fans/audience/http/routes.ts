import type { Cursors } from "../../../auth/mod.ts";
import type { Store } from "../../../storage/mod.ts";
import { AcceptedBatches } from "../actions/accepted_batches.ts";
import type { ActionService } from "../actions/service.ts";
import { createFieldIndexes } from "../profile/field_index.ts";
import { createProfiles } from "../profile/profiles.ts";
import { actionRoutes } from "./action_routes.ts";
import type { AudienceContext } from "./context.ts";
import { deadLetterRoutes } from "./dead_letter_routes.ts";
import { importRoutes } from "./import_routes.ts";
import { listRoutes } from "./list_routes.ts";
import { productRoutes } from "./product_routes.ts";
import { profileRoutes } from "./profile_routes.ts";
import { rewardRoutes } from "./reward_routes.ts";
import { searchRoutes } from "./search_routes.ts";

/** The dependencies of the audience API. */
export interface AudienceOptions
  extends Pick<
    AudienceContext,
    "accountImports" | "clock" | "directory" | "guards" | "logger" | "loyalty" | "random" | "timer" | "users"
  > {
  readonly store: Store;
  readonly actions: Pick<ActionService, "deadLetters" | "intake">;
  readonly cursors: Cursors;
}

/** Creates the routes of the audience API. */
export function audienceRoutes(options: AudienceOptions) {
  const { store, clock, loyalty, actions } = options;
  const context: AudienceContext = {
    ...options,
    ...actions,
    batches: new AcceptedBatches({
      store,
      clock,
      reader: loyalty.reader,
      deadLetters: actions.deadLetters,
    }),
    profiles: createProfiles(store, clock, { loyalty, fields: createFieldIndexes(options) }),
  };
  return [
    ...profileRoutes(context),
    ...listRoutes(context),
    ...productRoutes(context),
    ...actionRoutes(context),
    ...deadLetterRoutes(context),
    ...rewardRoutes(context),
    ...searchRoutes(context),
    ...importRoutes(context),
  ];
}
