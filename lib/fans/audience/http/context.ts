import type { Clock, Cursors, RandomBytes } from "../../../auth/mod.ts";
import type { Logger, Timer } from "../../../http/mod.ts";
import type { Directory } from "../../directory/mod.ts";
import type { AccountImports } from "../../identity/providers/managed_pool/account_imports.ts";
import type { Loyalty } from "../../loyalty/mod.ts";
import type { AcceptedBatches } from "../actions/accepted_batches.ts";
import type { ActionIntake } from "../actions/intake.ts";
import type { Profiles } from "../profile/profiles.ts";
import type { UserFinder } from "../search/search.ts";
import type { DeadLetterQueue } from "../worker/dead_letter_queue.ts";
import type { AudienceGuards } from "./guards.ts";

/** The services that the routes of the audience API call. */
export interface AudienceContext {
  readonly guards: AudienceGuards;
  readonly directory: Pick<Directory, "organisation" | "project">;
  readonly loyalty: Loyalty;
  readonly profiles: Profiles;
  readonly accountImports: AccountImports;
  readonly cursors: Cursors;
  readonly users: UserFinder;
  readonly intake: ActionIntake;
  readonly deadLetters: DeadLetterQueue;
  readonly batches: AcceptedBatches;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly random: RandomBytes;
  readonly timer: Timer;
}
