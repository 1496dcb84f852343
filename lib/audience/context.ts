/** What the routes of the audience API work with. */

import type { Clock, RandomBytes } from "../auth/mod.ts";
import type { ActionIntake } from "./actions/intake.ts";
import type { AudienceGuards } from "./guards.ts";
import type { AudienceLoyalty } from "./loyalty.ts";
import type { DeadLetters } from "./worker/dead_letters.ts";

/** What the routes work with. */
export interface AudienceContext {
  readonly guards: AudienceGuards;
  readonly loyalty: AudienceLoyalty;
  /** Takes in the actions that back ends report. */
  readonly intake: ActionIntake;
  readonly deadLetters: DeadLetters;
  readonly clock: Clock;
  readonly random: RandomBytes;
}
