/** An action sink made of a function that applies one action. */

import type { ActionSink } from "../../../../../lib/fans/audience/worker/process_actions.ts";
import type { SpaceUser } from "../../../../../lib/fans/loyalty/mod.ts";
import type { ActionReport } from "../../../../../lib/fans/loyalty/report.ts";

/** Creates a sink that applies reports one after the other, up to the first error. */
export function sinkOf(apply: (member: SpaceUser, report: ActionReport) => Promise<unknown>): ActionSink {
  return {
    async reportAll(member, reports) {
      for (const [applied, report] of reports.entries()) {
        try {
          await apply(member, report);
        } catch (error) {
          return { applied, error };
        }
      }
      return { applied: reports.length };
    },
  };
}
