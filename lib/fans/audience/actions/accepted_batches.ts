/**
 * Accepted bulk requests and the state of their actions.
 *
 * Only the ids of the actions are stored. Their state is read from where it shows, the ids that took effect and the dead letters, so
 * that applying an action writes nothing more.
 */

import type { Clock } from "../../../auth/mod.ts";
import { mapConcurrent } from "../../../storage/background/mod.ts";
import { type Partition, type Store, tenantPartition } from "../../../storage/mod.ts";
import type { LoyaltyReader } from "../../loyalty/mod.ts";
import { type ItemError, type ItemResult, itemErrorOf } from "../batch/results.ts";
import type { DeadAction, DeadLetterQueue } from "../worker/dead_letter_queue.ts";

/** For how long the state of a bulk request can be read, in ms. */
const keptMs = 24 * 60 * 60 * 1_000;
/** Users of a bulk request whose actions are read concurrently. */
const concurrentUsersMax = 64;
export const batchPrefix = "bat_";

interface BatchKey {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly batchId: string;
}

interface AcceptedBatchesOptions {
  readonly store: Store;
  readonly clock: Clock;
  /** Tells which actions took effect. */
  readonly reader: Pick<LoyaltyReader, "areActionsApplied">;
  readonly deadLetters: Pick<DeadLetterQueue, "findByActions">;
}

interface BatchAction {
  readonly userId: string;
  readonly actionId: string;
  readonly error?: ItemError | undefined;
}

/** The user alone if the id was generated from the index. */
type StoredAction =
  | string
  | readonly [userId: string, actionId: string]
  | readonly [userId: string, actionId: string, error: ItemError];

const recordKey = "batch";

export class AcceptedBatches {
  readonly #options: AcceptedBatchesOptions;

  constructor(options: AcceptedBatchesOptions) {
    this.#options = options;
  }

  /** Stores a bulk request with the results that it was answered with. */
  async save(key: BatchKey, results: readonly ItemResult[]): Promise<void> {
    const { store, clock } = this.#options;
    const actions = results.map(({ userId, id, error }, index): StoredAction => {
      if (error !== undefined) return [userId, id, error];
      return id === generatedActionId(key.batchId, index) ? userId : [userId, id];
    });
    const value = JSON.stringify(actions);
    const put = { type: "put", key: recordKey, value, expireAt: clock() + keptMs } as const;
    await store.commit(partitionOf(key), { writes: [put] });
  }

  /** Returns the current result of each action; null for an unknown or expired request. */
  async find(key: BatchKey): Promise<readonly ItemResult[] | null> {
    const [stored] = await this.#options.store.read(partitionOf(key), [{ type: "record", key: recordKey }]);
    if (stored === null) return null;
    const actions = parseActions(key.batchId, JSON.parse(stored.value) as readonly StoredAction[]);
    const ends = await findEnds(this.#options, key, actions);
    const listed = new Set<string>();
    return actions.map(({ userId, actionId, error }, index): ItemResult => {
      const name = nameOf({ userId, actionId });
      const item = { index, id: actionId, userId };
      const end = ends.get(name);
      const isUnknown = error?.code === "outcome_unknown";
      if (error !== undefined && !(isUnknown && end !== undefined)) {
        return { ...item, status: isUnknown ? "unknown" : "failed", error };
      }
      if (listed.has(name)) return { ...item, status: "duplicate" };
      listed.add(name);
      if (end === undefined) return { ...item, status: "queued" };
      if (end === "applied") return { ...item, status: "succeeded" };
      return { ...item, status: "failed", error: itemErrorOf(end.reason) };
    });
  }
}

/** Returns the id of an action of a bulk request that was sent without one. */
export function generatedActionId(batchId: string, index: number): string {
  return `act_${batchId.slice(batchPrefix.length)}.${index}`;
}

function parseActions(batchId: string, stored: readonly StoredAction[]): readonly BatchAction[] {
  return stored.map((action, index) => {
    if (typeof action === "string") return { userId: action, actionId: generatedActionId(batchId, index) };
    const [userId, actionId, error] = action;
    return { userId, actionId, error };
  });
}

/** Finds the actions that were applied or became dead letters, by name; waiting ones are absent. */
async function findEnds(
  { reader, deadLetters }: AcceptedBatchesOptions,
  { organisationId, spaceId }: BatchKey,
  actions: readonly BatchAction[],
): Promise<ReadonlyMap<string, "applied" | DeadAction>> {
  const idsByUser = new Map<string, Set<string>>();
  for (const { userId, actionId } of actions) {
    idsByUser.set(userId, (idsByUser.get(userId) ?? new Set()).add(actionId));
  }
  const ends = new Map<string, "applied" | DeadAction>();
  const unapplied: BatchAction[] = [];
  await mapConcurrent([...idsByUser], concurrentUsersMax, async ([userId, ids]) => {
    const user = { organisationId, spaceId, userId, projectId: null };
    const applied = await reader.areActionsApplied(user, [...ids]);
    for (const [index, actionId] of [...ids].entries()) {
      if (applied[index] === true) ends.set(nameOf({ userId, actionId }), "applied");
      else unapplied.push({ userId, actionId });
    }
  });
  const dead = await deadLetters.findByActions(organisationId, unapplied);
  for (const [index, action] of unapplied.entries()) {
    const found = dead[index] ?? null;
    if (found !== null) ends.set(nameOf(action), found);
  }
  return ends;
}

function nameOf({ userId, actionId }: BatchAction): string {
  return JSON.stringify([userId, actionId]);
}

function partitionOf({ organisationId, spaceId, batchId }: BatchKey): Partition {
  return tenantPartition({ organisation: organisationId }, "action_batch", spaceId, batchId);
}
