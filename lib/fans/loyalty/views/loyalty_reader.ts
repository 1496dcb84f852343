/**
 * Reading users without changing anything: each read is one round trip to the user's partition.
 *
 * @module
 */

import type { ReadRecord, Stored } from "../../../storage/mod.ts";
import { advanceTime } from "../engine/mod.ts";
import type { LoyaltyServices } from "../services.ts";
import { inboxReads } from "../user/inbox.ts";
import { countUnread, inboxValidUntil, parseReadMarks } from "../user/inbox_view.ts";
import { actionMarkReads } from "../user/once_marks.ts";
import { type SpaceUser, spaceUserPartition } from "../user/space_user.ts";
import { emptyState, type UserState } from "../user/state.ts";
import { type ChallengeView, challengeViews } from "./challenge_views.ts";
import { type LedgerPage, type LedgerQuery, readLedger } from "./ledger_pages.ts";
import { type LoyaltySummary, SummaryCache, summarize, summaryValidUntil } from "./summary.ts";

/** A view of a user with a record of the same instant. */
export interface ReadView<T> {
  readonly view: T;
  /** True where anything is on record of the user's loyalty. */
  readonly isKnown: boolean;
  /** The further record of the user's partition that was asked for. */
  readonly extraRecord: Stored | null;
}

/** Reads users. */
export type LoyaltyReader = ReturnType<typeof createLoyaltyReader>;

/** Creates the reader of a process. */
export function createLoyaltyReader({ store, clock, configOf, states, policyOf }: LoyaltyServices) {
  const summaries = new SummaryCache();
  const [readMarks, readEntries] = inboxReads;
  function stateIn(user: SpaceUser, stored: Stored | null): UserState {
    return stored === null ? emptyState(user.projectId) : states.valueOf(spaceUserPartition(user), stored);
  }
  return {
    /** Returns a user's summary: the same object for as long as it stays true and the process remembers it. */
    async summary(
      user: SpaceUser,
      ...extraReads: readonly ReadRecord[]
    ): Promise<
      Omit<ReadView<LoyaltySummary>, "extraRecord"> & { readonly extraRecords: readonly (Stored | null)[] }
    > {
      const partition = spaceUserPartition(user);
      const cachedState = states.peek(partition);
      // Records alone are far cheaper to read than records and a log at one instant, and a count may be of another one.
      const [config, [stored, marks, ...extraRecords], early] = await Promise.all([
        configOf(user.spaceId),
        store.read(partition, [states.query, readMarks, ...extraReads]),
        cachedState !== undefined && summaries.has(cachedState, clock())
          ? null
          : store.read(partition, [readEntries]),
      ]);
      const found = stateIn(user, stored);
      const now = clock();
      const context = { config, marks: marks?.version ?? null, now };
      const rest = { isKnown: stored !== null, extraRecords };
      const cached = summaries.get(found, context);
      if (cached !== undefined) return { view: cached, ...rest };
      const [policy, [entries]] = await Promise.all([
        policyOf(user.spaceId),
        early ?? store.read(partition, [readEntries]),
      ]);
      const { state } = advanceTime(config, found, now);
      const unreadNotifications = countUnread(entries, { marks: parseReadMarks(marks), policy, now });
      const summary = { ...summarize(config, state, now), unreadNotifications };
      // Entries that were read after a state was known are not older than that state.
      if (found === cachedState && state === found) {
        const until = Math.min(summaryValidUntil(state, now), inboxValidUntil(entries, { policy, now }));
        summaries.set(found, context, { summary, until });
      }
      return { view: summary, ...rest };
    },
    /** Returns the challenges that a user has begun or may begin. */
    async challenges(user: SpaceUser, extraRead: ReadRecord): Promise<ReadView<readonly ChallengeView[]>> {
      const [config, [stored, extraRecord]] = await Promise.all([
        configOf(user.spaceId),
        store.read(spaceUserPartition(user), [states.query, extraRead]),
      ]);
      const now = clock();
      const { state } = advanceTime(config, stateIn(user, stored), now);
      return { view: challengeViews(config, state, now), isKnown: stored !== null, extraRecord };
    },
    /** Tells for each id whether an action has taken effect under it, for 7 to 14 days. */
    async areActionsApplied(user: SpaceUser, actionIds: readonly string[]): Promise<readonly boolean[]> {
      const reads = actionMarkReads(actionIds, clock());
      const marks = await store.read(spaceUserPartition(user), reads);
      return actionIds.map(id => marks.some(mark => mark.has(id)));
    },
    /** Returns a page of a user's ledger, newest entry first. */
    ledger: (user: SpaceUser, query: LedgerQuery): Promise<LedgerPage> =>
      readLedger(store, spaceUserPartition(user), query),
  };
}
