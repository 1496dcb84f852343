import type { Clock } from "../../auth/mod.ts";
import type { Store } from "../../storage/mod.ts";
import type { Directory } from "../directory/mod.ts";

/** Services that leaderboards share. */
export interface LeaderboardServices {
  readonly store: Store;
  readonly directory: Directory;
  readonly clock: Clock;
}
