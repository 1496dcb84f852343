/**
 * The work of tasks: whole tasks in this process, and steps that polls advance. Both work under the lease of the task, so that no
 * two processes do.
 */

import { capabilityId } from "../auth/crypto/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import { causesOf } from "../http/errors/failure.ts";
import { LeaseLost, type LeaseState } from "../storage/background/due_queue.ts";
import type { Partition } from "../storage/mod.ts";
import { type ControlClient, ControlError, createControlClient } from "./api.ts";
import type { WorkflowPorts } from "./ports.ts";
import type { Seals } from "./seal.ts";
import { type TaskFailure, type TaskRecord, type Tasks, taskPartition } from "./tasks.ts";
import type { Caller, DialogueUser, VerifiedContext } from "./verify.ts";

/** Age of the stored token from which a poll stores its own, in ms. Tokens of dialogues live for ten minutes. */
const bearerMsMax = 240_000;
/** Longest result, cursor or data of a failure, in characters of JSON. Longer data is left out, the others fail the task. */
const resultCharactersMax = 200_000;
/** Longest message of progress or failure, in characters; longer ones are cut. */
const messageCharactersMax = 2_000;

/** Fails a task with a message for the user, and data for the handler of the failure. */
export class TaskFailed extends Error {
  override readonly name = "TaskFailed";
  readonly data: unknown;

  constructor(message: string, data?: unknown) {
    super(message);
    this.data = data;
  }
}

/** A running task, as its function sees it. */
export interface TaskRun<S> {
  readonly id: string;
  readonly user: DialogueUser;
  readonly context: VerifiedContext;
  /** State of the dialogue when the task began. */
  readonly state: S;
  /** Aborts when the task is cancelled or another process has taken it over. */
  readonly signal: AbortSignal;
  /**
   * The control API with the rights of the user. Tokens end after ten minutes: while the dialogue is open, its polls bring newer ones,
   * which take their place. Once the dialogue is closed the last one ends, and the task fails with a {@linkcode ControlError}.
   */
  readonly api: ControlClient;
  /** Stores progress, from 0 to 100, and a message. Progress never falls. It throws if the task was cancelled. */
  progress(percent: number, message?: string): Promise<void>;
  /** Throws if the task was cancelled or taken over. */
  throwIfCancelled(): void;
}

/** How a task is run. */
export interface TaskOptions {
  /** Time between polls in ms. @default 2,000 */
  readonly poll?: number;
  /** Time in ms after which the work of a process that has died is over. @default 60,000 */
  readonly lease?: number;
  /**
   * True if the function may run again from its beginning after its process has died. The argument is stored then. @default false:
   * the task fails as interrupted
   */
  readonly idempotent?: boolean;
}

/** The outcome of a step: where the next one goes on, or the result of the task. */
export type StepOutcome<C, R> = { readonly next: C } | { readonly done: R };

export interface TaskDefinition {
  readonly kind: "task" | "step";
  readonly pollMs: number;
  readonly leaseMs: number;
  readonly isResumable: boolean;
  readonly run: (run: TaskRun<never>, arg: never, cursor: never) => Promise<unknown>;
}

interface ActiveRun {
  readonly abort: AbortController;
  token: string;
}

export class TaskRuns {
  readonly #ports: WorkflowPorts;
  readonly #tasks: Tasks;
  readonly #seals: Seals;
  readonly #active = new Map<string, ActiveRun>();

  constructor(ports: WorkflowPorts, tasks: Tasks, seals: Seals) {
    this.#ports = ports;
    this.#tasks = tasks;
    this.#seals = seals;
  }

