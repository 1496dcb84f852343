/** The services that the parts of loyalty share. */

import type { Clock } from "../../auth/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { RecordCache, Store } from "../../storage/mod.ts";
import type { FedBoards } from "../leaderboards/leaderboards.ts";
import type { ConfigCache } from "./config/config_cache.ts";
import type { ProfileFieldsCache, UserCache, UserState } from "./user/state.ts";

export interface LoyaltyServices {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly boards: FedBoards;
  readonly configOf: ConfigCache;
  readonly states: RecordCache<UserState>;
  readonly profiles: ProfileFieldsCache;
  readonly users: UserCache;
}
