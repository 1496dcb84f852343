import type { Partition } from "./contract.ts";

/** Work and size of batches. */
export interface BatchesOptions<T> {
  /** How many of the first entries that wait for a partition go together, at least one. */
  readonly countOf: (waiting: readonly T[]) => number;
  /** Carries a batch out; whoever put it in is told here. It never throws. */
  readonly carryOut: (partition: Partition, batch: readonly T[]) => Promise<void>;
}

/**
 * Entries that wait for their partition and go there in batches, in the order in which they came. While a batch is under way
 * more arrive, and all of them go with the next: a busy partition costs one commit per round trip, however many entries
 * there are.
 */
export class Batches<T> {
  readonly #lists = new Map<Partition, T[]>();
  readonly #running = new Set<Promise<void>>();
  readonly #options: BatchesOptions<T>;

  constructor(options: BatchesOptions<T>) {
    this.#options = options;
  }

  /** Puts an entry behind those that wait for the partition. */
  add(partition: Partition, entry: T): void {
    const list = this.#lists.get(partition);
    if (list !== undefined) {
      list.push(entry);
      return;
    }
    const created = [entry];
    this.#lists.set(partition, created);
    this.start(() => this.#run(partition, created));
  }

  /** Starts work that {@linkcode idle} waits for, such as finding out where entries belong. It must not reject. */
  start(work: () => Promise<void>): void {
    // Started in a microtask, so that whoever adds in the same turn shares the first batch too.
    const started = Promise.resolve()
      .then(work)
      .finally(() => this.#running.delete(started));
    this.#running.add(started);
  }

  /** Resolves when nothing waits or is under way any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async #run(partition: Partition, list: T[]): Promise<void> {
    while (list.length > 0) {
      await this.#options.carryOut(partition, list.splice(0, this.#options.countOf(list)));
    }
    this.#lists.delete(partition);
  }
}

/** Calls back once as many have answered as are counted, and tells whether all of them said yes. */
export function whenAll(count: number, done: (isAll: boolean) => void): (isYes: boolean) => void {
  let open = count;
  let isAll = true;
  return isYes => {
    isAll &&= isYes;
    open -= 1;
    if (open === 0) done(isAll);
  };
}
