/**
 * Takes actions in: what it says it has accepted is in the queue, and takes effect whatever happens to this process.
 *
 * @module
 */

import { AppError } from "../../errors/mod.ts";
import type { Queue } from "../../storage/mod.ts";
import { type ActionSink, applyAction } from "../worker/handler.ts";
import { encodeAction, type QueuedAction, shardOfUser, topicOf } from "../worker/queued_action.ts";

/** What became of an action: null once it is accepted, else why it was not. */
export type Refusal = unknown;

/** Takes actions in. */
export interface ActionIntake {
  /** Accepts actions, those of one user in their order. Answers for each why it was not accepted; null: it was. Never rejects. */
  accept(actions: readonly QueuedAction[]): Promise<readonly (Refusal | null)[]>;
}

/** What the intake through a queue needs. */
export interface IntakeOptions {
  readonly queue: Queue;
  readonly shards: number;
  /** Told of shards to which something was pushed. */
  readonly onPushed: (shard: number) => void;
}

interface Group {
  readonly bodies: string[];
  /** Where the actions stand in the request. */
  readonly indexes: number[];
}

/** Creates an intake without a queue: what it accepts has taken effect already. */
export function createDirectIntake(sink: ActionSink): ActionIntake {
  return {
    async accept(actions) {
      const refusals: (Refusal | null)[] = actions.map(() => null);
      const last = new Map<string, Promise<void>>();
      for (const [index, action] of actions.entries()) {
        const before = last.get(action.userId) ?? Promise.resolve();
        const applied = before.then(async () => {
          refusals[index] = await applyAction(sink, action).then(
            () => null,
            (error: unknown) => error,
          );
        });
        last.set(action.userId, applied);
      }
      await Promise.all(last.values());
      return refusals;
    },
  };
}

/** Creates an intake through a queue, for workers to apply what it accepts. */
export function createActionIntake({ queue, shards, onPushed }: IntakeOptions): ActionIntake {
  return {
    async accept(actions) {
      const groups = new Map<number, Group>();
      for (let index = 0; index < actions.length; index++) {
        const action = actions[index];
        if (action === undefined) continue;
        const shard = shardOfUser(action.userId, shards);
        let group = groups.get(shard);
        if (group === undefined) {
          group = { bodies: [], indexes: [] };
          groups.set(shard, group);
        }
        group.bodies.push(encodeAction(action));
        group.indexes.push(index);
      }
      const refusals: (Refusal | null)[] = actions.map(() => null);
      await Promise.all(
        Array.from(groups, async ([shard, { bodies, indexes }]) => {
          try {
            await queue.push(topicOf(shard, shards), bodies);
            onPushed(shard);
          } catch (error) {
            const refusal = refusalOf(error);
            for (const index of indexes) refusals[index] = refusal;
          }
        }),
      );
      return refusals;
    },
  };
}

/** Callers know nothing of topics: a full one is told by what it means to them. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== "busy") return error;
  const { retryAfterMs } = error;
  const options = { cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  return new AppError(
    "busy",
    "Cannot accept the action as too many wait to take effect: send it again later",
    options,
  );
}
