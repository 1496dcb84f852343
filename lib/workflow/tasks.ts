/**
 * Tasks as they are stored: one partition for each user, so that the bound on their number is a rule of one commit.
 *
 * A task ends once. Who works on it holds its lease, and every write of the work checks that it still does.
 */

import { claimLease, isSameLease, LeaseLost, type LeaseState } from "../storage/background/due_queue.ts";
import {
  decide,
  type Partition,
  type Store,
  type Stored,
  tenantPartition,
  type Write,
} from "../storage/mod.ts";
import { keyName } from "../storage/names.ts";
import { decodeFile, encodeFile } from "./dialogue/mod.ts";
import { partRemovals, partWrites, readParts } from "./parts.ts";
import type { WorkflowPorts } from "./ports.ts";
import { type Caller, contextIds } from "./verify.ts";

/** Tasks of a user that are kept, ended ones included. */
const tasksPerUserMax = 20;
/** Time for which an ended task can still be read, in ms. */
const endedTaskMs = 3_600_000;
/** Time after the last write of a running task after which it is forgotten, in ms. */
const runningTaskMs = 86_400_000;

export interface TaskRecord {
  readonly id: string;
  readonly workflow: string;
  readonly name: string;
  /** Ids of the context that it belongs to. */
  readonly place: readonly string[];
  readonly state: "running" | "completed" | "failed" | "cancelled";
  /** From 0 to 100, never falling. */
  readonly progress: number | null;
  readonly message: string | null;
  readonly dialogue: unknown;
  /** Parts of the stored argument; 0 if it is not stored. */
  readonly argParts: number;
  /** Where the next step goes on. */
  readonly cursor?: unknown;
  readonly result?: unknown;
  readonly failure?: TaskFailure;
  readonly lease: LeaseState | null;
  /** The newest token of the user that a poll brought, sealed. */
  readonly bearer?: string;
  /** Unix ms at which the task had a token. */
  readonly bearerAt: number;
}

/** Why a task failed. */
export interface TaskFailure {
  readonly safeMessage: string;
  readonly data?: unknown;
}

interface BegunTask {
  readonly task: TaskRecord;
  readonly isNew: boolean;
}

interface OpenTask {
  readonly id: string;
  readonly isOver: boolean;
}

/** A change of a task by who holds its lease, or null for none. */
type Change = (task: TaskRecord) => Partial<TaskRecord> | null;

export class Tasks {
  readonly #store: Store;
  readonly #clock: () => number;

  constructor({ store, clock }: WorkflowPorts) {
    this.#store = store;
    this.#clock = clock;
  }

  async read(partition: Partition, id: string): Promise<TaskRecord | null> {
    const [stored] = await this.#store.read(partition, [{ type: "record", key: keyName("task", id) }]);
    return parsed(stored);
  }

