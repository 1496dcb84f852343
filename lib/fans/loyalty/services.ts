/**
 * The services that the parts of loyalty share.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { Logger } from "../../http/mod.ts";
import type { RecordCache, Store } from "../../storage/mod.ts";
import type { FedBoards } from "../leaderboards/mod.ts";
import type { ConfigCache } from "./config/config_cache.ts";
import type { InboxPolicy } from "./user/inbox_view.ts";
import type { ProfileFieldsCache } from "./user/profile_fields.ts";
import type { UserCache } from "./user/space_user.ts";
import type { UserState } from "./user/state.ts";

/** Services and caches of a process. */
export interface LoyaltyServices {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly boards: FedBoards;
  readonly configOf: ConfigCache;
  /** Returns the life of notifications in a space. */
  readonly policyOf: (spaceId: string) => Promise<InboxPolicy> | InboxPolicy;
  readonly states: RecordCache<UserState>;
  readonly profiles: ProfileFieldsCache;
  readonly users: UserCache;
}
