import { Batcher } from "./batcher.ts";

const attemptsMax = 3;

export interface DeliveryOptions<T> {
  /** Writes the items of a batch; repeating it must change nothing. */
  readonly write: (key: string, batch: readonly T[]) => Promise<unknown>;
  /** Called with the error of a batch whose last attempt failed. */
  readonly onGivenUp: (error: unknown) => void;
  /** Most items of a batch. @default no bound */
  readonly batchMax?: number | undefined;
  /** Most items that wait in a process; more are given up at once. @default 100,000 */
  readonly waitingMax?: number | undefined;
}

interface Waiting<T> {
  readonly item: T;
  readonly done: (isDelivered: boolean) => void;
}

/**
 * Writes in the background what follows from records elsewhere, many items of a key at a time. A batch that fails is tried again; then it
 * is given up, as the records have it still and the sender delivers it later.
 */
export class Delivery<T> {
  readonly #batches: Batcher<Waiting<T>>;
  readonly #waitingMax: number;
  #waiting = 0;

  constructor({ write, onGivenUp, batchMax, waitingMax = 100_000 }: DeliveryOptions<T>) {
    this.#waitingMax = waitingMax;
    this.#batches = new Batcher<Waiting<T>>({
      batchMax,
      async run(key, batch) {
        const items = batch.map(({ item }) => item);
        let isDelivered = true;
        try {
          await retry(() => write(key, items));
        } catch (error) {
          onGivenUp(error);
          isDelivered = false;
        }
        for (const { done } of batch) done(isDelivered);
      },
    });
  }

  /** Delivers items under their keys; calls `done` once, when all of them are written or some are given up. */
  deliver(items: readonly (readonly [key: string, item: T])[], done: (isDelivered: boolean) => void): void {
    if (items.length === 0) return;
    if (this.#waiting + items.length > this.#waitingMax) {
      done(false);
      return;
    }
    this.#waiting += items.length;
    let open = items.length;
    let areDelivered = true;
    const itemDone = (isDelivered: boolean): void => {
      this.#waiting -= 1;
      open -= 1;
      areDelivered &&= isDelivered;
      if (open === 0) done(areDelivered);
    };
    for (const [key, item] of items) this.#batches.push(key, { item, done: itemDone });
  }

  /** Resolves when nothing waits any more. */
  async idle(): Promise<void> {
    while (this.#waiting > 0) await this.#batches.idle();
  }
}

async function retry(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await work();
      return;
    } catch (error) {
      if (attempt >= attemptsMax) throw error;
    }
  }
}
