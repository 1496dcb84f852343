/** What the routes of the audience API work with. */

import type { Clock, RandomBytes } from "../../auth/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import type { ActionBatches } from "../actions/accepted_batches.ts";
import type { ActionIntake } from "../actions/intake.ts";
import type { Cursors } from "../lists/cursors.ts";
import type { AudienceLoyalty } from "../loyalty.ts";
import type { Profiles } from "../profile/profiles.ts";
import type { UserFinder } from "../search/search.ts";
import type { DeadLetters } from "../worker/dead_letters.ts";
import type { AudienceGuards } from "./guards.ts";

/** What the routes work with. */
export interface AudienceContext {
  readonly guards: AudienceGuards;
  readonly directory: Pick<Directory, "organisation">;
  readonly loyalty: AudienceLoyalty;
  readonly profiles: Profiles;
  readonly cursors: Cursors;
  /** Searches the users of organisations. */
  readonly users: UserFinder;
  /** Takes in the actions that back ends report. */
  readonly intake: ActionIntake;
  readonly deadLetters: DeadLetters;
  /** Remembers bulk requests for whoever asks what has become of them. */
  readonly batches: ActionBatches;
  readonly clock: Clock;
  readonly random: RandomBytes;
}
