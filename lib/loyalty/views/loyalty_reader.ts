/**
 * Looking at users, without changing anything: each look is one round trip to the user's partition.
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
import { type LoyaltySummary, overviewAt, overviewValidUntil } from "./overview.ts";
import { SummaryCache } from "./summary_cache.ts";

/** What was seen of a user, and a record of the same instant. */
export interface ReadView<T> {
  readonly view: T;
  /** Whether there is anything on record of the user's loyalty. */
  readonly isKnown: boolean;
  /** The other record of the user's partition that was asked for. */
  readonly extraRecord: Stored | null;
}

/** Looks at users. */
export interface LoyaltyReader {
  /** A user's loyalty at a glance: the same object as long as it stays the same, where the process remembers it. */
  summary(member: Member, beside: ReadRecord): Promise<ReadView<LoyaltySummary>>;
  /** The challenges that a user has to do with. */
  challenges(member: Member, beside: ReadRecord): Promise<ReadView<readonly ChallengeView[]>>;
  /** For each id whether an action has taken effect under it, for 7 to 14 days. */
  areActionsApplied(member: Member, actionIds: readonly string[]): Promise<readonly boolean[]>;
  /** A page of a user's ledger, newest entry first. */
  ledger(member: Member, query: LedgerQuery): Promise<LedgerPage>;
}

/** What looking needs. */
export interface LoyaltyReaderOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly configOf: ConfigCache;
  readonly states: RecordCache<UserState>;
  readonly policyOf: (spaceId: string) => Promise<InboxPolicy> | InboxPolicy;
}

/** Creates a way to look at users. */
export function createLoyaltyReader({
  store,
  clock,
  configOf,
  states,
  policyOf,
}: LoyaltyReaderOptions): LoyaltyReader {
  const overviews = new SummaryCache();
  const [readMarks, readEntries] = inboxReads;
  function stateIn(member: Member, stored: Stored | null): UserState {
    return stored === null ? emptyState(member.projectId) : states.valueOf(memberPartition(member), stored);
  }
  return {
    async summary(member, beside) {
      const partition = memberPartition(member);
      const known = states.peek(partition);
      // Records alone are far cheaper to read than records and a log at one instant, and a count may be of another one.
      const [config, [stored, other, marks], early] = await Promise.all([
        configOf(member.spaceId),
        store.read(partition, [states.query, beside, readMarks]),
        known !== undefined && overviews.has(known, clock()) ? null : store.read(partition, [readEntries]),
      ]);
      const found = stateIn(member, stored);
      const context = { config, marks: marks?.version ?? null, now: clock() };
      const rest = { isKnown: stored !== null, extraRecord: other };
      const shown = overviews.of(found, context);
      if (shown !== undefined) return { view: shown, ...rest };
      const [policy, [entries]] = await Promise.all([
        policyOf(member.spaceId),
        early ?? store.read(partition, [readEntries]),
      ]);
      const { now } = context;
      const { state } = advanceTime(config, found, now);
      const unreadNotifications = countUnread(entries, { marks: parseReadMarks(marks), policy, now });
      const view = { ...overviewAt(config, state, now), unreadNotifications };
      // What was read beside a state that was known before is not older than that state.
      if (found === known && state === found) {
        const until = Math.min(overviewValidUntil(state, now), inboxValidUntil(entries, { policy, now }));
        overviews.keep(found, context, { view, until });
      }
      return { view, ...rest };
    },
    async challenges(member, beside) {
      const [config, [stored, other]] = await Promise.all([
        configOf(member.spaceId),
        store.read(memberPartition(member), [states.query, beside]),
      ]);
      const now = clock();
      const { state } = advanceTime(config, stateIn(member, stored), now);
      return { view: challengeViews(config, state, now), isKnown: stored !== null, extraRecord: other };
    },
    async areActionsApplied(member, actionIds) {
      const reads = actionMarkReads(actionIds, clock());
      const marks = await store.read(memberPartition(member), reads);
      return actionIds.map(id => marks.some(mark => mark.has(id)));
    },
    ledger: (member, query) => readLedger(store, memberPartition(member), query),
  };
}
