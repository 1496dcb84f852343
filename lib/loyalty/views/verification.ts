/**
 * Proofs of what is stored of a user: that the ledger adds up, and that the history leads to it.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Partition, RecordCache, Store } from "../../storage/mod.ts";
import type { CompiledConfig } from "../config/compiled.ts";
import { advanceReplay, compareStates, type Difference, Replay } from "../engine/mod.ts";
import { type Reconciliation, reconcile } from "../ledger/mod.ts";
import type { StoredRecord } from "../user/history.ts";
import { readWholeHistory } from "../user/read_history.ts";
import type { UserState } from "../user/state.ts";

/** Where a user's history and state are. */
export interface UserSource {
  readonly store: Store;
  readonly partition: Partition;
  readonly states: RecordCache<UserState>;
}

/** What a replay of a user's history comes to. */
export interface ReplayResult {
  /** Records that were replayed. */
  readonly records: number;
  /** Whether no record had been dropped, so that the replay began where the user did. */
  readonly isComplete: boolean;
  /** The version of the configuration that it was replayed against. */
  readonly version: string;
  /** What is different: `a` is what the user has, `b` what the replay gives. */
  readonly differences: readonly Difference[];
}

/**
 * Proves that what is stored of a user's metrics is the fold of the user's ledger entries.
 *
 * @throws {AppError} `not_found` where nothing is on record of the user.
 */
export async function reconcileUser(source: UserSource, compiled: CompiledConfig): Promise<Reconciliation> {
  const records: StoredRecord[] = [];
  const take = (record: StoredRecord): void => {
    records.push(record);
  };
  const state = await readWholeHistory(source.store, source.partition, { states: source.states, take });
  if (state === null) throw unknownUser("reconcile the metrics");
  return reconcile(state, records, {
    defaultOf: (metricId, config) =>
      config === compiled.version ? (compiled.metrics.get(metricId)?.defaultValue ?? 0) : null,
  });
}

/**
 * Replays a user's history against a configuration, and tells what would be different at a time (Unix ms).
 *
 * @throws {AppError} `not_found` where nothing is on record of the user.
 */
export async function replayUser(
  source: UserSource,
  compiled: CompiledConfig,
  now: number,
): Promise<ReplayResult> {
  const replay = new Replay(compiled);
  let records = 0;
  const take = (record: StoredRecord): void => {
    replay.add(record);
    records += 1;
  };
  const stored = await readWholeHistory(source.store, source.partition, { states: source.states, take });
  if (stored === null) throw unknownUser("replay the history");
  // A replay lacks the effects of time since the last record.
  const at = (state: UserState): UserState => advanceReplay(compiled, state, now);
  return {
    records,
    isComplete: records === stored.records,
    version: compiled.version,
    differences: compareStates(at(stored), at(replay.state)),
  };
}

function unknownUser(task: string): AppError {
  return new AppError("not_found", `Cannot ${task} as nothing is on record of the user's loyalty`);
}
