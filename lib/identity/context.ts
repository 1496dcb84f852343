import type { Clock, RandomBytes } from "../auth/mod.ts";
import type { Directory } from "../directory/mod.ts";
import type { SessionRecords } from "./session_records.ts";
import type { Users } from "./users.ts";

/** What the operations of the identity area work with. */
export interface IdentityContext {
  readonly users: Users;
  readonly records: SessionRecords;
  readonly directory: Directory;
  readonly clock: Clock;
  readonly random: RandomBytes;
}
