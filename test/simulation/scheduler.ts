/** Owns time, order and chance of a simulation: everything that waits does so for a task of this scheduler. */

import { createRandom, type Random } from "../../adapters/conformance/random.ts";

const nextTurn = setImmediate;

/** Most steps of a simulation: ten times as many as usual. */
const stepsMax = 400_000;

interface Task {
  readonly at: number;
  /** Orders tasks of the same time, at random. */
  readonly rank: number;
  readonly name: string;
  readonly run: () => void;
  isCancelled: boolean;
}

/** Work of the runtime that ends when it wants to, such as that of WebCrypto. */
interface OutsideWork {
  readonly done: Promise<void>;
  readonly release: () => void;
}

/** Runs tasks one by one in the order of simulated time. */
export class Scheduler {
  readonly random: Random;
  /** True time, Unix ms. */
  now: number;
  /** Number of tasks that ran. */
  steps = 0;
  readonly #heap: Task[] = [];
  readonly #outside: OutsideWork[] = [];
  readonly #log: ((line: string) => void) | undefined;
  #hash = [0xdeadbeef, 0x41c6ce57];

  constructor(seed: number, startAt: number, log?: (line: string) => void) {
    this.random = createRandom(seed);
    this.now = startAt;
    this.#log = log;
  }

  /** Digest of all that has happened: equal for equal runs. */
  get trace(): string {
    return this.#hash.map(half => (half >>> 0).toString(16).padStart(8, "0")).join("");
  }

  /** Notes something in the trace. */
  note(text: string): void {
    let [a = 0, b = 0] = this.#hash;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      a = Math.imul(a ^ code, 2654435761);
      b = Math.imul(b ^ code, 1597334677);
    }
    this.#hash = [a ^ (b >>> 15), b ^ (a >>> 13)];
    this.#log?.(`${(this.now / 1_000).toFixed(3)} ${text}`);
  }

  /** Runs a task after a time in ms; returns what cancels it. */
  after(ms: number, name: string, run: () => void): () => void {
    const at = this.now + Math.max(0, ms);
    const task: Task = { at, rank: this.random.integer(1 << 30), name, run, isCancelled: false };
    push(this.#heap, task);
    return () => {
      task.isCancelled = true;
    };
  }

  /** Resolves after a time in ms. */
  sleep(ms: number): Promise<void> {
    return new Promise(resolve => this.after(ms, "wake", resolve));
  }

  /** Returns a promise of the runtime's own work that settles at a point that does not depend on how long the work takes. */
  gate<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      let release = (): void => {};
      const done = work.then(
        value => {
          release = () => resolve(value);
        },
        (error: unknown) => {
          release = () => reject(error);
        },
      );
      this.#outside.push({ done, release: () => release() });
    });
  }

  /** Runs tasks until the work is done. Throws what the work throws, or where nothing is left that could end it. */
  async run<T>(work: Promise<T>): Promise<T> {
    let outcome: (() => T) | undefined;
    work.then(
      value => {
        outcome = () => value;
      },
      (error: unknown) => {
        outcome = () => {
          throw error;
        };
      },
    );
    for (;;) {
      await this.#settle();
      if (outcome !== undefined) return outcome();
      const task = pop(this.#heap);
      if (task === undefined) throw new Error("The simulation waits for something that never happens");
      if (task.isCancelled) continue;
      this.now = Math.max(this.now, task.at);
      this.steps += 1;
      if (this.steps > stepsMax) throw new Error("The simulation does not end");
      this.note(task.name);
      task.run();
    }
  }

  /** Lets everything go on that waits for nothing but its turn. */
  async #settle(): Promise<void> {
    for (;;) {
      await new Promise<void>(resolve => nextTurn(resolve));
      const first = this.#outside.shift();
      if (first === undefined) return;
      await first.done;
      first.release();
    }
  }
}

function isBefore(a: Task, b: Task): boolean {
  return a.at < b.at || (a.at === b.at && a.rank < b.rank);
}

function push(heap: Task[], task: Task): void {
  let index = heap.push(task) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent] as Task;
    if (!isBefore(task, above)) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = task;
}

function pop(heap: Task[]): Task | undefined {
  const first = heap[0];
  const last = heap.pop();
  if (first === undefined || last === undefined || heap.length === 0) return first;
  let index = 0;
  for (;;) {
    let child = 2 * index + 1;
    if (child >= heap.length) break;
    if (child + 1 < heap.length && isBefore(heap[child + 1] as Task, heap[child] as Task)) child += 1;
    const below = heap[child] as Task;
    if (!isBefore(below, last)) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
  return first;
}
