/** Checks of a user that change nothing: trying an action, proving that the ledger adds up, and replaying the history. */

import { AppError } from "../../../base/errors/mod.ts";
import { compileConfig } from "../config/compile.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { advanceReplay, compareStates, type DryRun, dryRun, Replay } from "../engine/replay.ts";
import { type Reconciliation, reconcile } from "../ledger/reconcile.ts";
import type { GlobalLimits } from "../limits.ts";
import { type ActionReport, requireReportable } from "../report.ts";
import type { LoyaltyServices } from "../services.ts";
import type { HistoryEntry } from "../user/history.ts";
import { readWholeHistory } from "../user/read_history.ts";
import { emptyState, pickFields, type SpaceUser, spaceUserPartition, type UserState } from "../user/state.ts";

export type UserVerification = ReturnType<typeof createUserVerification>;

export function createUserVerification(
  { store, clock, states, profiles, configOf }: LoyaltyServices,
  limits: GlobalLimits,
) {
  const wholeHistory = (user: SpaceUser, take: (record: HistoryEntry) => void): Promise<UserState | null> =>
    readWholeHistory(store, spaceUserPartition(user), states, take);
  return {
    /**
     * Computes what an action would do now, and why it would not do more.
     *
     * @throws {AppError} As reporting the action would.
     */
    async dryRun(user: SpaceUser, report: ActionReport): Promise<DryRun> {
      const config = await configOf(user.spaceId);
      requireReportable(config, report);
      const { organisationId, spaceId, userId } = user;
      const [at, { action: name, data }] = [clock(), report];
      const { timeZone, weekStartsOn } = config.config;
      const claimant = { organisationId, spaceId, userId, at, timeZone, weekStartsOn };
      const partition = spaceUserPartition(user);
      const [[stored, found], reached] = await Promise.all([
        store.read(partition, [states.query, profiles.query]),
        limits.reached(claimant, config.limitedRules.values()),
      ]);
      const state = stored === null ? emptyState(user.projectId) : states.valueOf(partition, stored);
      const fields = found === null ? {} : profiles.valueOf(partition, found);
      const profile = pickFields(fields, config.customFields);
      return dryRun(config, state, { name, data, at }, { reached, profile });
    },
    /** Proves that the user's metrics are the sums of the ledger's entries. Throws `not_found` where nothing is on record. */
    async reconcile(user: SpaceUser): Promise<Reconciliation> {
      const config = await configOf(user.spaceId);
      const records: HistoryEntry[] = [];
      const state = await wholeHistory(user, record => records.push(record));
      if (state === null) throw unknownUser("reconcile the metrics");
      return reconcile(state, records, defaultsOf(config));
    },
    /**
     * Replays the user's history against a configuration document, by default the current one. Of the differences, `a` is the
     * user's state and `b` the state after the replay.
     *
     * @throws {AppError} `validation_failed` where the document is not a configuration, `not_found` where nothing is on record.
     */
    async replay(user: SpaceUser, document?: unknown) {
      const config = document === undefined ? await configOf(user.spaceId) : compileConfig(document);
      const replay = new Replay(config);
      let records = 0;
      const stored = await wholeHistory(user, record => {
        replay.add(record);
        records += 1;
      });
      if (stored === null) throw unknownUser("replay the history");
      const now = clock();
      const advance = (state: UserState): UserState => advanceReplay(config, state, now);
      return {
        records,
        // True where no record has been dropped, so that the replay began with the user's first.
        isComplete: records === stored.records,
        version: config.version,
        differences: compareStates(advance(stored), advance(replay.state)),
      };
    },
  };
}

/** Looks up default values of metrics, which are known of the version of the configuration alone. */
function defaultsOf({ version, metrics }: CompiledConfig): Parameters<typeof reconcile>[2] {
  return (metricId, recorded) => (recorded === version ? (metrics.get(metricId)?.defaultValue ?? 0) : null);
}

function unknownUser(task: string): AppError {
  return new AppError("not_found", `Cannot ${task} as nothing is on record of the user's loyalty`);
}
