/** Processes queued actions of one user: each is applied, or becomes a dead letter. */

import type { Clock } from "../../../auth/mod.ts";
import { AppError, type ErrorCode, publicMessage } from "../../../base/errors/mod.ts";
import { causesOf } from "../../../http/errors/failure.ts";
import type { Logger, Timer } from "../../../http/mod.ts";
import { retry, sleep } from "../../../storage/background/mod.ts";
import type { Loyalty } from "../../loyalty/mod.ts";
import type { DeadAction, DeadLetterQueue } from "./dead_letter_queue.ts";
import type { QueuedAction } from "./queued_action.ts";

/** Most attempts to apply an action before it becomes a dead letter. */
const attemptsMax = 5;
/**
 * Most deliveries of an action before it is tried alone, with a note of the worker. The queue counts a delivery also where its
 * answer was lost, or the worker was slow, so that their number alone does not tell that workers died over the action.
 */
const deliveriesMax = 5;
/** Workers that have noted a try and not finished it before the action becomes a dead letter. */
const unfinishedTriesMax = 5;
/** Pause after the first failure of an action, in ms; it doubles with each further one. */
const retryPauseMs = 50;
/** Pause between two attempts while the store is unavailable, in ms. */
export const outagePauseMs = 250;
/** Actions that a worker applies concurrently. More would not keep the store busier, but hold memory and delay requests. */
const concurrentActionsMax = 128;

/** Applies actions: the part of loyalty that workers need. */
export type ActionSink = Pick<Loyalty, "reportAll">;

export interface TakenAction {
  readonly id: string;
  readonly action: QueuedAction;
  /** Number of deliveries, this one included. */
  readonly deliveries: number;
}

export interface ActionProcessorOptions {
  readonly sink: ActionSink;
  readonly deadLetters: Pick<DeadLetterQueue, "add" | "noteTry">;
  /** Names this worker uniquely among all that ever ran. */
  readonly name: string;
  readonly clock: Clock;
  readonly timer: Timer;
  readonly logger: Logger;
}

/**
 * Processes actions of one user in order. Resolves with the number of finished ones, which are all unless `canProceed` resolves
 * with false: then the shard belongs to another worker. Never rejects.
 */
export type ActionProcessor = (
  actions: readonly TakenAction[],
  canProceed: () => Promise<boolean>,
) => Promise<number>;

/** Applies queued actions of one user as reports of a back end. */
export async function applyActions(
  sink: ActionSink,
  actions: readonly QueuedAction[],
): ReturnType<ActionSink["reportAll"]> {
  const [first] = actions;
  if (first === undefined) return { applied: 0 };
  const { organisationId, spaceId, userId } = first;
  const reports = actions.map(({ action, data, actionId, at, projectId, metadata }) => {
    return { action, data, actionId, at, projectId, metadata, isClientReport: false };
  });
  return await sink.reportAll({ organisationId, spaceId, userId, projectId: null }, reports);
}

export function createActionProcessor(options: ActionProcessorOptions): ActionProcessor {
  const { sink, clock, timer, logger } = options;
  const semaphore = new Semaphore(concurrentActionsMax);
  return async (taken, canProceed) => {
    async function discard(
      { id, action }: TakenAction,
      attempts: number,
      reason: DeadAction["reason"],
      refusedUntil?: number,
    ): Promise<boolean> {
      const dead = { id, action, reason, attempts, at: clock() };
      return await addDeadLetter(options, dead, canProceed, refusedUntil);
    }
    let failures = 0;
    for (let done = 0; done < taken.length; ) {
      const rest = taken.slice(done);
      const unsafe = rest.findIndex(({ deliveries }) => deliveries > deliveriesMax);
      const [first] = rest;
      if (first === undefined) return done;
      if (unsafe === 0) {
        const tries = await noteTry(options, first, canProceed);
        if (tries === null) return done;
        if (tries >= unfinishedTriesMax) {
          const message = "The workers that took the action stopped before it was applied";
          if (!(await discard(first, tries, { code: "internal_error", message }))) return done;
          done += 1;
          continue;
        }
      }
      const run = unsafe === -1 ? rest : rest.slice(0, Math.max(1, unsafe));
      const result = await semaphore.run(run.length, async () =>
        (await canProceed())
          ? await applyActions(
              sink,
              run.map(({ action }) => action),
            )
          : null,
      );
      if (result === null) return done;
      if (result.applied > 0) failures = 0;
      done += result.applied;
      const failed = run[result.applied];
      if (failed === undefined) continue;
      const policy = failurePolicyOf(result.error);
      if (policy !== "wait") failures += 1;
      if (policy === "discard" || failures >= attemptsMax) {
        if (policy !== "discard") logger.log("warn", "action_failed", { error: causesOf(result.error) });
        const until = refusedUntilOf(result.error, clock());
        if (!(await discard(failed, failures, reasonOf(result.error), until))) return done;
        done += 1;
        failures = 0;
      } else {
        await sleep(timer, policy === "wait" ? outagePauseMs : retryPauseMs * 2 ** (failures - 1));
      }
    }
    return taken.length;
  };
}

