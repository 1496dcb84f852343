/**
 * The batcher of the platform: collects items by key and runs them in batches, one batch of a key at a time.
 *
 * ```ts
 * const registrations = new Batcher<User>({ batchMax: 240, run: (partition, users) => register(partition, users) });
 * await registrations.add(partition, user);
 * ```
 *
 * Items added in one turn of the event loop share the first batch. Items that arrive while a batch runs share the next
 * one, so a busy key costs one run per round trip, however many items there are.
 *
 * @module
 */

/** The work of a {@linkcode Batcher}. */
export interface BatcherOptions<T, R = void> {
  /** Runs a batch. Returns the results in the order of the items where callers of `add` wait for any. */
  // biome-ignore lint/suspicious/noConfusingVoidType: A batch without results returns nothing.
  run(key: string, items: readonly T[]): Promise<readonly R[] | void>;
  /** Most items of a batch. @default no bound */
  readonly batchMax?: number | undefined;
  /** Returns how many of the waiting items, at least one, may share a batch. @default all up to `batchMax` */
  countOf?(waiting: readonly T[]): number;
}

interface Settler<R> {
  readonly resolve: (result: R) => void;
  readonly reject: (error: unknown) => void;
}

interface Lineup<T, R> {
  readonly items: T[];
  /** The caller of each item, or null if none waits for it. */
  readonly settlers: (Settler<R> | null)[];
  accepted: number;
  finished: number;
  idlers: { readonly accepted: number; readonly resolve: () => void }[];
}

/** Collects items and runs them in batches, in the order in which they came. */
export class Batcher<T, R = void> {
  readonly #options: BatcherOptions<T, R>;
  readonly #lineups = new Map<string, Lineup<T, R>>();

  constructor(options: BatcherOptions<T, R>) {
    this.#options = options;
  }

  /** Adds an item and resolves with its result. Rejects when the run of its batch does. */
  add(key: string, item: T): Promise<R> {
    return new Promise((resolve, reject) => this.#accept(key, item, { resolve, reject }));
  }

  /** Adds an item without waiting for it. `run` has to handle what fails: a rejection is dropped. */
  push(key: string, item: T): void {
    this.#accept(key, item, null);
  }

  /** Resolves when everything that was added before this call has run. */
  async idle(): Promise<void> {
    const lineups = [...this.#lineups.values()];
    await Promise.all(
      lineups.map(({ accepted, idlers }) => new Promise<void>(resolve => idlers.push({ accepted, resolve }))),
    );
  }

  #accept(key: string, item: T, settler: Settler<R> | null): void {
    let lineup = this.#lineups.get(key);
    if (lineup === undefined) {
      lineup = { items: [], settlers: [], accepted: 0, finished: 0, idlers: [] };
      this.#lineups.set(key, lineup);
      void this.#drain(key, lineup);
    }
    lineup.items.push(item);
    lineup.settlers.push(settler);
    lineup.accepted += 1;
  }

  async #drain(key: string, lineup: Lineup<T, R>): Promise<void> {
    // Everything added in the same turn joins the first batch.
    await null;
    const { countOf, batchMax = Number.POSITIVE_INFINITY } = this.#options;
    const { items, settlers } = lineup;
    while (items.length > 0) {
      const count = Math.min(batchMax, countOf?.(items) ?? items.length);
      await this.#run(key, items.splice(0, count), settlers.splice(0, count));
      lineup.finished += count;
      if (lineup.idlers.length > 0) settleIdlers(lineup);
    }
    this.#lineups.delete(key);
  }

  async #run(key: string, items: readonly T[], settlers: readonly (Settler<R> | null)[]): Promise<void> {
    try {
      const results = await this.#options.run(key, items);
      for (let index = 0; index < settlers.length; index++) {
        settlers[index]?.resolve(results?.[index] as R);
      }
    } catch (error) {
      for (const settler of settlers) settler?.reject(error);
    }
  }
}

function settleIdlers(lineup: Pick<Lineup<unknown, unknown>, "idlers" | "finished">): void {
  for (const { accepted, resolve } of lineup.idlers) if (accepted <= lineup.finished) resolve();
  lineup.idlers = lineup.idlers.filter(({ accepted }) => accepted > lineup.finished);
}
