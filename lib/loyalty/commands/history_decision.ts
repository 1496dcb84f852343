/**
 * Decisions that depend on a user's whole history.
 *
 * @module
 */

import type { Earning } from "../../leaderboards/mod.ts";
import {
  type Decision,
  decide,
  type LogEntry,
  type Partition,
  type Stored,
  storageLimits,
} from "../../storage/mod.ts";
import { readAccountNote } from "../../users/mod.ts";
import type { LoyaltyServices } from "../services.ts";
import { earningOf, parseEntry } from "../user/read_history.ts";
import type { UserState } from "../user/state.ts";

/** Decides from the state, null where there is none, and the record of the sign-up. It may be repeated. */
type DecideUser<A> = (
  state: UserState | null,
  account: Stored | null,
) => Pick<Decision<A>, "writes"> & { readonly answer: A };

const pageMax = storageLimits.rangeLimitMax;

/**
 * Decides about a user from all recorded earnings, oldest first. `prepare` makes the decision; it is called again with more
 * earnings where the user gained something meanwhile, so that none is missed or counted twice.
 */
export async function decideWithEarnings<A>(
  { store, states }: Pick<LoyaltyServices, "store" | "states">,
  partition: Partition,
  prepare: (earnings: readonly Earning[]) => Promise<DecideUser<A>>,
): Promise<A> {
  const earnings: Earning[] = [];
  let cursor: string | undefined;
  for (let isWhole = true; ; ) {
    const decideUser = isWhole ? await prepare(earnings) : null;
    const page = { type: "log", key: "history", limit: pageMax } as const;
    const outcome = await decide(store, partition, {
      reads: [states.query, readAccountNote, cursor === undefined ? page : { ...page, cursor }],
      idempotent: true,
      apply([stored, account, entries]): Decision<
        { readonly more: readonly LogEntry[] } | { readonly answer: A }
      > {
        if (decideUser === null || entries.length > 0) return { writes: [], answer: { more: entries } };
        const { writes, answer } = decideUser(
          stored === null ? null : states.valueOf(partition, stored),
          account,
        );
        return { writes, answer: { answer } };
      },
    });
    if ("answer" in outcome) return outcome.answer;
    for (const entry of outcome.more) earnings.push(earningOf(parseEntry(entry)));
    cursor = outcome.more.at(-1)?.id ?? cursor;
    isWhole = outcome.more.length < pageMax;
  }
}
