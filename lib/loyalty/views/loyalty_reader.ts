/**
 * Reading users without changing anything: each read is one round trip to the user's partition.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import type { ReadRecord, RecordCache, Store, Stored } from "../../storage/mod.ts";
import type { ConfigCache } from "../config/config_cache.ts";
import { advanceTime } from "../engine/mod.ts";
import { inboxReads } from "../user/inbox.ts";
import { countUnread, type InboxPolicy, inboxValidUntil, parseReadMarks } from "../user/inbox_view.ts";
import { type Member, memberPartition } from "../user/member.ts";
import { actionMarkReads } from "../user/once_marks.ts";
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
export interface LoyaltyReader {
  /** Returns a user's summary: the same object for as long as it stays true and the process remembers it. */
  summary(member: Member, extraRead: ReadRecord): Promise<ReadView<LoyaltySummary>>;
  /** Returns the challenges that a user has begun or may begin. */
  challenges(member: Member, extraRead: ReadRecord): Promise<ReadView<readonly ChallengeView[]>>;
  /** Tells for each id whether an action has taken effect under it, for 7 to 14 days. */
  areActionsApplied(member: Member, actionIds: readonly string[]): Promise<readonly boolean[]>;
  /** Returns a page of a user's ledger, newest entry first. */
  ledger(member: Member, query: LedgerQuery): Promise<LedgerPage>;
}

/** Services that reading needs. */
export interface LoyaltyReaderOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly configOf: ConfigCache;
  readonly states: RecordCache<UserState>;
  readonly policyOf: (spaceId: string) => Promise<InboxPolicy> | InboxPolicy;
}

/** Creates the reader of a process. */
export function createLoyaltyReader(options: LoyaltyReaderOptions): LoyaltyReader {
  const { store, clock, configOf, states, policyOf } = options;
  const summaries = new SummaryCache();
  const [readMarks, readEntries] = inboxReads;
  function stateIn(member: Member, stored: Stored | null): UserState {
    return stored === null ? emptyState(member.projectId) : states.valueOf(memberPartition(member), stored);
  }
  return {
    async summary(member, extraRead) {
      const partition = memberPartition(member);
      const known = states.peek(partition);
      // Records alone are far cheaper to read than records and a log at one instant, and a count may be of another one.
      const [config, [stored, extraRecord, marks], early] = await Promise.all([
        configOf(member.spaceId),
        store.read(partition, [states.query, extraRead, readMarks]),
        known !== undefined && summaries.has(known, clock()) ? null : store.read(partition, [readEntries]),
      ]);
      const found = stateIn(member, stored);
      const now = clock();
      const context = { config, marks: marks?.version ?? null, now };
      const rest = { isKnown: stored !== null, extraRecord };
      const cached = summaries.get(found, context);
      if (cached !== undefined) return { view: cached, ...rest };
      const [policy, [entries]] = await Promise.all([
        policyOf(member.spaceId),
        early ?? store.read(partition, [readEntries]),
      ]);
      const { state } = advanceTime(config, found, now);
      const unreadNotifications = countUnread(entries, { marks: parseReadMarks(marks), policy, now });
      const summary = { ...summarize(config, state, now), unreadNotifications };
      // Entries that were read after a state was known are not older than that state.
      if (found === known && state === found) {
        const until = Math.min(summaryValidUntil(state, now), inboxValidUntil(entries, { policy, now }));
        summaries.set(found, context, { summary, until });
      }
      return { view: summary, ...rest };
    },
    async challenges(member, extraRead) {
      const [config, [stored, extraRecord]] = await Promise.all([
        configOf(member.spaceId),
        store.read(memberPartition(member), [states.query, extraRead]),
      ]);
      const now = clock();
      const { state } = advanceTime(config, stateIn(member, stored), now);
      return { view: challengeViews(config, state, now), isKnown: stored !== null, extraRecord };
    },
    async areActionsApplied(member, actionIds) {
      const reads = actionMarkReads(actionIds, clock());
      const marks = await store.read(memberPartition(member), reads);
      return actionIds.map(id => marks.some(mark => mark.has(id)));
    },
    ledger: (member, query) => readLedger(store, memberPartition(member), query),
  };
}