/** Adds a dead letter, however long the store is unavailable: the action must not be acknowledged before. */
async function addDeadLetter(
  { deadLetters, timer, logger }: ActionProcessorOptions,
  dead: DeadAction,
  canProceed: () => Promise<boolean>,
  refusedUntil: number | undefined,
): Promise<boolean> {
  const { organisationId, spaceId, action } = dead.action;
  async function add(): Promise<boolean> {
    if (!(await canProceed())) return false;
    const hasDropped = await deadLetters.add(dead, refusedUntil);
    const facts = { deadLetterId: dead.id, organisationId, spaceId, action };
    logger.log("warn", "action_dead", { ...facts, ...dead.reason });
    if (hasDropped) logger.log("error", "dead_letter_dropped", { organisationId });
    return true;
  }
  return await outlastOutage(add, timer, error => {
    logger.log("warn", "dead_letter_deferred", { organisationId, error: String(error) });
  });
}

/** Notes a try, however long the store is unavailable; null once the shard belongs to another worker. */
async function noteTry(
  { deadLetters, name, timer, logger }: ActionProcessorOptions,
  taken: TakenAction,
  canProceed: () => Promise<boolean>,
): Promise<number | null> {
  const { organisationId } = taken.action;
  const note = async () => ((await canProceed()) ? await deadLetters.noteTry(taken, name) : null);
  return await outlastOutage(note, timer, error => {
    logger.log("warn", "action_try_deferred", { organisationId, error: String(error) });
  });
}

async function outlastOutage<T extends number | boolean | null>(
  work: () => Promise<T>,
  timer: Timer,
  onError: (error: unknown) => void,
): Promise<T> {
  const isRetryable = (error: unknown) => {
    onError(error);
    return true;
  };
  const pause = { timer, ms: () => outagePauseMs };
  return await retry(work, { attemptsMax: Number.POSITIVE_INFINITY, isRetryable, pause });
}

/** Errors that no retry cures: the space does not accept what was reported. */
const permanent: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  "validation_failed",
  "forbidden",
  "not_found",
  "rate_limited",
]);

/**
 * Returns what to do after an error. `wait` retries without counting the attempt, as the store is unavailable or answers late: an
 * action that took effect meanwhile does so once.
 */
function failurePolicyOf(error: unknown): "discard" | "wait" | "retry" {
  if (!(error instanceof AppError)) return "retry";
  if (error.code === "storage_unavailable" || error.code === "outcome_unknown") return "wait";
  return permanent.has(error.code) ? "discard" : "retry";
}

/** Returns until when (Unix ms) an error refuses every action of the user, who has used up the ids of a week. */
function refusedUntilOf(error: unknown, now: number): number | undefined {
  if (!(error instanceof AppError) || error.code !== "rate_limited") return undefined;
  return error.retryAfterMs === undefined ? undefined : now + error.retryAfterMs;
}

function reasonOf(error: unknown): DeadAction["reason"] {
  if (!(error instanceof AppError)) {
    return { code: "internal_error", message: "The action failed unexpectedly" };
  }
  const [field] = error.fields ?? [];
  const location = field === undefined ? "" : ` (${field.pointer}: ${field.detail})`;
  return { code: error.code, message: publicMessage(error) + location };
}

/** Bounds the total weight of the tasks that run concurrently; further ones wait in line. */
class Semaphore {
  readonly #waiting: { readonly weight: number; readonly start: () => void }[] = [];
  #free: number;

  constructor(permits: number) {
    this.#free = permits;
  }

  async run<T>(weight: number, task: () => Promise<T>): Promise<T> {
    if (this.#waiting.length === 0 && weight <= this.#free) this.#free -= weight;
    else await new Promise<void>(start => this.#waiting.push({ weight, start }));
    try {
      return await task();
    } finally {
      this.#free += weight;
      this.#startNext();
    }
  }

  #startNext(): void {
    for (
      let next = this.#waiting[0];
      next !== undefined && next.weight <= this.#free;
      next = this.#waiting[0]
    ) {
      this.#waiting.shift();
      this.#free -= next.weight;
      next.start();
    }
  }
}
