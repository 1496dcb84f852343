/** Accepts actions. An accepted action is in the queue and will be applied whatever happens to this process. */

import type { Clock } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { createPause, groupBy, mapConcurrent } from "../../../storage/background/mod.ts";
import type { Queue } from "../../../storage/mod.ts";
import type { DeadLetterQueue, RefusedUsers } from "../worker/dead_letter_queue.ts";
import { type ActionSink, applyActions } from "../worker/process_actions.ts";
import { encodeAction, type QueuedAction, shardOfUser, topicOf } from "../worker/queued_action.ts";

export interface ActionIntake {
  /** Accepts actions, those of one user in their order. Returns for each why it was refused, or null. Never rejects. */
  accept(actions: readonly QueuedAction[]): Promise<readonly unknown[]>;
}

/** Users whose actions are applied at a time without a queue. */
const concurrentUsersMax = 32;

/** Creates an intake without a queue, which applies actions before it returns. */
export function createDirectIntake(sink: ActionSink): ActionIntake {
  return {
    async accept(actions) {
      const refusals: unknown[] = actions.map(() => null);
      const users = groupBy([...actions.entries()], ([, { userId }]) => userId);
      const pause = createPause();
      await mapConcurrent(users, concurrentUsersMax, async entries => {
        for (let rest = entries; rest.length > 0; ) {
          // A store in memory answers at once, so that nothing else would run meanwhile.
          await pause();
          const { applied, error } = await applyActions(
            sink,
            rest.map(([, action]) => action),
          );
          const [failed, ...others] = rest.slice(applied);
          if (failed !== undefined) refusals[failed[0]] = error;
          rest = others;
        }
      });
      return refusals;
    },
  };
}

interface QueueIntakeOptions {
  readonly queue: Queue;
  readonly shards: number;
  readonly clock: Clock;
  readonly deadLetters: Pick<DeadLetterQueue, "refusedUsers">;
  readonly onPushed: (shard: number) => void;
}

/** Creates an intake through a queue, whose actions workers apply. Actions of which a worker is known to refuse all are not queued. */
export function createQueueIntake({
  queue,
  shards,
  clock,
  deadLetters,
  onPushed,
}: QueueIntakeOptions): ActionIntake {
  async function refusedUsers(actions: readonly QueuedAction[]): Promise<RefusedUsers> {
    const [first] = actions;
    try {
      return first === undefined ? noUsers : await deadLetters.refusedUsers(first.organisationId);
    } catch {
      return noUsers;
    }
  }
  return {
    async accept(actions) {
      const groups = new Map<number, { readonly bodies: string[]; readonly indexes: number[] }>();
      const refusals: unknown[] = actions.map(() => null);
      const refused = await refusedUsers(actions);
      const now = clock();
      for (const [index, action] of actions.entries()) {
        const until = refused.get(action.userId) ?? 0;
        if (until > now) {
          refusals[index] = idsUsedUp(until - now);
          continue;
        }
        const shard = shardOfUser(action.userId, shards);
        let group = groups.get(shard);
        if (group === undefined) {
          group = { bodies: [], indexes: [] };
          groups.set(shard, group);
        }
        group.bodies.push(encodeAction(action));
        group.indexes.push(index);
      }
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

const noUsers: RefusedUsers = new Map();

function idsUsedUp(retryAfterMs: number): AppError {
  const message = "Cannot accept the action as its user has used up the ids of actions of this week";
  return new AppError("rate_limited", message, { retryAfterMs });
}

/** Translates the error of a full topic, which callers know nothing of. */
function refusalOf(error: unknown): unknown {
  if (!(error instanceof AppError) || error.code !== "busy") return error;
  const { retryAfterMs } = error;
  const options = { cause: error, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  const message = "Cannot accept the action as too many are waiting to be applied: send it again later";
  return new AppError("busy", message, options);
}