  async readArg(partition: Partition, { id, argParts }: TaskRecord): Promise<unknown> {
    const text = argParts === 0 ? null : await readParts(this.#store, partition, "arg", id, argParts);
    return text === null ? undefined : JSON.parse(text, unpacked);
  }

  /**
   * Stores a task that begins, with its argument if `arg` is given. An existing one with the same id is returned as it is; null if the
   * user has too many running ones.
   */
  async begin(
    partition: Partition,
    task: TaskRecord,
    arg: { readonly value: unknown } | null,
    isInterrupted: (task: TaskRecord) => boolean,
  ): Promise<BegunTask | null> {
    const begun = await this.#begin(partition, task, arg, new Set());
    if (begun !== null) return begun;
    const over = new Set<string>();
    const [list] = await this.#store.read(partition, [openRead]);
    for (const { id } of parsedList(list)) {
      const found = await this.read(partition, id);
      if (found === null || found.state !== "running" || isInterrupted(found)) over.add(id);
    }
    return over.size === 0 ? null : await this.#begin(partition, task, arg, over);
  }

  #begin(
    partition: Partition,
    task: TaskRecord,
    arg: { readonly value: unknown } | null,
    over: ReadonlySet<string>,
  ): Promise<BegunTask | null> {
    const { id } = task;
    const expireAt = this.#clock() + runningTaskMs;
    const stored = arg === null ? undefined : JSON.stringify(arg.value, packed);
    const parts = stored === undefined ? { writes: [], count: 0 } : partWrites("arg", id, stored, expireAt);
    const begun = { ...task, argParts: parts.count };
    return decide(this.#store, partition, {
      reads: [openRead, { type: "record", key: keyName("task", id) }],
      idempotent: true,
      apply: ([list, found]) => {
        const existing = parsed(found);
        if (existing !== null) {
          const isNew = existing.lease !== null && existing.lease.holder === task.lease?.holder;
          return { writes: [], answer: { task: existing, isNew } };
        }
        const open = parsedList(list).map(each => (over.has(each.id) ? { ...each, isOver: true } : each));
        const dropped = open.length < tasksPerUserMax ? null : open.find(({ isOver }) => isOver);
        if (dropped === undefined) return { writes: [], answer: null };
        const kept = open.filter(each => each !== dropped);
        const removal: readonly Write[] =
          dropped === null ? [] : [{ type: "delete", shape: "record", key: keyName("task", dropped.id) }];
        return {
          writes: [
            ...removal,
            listWrite([...kept, { id, isOver: false }], expireAt),
            taskWrite(begun, expireAt),
            ...parts.writes,
          ],
          answer: { task: begun, isNew: true },
        };
      },
    });
  }

  claim(
    partition: Partition,
    id: string,
    holder: string,
    durationMs: number,
  ): Promise<{ readonly task: TaskRecord; readonly lease: LeaseState } | null> {
    return this.#decide(partition, id, task => {
      if (task?.state !== "running") return { change: null, answer: null };
      const lease = claimLease(task.lease, { holder, durationMs, now: this.#clock() });
      if (lease === null) return { change: null, answer: null };
      return { change: { lease }, answer: { task: { ...task, lease }, lease } };
    });
  }

  /**
   * Changes a task under its lease.
   *
   * @throws {LeaseLost} The task is over, was cancelled, or another works on it.
   */
  change(partition: Partition, id: string, lease: LeaseState, change: Change): Promise<TaskRecord> {
    return this.#decide(partition, id, task => {
      if (task?.state !== "running" || task.lease === null || !isSameLease(task.lease, lease))
        throw new LeaseLost("The task is over, or another process works on it");
      const changed = change(task);
      return { change: changed, answer: { ...task, ...changed } };
    });
  }

  /** Changes a running task without its lease. Returns it as it then is; null if there is none. */
  update(
    partition: Partition,
    id: string,
    change: (task: TaskRecord, now: number) => Partial<TaskRecord> | null,
  ): Promise<TaskRecord | null> {
    return this.#decide(partition, id, task => {
      if (task?.state !== "running") return { change: null, answer: task };
      const changed = change(task, this.#clock());
      return { change: changed, answer: { ...task, ...changed } };
    });
  }

  #decide<A>(
    partition: Partition,
    id: string,
    rule: (task: TaskRecord | null) => { readonly change: Partial<TaskRecord> | null; readonly answer: A },
  ): Promise<A> {
    return decide(this.#store, partition, {
      reads: [{ type: "record", key: keyName("task", id) }, openRead],
      idempotent: true,
      apply: ([stored, list]) => {
        const task = parsed(stored);
        const { change, answer } = rule(task);
        if (task === null || change === null) return { writes: [], answer };
        const now = this.#clock();
        const changed = { ...task, ...change };
        if (changed.state === "running") return { writes: [taskWrite(changed, now + runningTaskMs)], answer };
        const open = parsedList(list).map(each => (each.id === id ? { ...each, isOver: true } : each));
        return {
          writes: [
            taskWrite({ ...changed, lease: null, argParts: 0 }, now + endedTaskMs),
            listWrite(open, now + runningTaskMs),
            ...partRemovals("arg", id, task.argParts),
          ],
          answer,
        };
      },
    });
  }
}

export function taskPartition({ context, user }: Caller): Partition {
  return tenantPartition({ organisation: context.organisationId }, "workflow_task", user.id);
}

export function isOfCaller(task: TaskRecord, workflow: string, { context }: Caller): boolean {
  return task.workflow === workflow && String(task.place) === String(contextIds(context));
}

const openRead = { type: "record", key: "open" } as const;

function listWrite(open: readonly OpenTask[], expireAt: number): Write {
  return { type: "put", key: "open", value: JSON.stringify(open), expireAt };
}

function taskWrite(task: TaskRecord, expireAt: number): Write {
  return { type: "put", key: keyName("task", task.id), value: JSON.stringify(task), expireAt };
}

function parsed(stored: Stored | null): TaskRecord | null {
  return stored === null ? null : JSON.parse(stored.value);
}

function parsedList(stored: Stored | null): readonly OpenTask[] {
  return stored === null ? [] : JSON.parse(stored.value);
}

function packed(_: string, value: unknown): unknown {
  return value instanceof Uint8Array ? { $bytes: encodeFile(value) } : value;
}

function unpacked(_: string, value: unknown): unknown {
  const { $bytes } = (value ?? {}) as { readonly $bytes?: unknown };
  return typeof $bytes === "string" ? decodeFile($bytes) : value;
}