  holder(): string {
    return capabilityId(this.#ports.random);
  }

  launch(caller: Caller, task: TaskRecord, definition: TaskDefinition, arg: unknown): void {
    const { lease } = task;
    if (lease === null) return;
    const work = this.#work(caller, task, lease, definition, async run => ({
      result: checked(await definition.run(run, arg as never, undefined as never)),
      state: "completed",
    }));
    this.#ports.waitUntil(work);
  }

  /** Aborts the work of a task if this process does it. */
  abort(id: string): void {
    this.#active.get(id)?.abort.abort(new LeaseLost("The task was cancelled"));
  }

  /** Advances a running task by a poll: the next step, the resumption or the end of one whose process died, or nothing. */
  async advance(caller: Caller, task: TaskRecord, definition: TaskDefinition): Promise<TaskRecord | null> {
    const tasks = this.#tasks;
    const active = this.#active.get(task.id);
    if (active !== undefined) {
      active.token = caller.token;
      return task;
    }
    const partition = taskPartition(caller);
    if (task.lease !== null && task.lease.until > this.#ports.clock())
      return await this.#keepToken(caller, task);
    if (!definition.isResumable)
      return await tasks.update(partition, task.id, ({ lease }, now) =>
        lease === null || lease.until > now ? null : interrupted,
      );
    const claimed = await tasks.claim(partition, task.id, this.holder(), definition.leaseMs);
    if (claimed === null) return await tasks.read(partition, task.id);
    const arg = await tasks.readArg(partition, claimed.task);
    if (definition.kind === "task") {
      this.launch(caller, claimed.task, definition, arg);
      return claimed.task;
    }
    await this.#work(caller, claimed.task, claimed.lease, definition, async run => {
      const stepped = await definition.run(run, arg as never, claimed.task.cursor as never);
      const outcome = stepped as StepOutcome<unknown, unknown>;
      return "done" in outcome
        ? { result: checked(outcome.done), state: "completed" }
        : { cursor: checked(outcome.next), lease: null };
    });
    return await tasks.read(partition, task.id);
  }

  /** Stores the token of a poll for the process that works on the task, whose own ends soon. */
  async #keepToken(caller: Caller, task: TaskRecord): Promise<TaskRecord | null> {
    if (task.bearerAt + bearerMsMax > this.#ports.clock()) return task;
    const bearer = this.#seals.seal(caller.token, ["bearer", task.id]);
    return await this.#tasks.update(taskPartition(caller), task.id, (_, now) => ({ bearer, bearerAt: now }));
  }

  async #work(
    caller: Caller,
    task: TaskRecord,
    lease: LeaseState,
    definition: TaskDefinition,
    run: (run: TaskRun<never>) => Promise<Partial<TaskRecord>>,
  ): Promise<void> {
    const { logger } = this.#ports;
    const partition = taskPartition(caller);
    const active: ActiveRun = { abort: new AbortController(), token: caller.token };
    this.#active.set(task.id, active);
    const held = { lease };
    const stop = this.#heartbeat(partition, task.id, held, definition, active);
    try {
      let outcome: Partial<TaskRecord>;
      try {
        outcome = await run(this.#runOf(caller, task, held, active));
      } catch (error) {
        if (active.abort.signal.aborted) return;
        outcome = { state: "failed", failure: failureOf(error) };
        if (!(error instanceof TaskFailed))
          logger.log("warn", "workflow_task_failed", { task: task.name, error: causesOf(error) });
      }
      const progress = outcome.state === "completed" ? { progress: 100 } : {};
      await this.#tasks.change(partition, task.id, held.lease, () => ({ ...outcome, ...progress }));
    } catch (error) {
      if (!(error instanceof LeaseLost))
        logger.log("warn", "workflow_task_lost", { task: task.name, error: causesOf(error) });
    } finally {
      stop();
      if (this.#active.get(task.id) === active) this.#active.delete(task.id);
    }
  }

  /** Renews the lease while the work goes on. Returns a function that ends it. */
  #heartbeat(
    partition: Partition,
    id: string,
    held: { lease: LeaseState },
    { leaseMs }: TaskDefinition,
    { abort }: ActiveRun,
  ): () => void {
    const { clock, timer } = this.#ports;
    const tasks = this.#tasks;
    let stop = timer(beat, leaseMs / 3);
    let isOver = false;
    function beat(): void {
      tasks
        .change(partition, id, held.lease, ({ lease }) => ({
          lease: lease === null ? null : { ...lease, until: clock() + leaseMs },
        }))
        .catch((error: unknown) => {
          if (error instanceof LeaseLost) abort.abort(error);
        })
        .finally(() => {
          if (!isOver && !abort.signal.aborted) stop = timer(beat, leaseMs / 3);
        });
    }
    return () => {
      isOver = true;
      stop();
    };
  }

  #runOf(
    caller: Caller,
    task: TaskRecord,
    held: { readonly lease: LeaseState },
    active: ActiveRun,
  ): TaskRun<never> {
    const { fetch } = this.#ports;
    const tasks = this.#tasks;
    const partition = taskPartition(caller);
    const { signal } = active.abort;
    let last = { progress: task.progress, message: task.message };
    return {
      id: task.id,
      user: caller.user,
      context: caller.context,
      state: task.dialogue as never,
      signal,
      api: createControlClient({
        baseURL: caller.context.baseURL,
        fetch,
        signal,
        token: () => active.token,
        renew: refused => this.#renewedToken(partition, task.id, active, refused),
      }),
      throwIfCancelled: () => signal.throwIfAborted(),
      async progress(percent, message) {
        signal.throwIfAborted();
        const whole = Math.round(Math.min(100, Math.max(0, percent, last.progress ?? 0)));
        const next = {
          progress: Number.isNaN(whole) ? last.progress : whole,
          message: message?.slice(0, messageCharactersMax) ?? last.message,
        };
        if (next.progress === last.progress && next.message === last.message) return;
        last = next;
        await tasks
          .change(partition, task.id, held.lease, () => next)
          .catch((error: unknown) => {
            if (error instanceof LeaseLost) active.abort.abort(error);
            throw error;
          });
      },
    };
  }

  /** Returns a token that a poll brought since, here or to another process. */
  async #renewedToken(
    partition: Partition,
    id: string,
    active: ActiveRun,
    refused: string,
  ): Promise<string | null> {
    if (active.token !== refused) return active.token;
    const bearer = (await this.#tasks.read(partition, id))?.bearer;
    if (bearer === undefined) return null;
    const token = this.#seals.open(bearer, ["bearer", id]);
    active.token = token;
    return token === refused ? null : token;
  }
}

const interrupted = {
  state: "failed",
  failure: { safeMessage: "This was interrupted: start it again" },
} as const;

function checked(result: unknown): unknown {
  if ((JSON.stringify(result) ?? "").length <= resultCharactersMax) return result;
  throw new RangeError(`A task keeps at most ${resultCharactersMax} characters of JSON`);
}

function failureOf(error: unknown): TaskFailure {
  if (error instanceof TaskFailed) return failure(error.message, error.data);
  if (error instanceof ControlError)
    return failure(error.safeMessage, { status: error.status, faults: error.faults.slice(0, 100) });
  const isAway = error instanceof AppError && error.code === "provider_unavailable";
  return failure(isAway ? error.message : "Something went wrong: try again");
}

function failure(message: string, data?: unknown): TaskFailure {
  const safeMessage = message.slice(0, messageCharactersMax);
  return (JSON.stringify(data) ?? "").length > resultCharactersMax ? { safeMessage } : { safeMessage, data };
}
