/**
 * Numbers of dead letters, for operators.
 *
 * @module
 */

import { mapConcurrent } from "../../background/mod.ts";
import { oldestOrganisations } from "../../directory/mod.ts";
import type { Store } from "../../storage/mod.ts";
import type { DeadLetterQueue } from "./dead_letter_queue.ts";

/** Organisations that are read at a time. */
const organisationsAtOnce = 16;

/** The dead letters of an organisation. */
export interface DeadLetterCount {
  readonly organisationId: string;
  /** At least one. */
  readonly count: number;
  /** Space of the newest. */
  readonly spaceId: string;
}

/** Counts the dead letters of the 500 oldest organisations, and leaves out those without any. */
export async function countDeadLetters(
  store: Store,
  deadLetters: Pick<DeadLetterQueue, "list">,
): Promise<readonly DeadLetterCount[]> {
  const organisations = await oldestOrganisations(store);
  const counts = await mapConcurrent(organisations, organisationsAtOnce, async organisationId => {
    const { dead, size: count } = await deadLetters.list(organisationId, { offset: 0, limit: 1 });
    return dead.map(({ action }) => ({ organisationId, count, spaceId: action.spaceId }));
  });
  return counts.flat();
}
