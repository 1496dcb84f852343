/** What the routes of the audience API work with. */

import type { AudienceGuards } from "./guards.ts";
import type { AudienceLoyalty } from "./loyalty.ts";

/** What the routes work with. */
export interface AudienceContext {
  readonly guards: AudienceGuards;
  readonly loyalty: AudienceLoyalty;
}
