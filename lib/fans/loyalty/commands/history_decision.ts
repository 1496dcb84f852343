/**
 * Decisions that depend on a user's whole history.
 *
 * @module
 */

import { type Decision, decide, type Stored, type Write } from "../../../storage/mod.ts";
import type { Earning } from "../../leaderboards/mod.ts";
import { readAccountNote } from "../../users/mod.ts";
import type { LoyaltyServices } from "../services.ts";
import type { HistoryEntry } from "../user/history.ts";
import { earningOf, earningsOf, historyReadMax, parseEntry, readNextRecords } from "../user/read_history.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import type { UserState } from "../user/state.ts";

/** All recorded gains of a user, oldest first, and what is on record at the same instant. */
export interface UserRecords {
  readonly earnings: readonly Earning[];
  /** Null where there is none. */
  readonly state: UserState | null;
  /** The record of the sign-up. */
  readonly account: Stored | null;
}

/**
 * Decides about a user from the whole history, so that no gain is missed or counted twice, whatever the user does meanwhile.
 * `decideUser` may be called many times. Where it needs something that cannot be had at once, it returns null until `prepare` was
 * called with as many earnings.
 */
export async function decideWithEarnings<A>(
  { store, states }: Pick<LoyaltyServices, "store" | "states">,
  user: Pick<SpaceUser, "organisationId" | "userId">,
  decideUser: (records: UserRecords) => { readonly writes: readonly Write[]; readonly answer: A } | null,
  prepare: (earnings: readonly Earning[]) => Promise<void> = async () => {},
): Promise<A> {
  const partition = spaceUserPartition(user);
  let earnings: readonly Earning[] = [];
  await prepare(earnings);
  for (let cursor: string | undefined; ; ) {
    const outcome = await decide(store, partition, {
      reads: [states.query, readAccountNote, readNextRecords(cursor)] as const,
      idempotent: true,
      apply([stored, account, entries]): Decision<
        { readonly more: readonly HistoryEntry[] } | { readonly answer: A }
      > {
        const state = stored === null ? null : states.valueOf(partition, stored);
        const more = entries.map(parseEntry);
        const isWhole =
          more.length < historyReadMax && !more.some(({ grant }) => grant?.inheritance !== undefined);
        const all = more.length === 0 ? earnings : [...earnings, ...more.map(earningOf)];
        const decided = isWhole ? decideUser({ state, account, earnings: all }) : null;
        if (decided === null) return { writes: [], answer: { more } };
        return { writes: decided.writes, answer: { answer: decided.answer } };
      },
    });
    if ("answer" in outcome) return outcome.answer;
    earnings = [...earnings, ...(await earningsOf(store, states, user, outcome.more))];
    cursor = outcome.more.at(-1)?.id ?? cursor;
    if (outcome.more.length < historyReadMax) await prepare(earnings);
  }
}
