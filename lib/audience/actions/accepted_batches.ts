/**
 * What is known of a bulk request after it was accepted: which actions of which users it had. What has become of them is not written
 * down but looked for where it shows: in the marks of what took effect, and among the dead letters.
 *
 * @module
 */

import type { Clock } from "../../auth/mod.ts";
import { mapConcurrent } from "../../background/mod.ts";
import { type Partition, type Store, tenantPartition } from "../../storage/mod.ts";
import { type ItemError, type ItemResult, itemErrorOf } from "../batch/results.ts";
import type { AudienceMember } from "../member.ts";
import type { DeadLetter, DeadLetters } from "../worker/dead_letters.ts";

/** How long one can ask what has become of a bulk request, in ms: a day. */
export const batchKnownMs: number = 24 * 60 * 60 * 1_000;
/** Number of users of a bulk request whose actions are looked for at a time. */
export const batchLookLanes = 64;
/** How the ids of bulk requests begin. */
export const batchPrefix = "bat_";

/** A bulk request as it was accepted. */
export interface AcceptedBatch {
  readonly organisationId: string;
  readonly spaceId: string;
  readonly batchId: string;
  readonly results: readonly ItemResult[];
}

/** An action of a user. */
export interface NamedAction {
  readonly userId: string;
  readonly actionId: string;
}

/** Says which actions have taken effect. */
export interface ActionMarks {
  /** For each id whether an action has taken effect under it within the last week. */
  areActionsApplied(member: AudienceMember, actionIds: readonly string[]): Promise<readonly boolean[]>;
}

/** Remembers bulk requests, and looks for what has become of them. */
export interface ActionBatches {
  /** Remembers a request. */
  keep(batch: AcceptedBatch): Promise<void>;
  /** What has become of its items by now, in their order; null where there is no such request any more. */
  find(
    place: Pick<AcceptedBatch, "organisationId" | "spaceId" | "batchId">,
  ): Promise<readonly ItemResult[] | null>;
}

/** What batches need. */
export interface ActionBatchesOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly marks: ActionMarks;
  readonly deadLetters: Pick<DeadLetters, "ofActions">;
}

interface Item extends NamedAction {
  readonly error?: ItemError | undefined;
}

/** The user alone where the id was made here. */
type StoredItem =
  | string
  | readonly [userId: string, actionId: string]
  | readonly [userId: string, actionId: string, error: ItemError];

const key = "batch";

/** Creates what is remembered of all bulk requests. */
export function createActionBatches(options: ActionBatchesOptions): ActionBatches {
  const { store, clock } = options;
  return {
    async keep({ organisationId, spaceId, batchId, results }) {
      const items = results.map(({ userId, id, error }, index): StoredItem => {
        if (error !== undefined) return [userId, id, error];
        return id === madeActionId(batchId, index) ? userId : [userId, id];
      });
      const value = JSON.stringify(items);
      const put = { type: "put", key, value, expireAt: clock() + batchKnownMs } as const;
      await store.commit(partitionOf({ organisationId, spaceId, batchId }), { writes: [put] });
    },
    async find(place) {
      const [stored] = await store.read(partitionOf(place), [{ type: "record", key }]);
      if (stored === null) return null;
      const items = itemsOf(place.batchId, JSON.parse(stored.value) as readonly StoredItem[]);
      const became = await lookFor(options, place, items);
      const met = new Set<string>();
      return items.map(({ userId, actionId, error }, index): ItemResult => {
        const name = nameOf({ userId, actionId });
        const item = { index, id: actionId, userId };
        if (error !== undefined) return { ...item, status: "failed", error };
        if (met.has(name)) return { ...item, status: "duplicate" };
        met.add(name);
        const end = became.get(name);
        if (end === undefined) return { ...item, status: "queued" };
        return end === "applied"
          ? { ...item, status: "succeeded" }
          : { ...item, status: "failed", error: itemErrorOf(end.reason) };
      });
    },
  };
}

/** The id of an action of a bulk request that was sent without one. */
export function madeActionId(batchId: string, index: number): string {
  return `act_${batchId.slice(batchPrefix.length)}.${index}`;
}

function itemsOf(batchId: string, stored: readonly StoredItem[]): readonly Item[] {
  return stored.map((item, index) => {
    if (typeof item === "string") return { userId: item, actionId: madeActionId(batchId, index) };
    const [userId, actionId, error] = item;
    return { userId, actionId, error };
  });
}

type End = "applied" | DeadLetter;

/** What has become of actions, by their names; those that wait are not among them. */
async function lookFor(
  { marks, deadLetters }: ActionBatchesOptions,
  { organisationId, spaceId }: Pick<AcceptedBatch, "organisationId" | "spaceId">,
  items: readonly Item[],
): Promise<ReadonlyMap<string, End>> {
  const idsOf = new Map<string, Set<string>>();
  for (const { userId, actionId } of items) idsOf.set(userId, (idsOf.get(userId) ?? new Set()).add(actionId));
  const became = new Map<string, End>();
  const open: NamedAction[] = [];
  await mapConcurrent([...idsOf], batchLookLanes, async ([userId, of]) => {
    const ids = [...of];
    const applied = await marks.areActionsApplied({ organisationId, spaceId, userId, projectId: null }, ids);
    for (const [index, actionId] of ids.entries()) {
      if (applied[index] === true) became.set(nameOf({ userId, actionId }), "applied");
      else open.push({ userId, actionId });
    }
  });
  const letters = await deadLetters.ofActions(organisationId, open);
  for (const [index, action] of open.entries()) {
    const letter = letters[index] ?? null;
    if (letter !== null) became.set(nameOf(action), letter);
  }
  return became;
}

function nameOf({ userId, actionId }: NamedAction): string {
  return JSON.stringify([userId, actionId]);
}

function partitionOf({
  organisationId,
  spaceId,
  batchId,
}: Pick<AcceptedBatch, "organisationId" | "spaceId" | "batchId">): Partition {
  return tenantPartition({ organisation: organisationId }, "action_batch", spaceId, batchId);
}
