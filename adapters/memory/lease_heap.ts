/** A binary heap of leases by the time they end, from which any lease can be taken out. */

/** A message as the queue keeps it. */
export interface Message {
  readonly id: string;
  readonly body: string;
  /** The order of arrival. */
  readonly sequence: number;
  attempts: number;
  /** Unix ms at which the lease ends. */
  until: number;
  /** The index in the heap, or -1 while there is no lease. */
  place: number;
}

/** The leases of a topic; those that end at the same time are in order of arrival. */
export class LeaseHeap {
  readonly #heap: Message[] = [];

  /** The number of leases. */
  get size(): number {
    return this.#heap.length;
  }

  /** The lease that ends first. */
  first(): Message | undefined {
    return this.#heap[0];
  }

  /** Adds a lease, or moves one whose end changed. */
  set(message: Message): void {
    if (message.place < 0) message.place = this.#heap.push(message) - 1;
    this.#settle(message);
  }

  /** Takes a lease out. */
  delete(message: Message): void {
    const { place } = message;
    message.place = -1;
    const last = this.#heap.pop();
    if (last === undefined || last === message) return;
    this.#put(last, place);
    this.#settle(last);
  }

  #settle(message: Message): void {
    for (let above = parentOf(message.place); message.place > 0; above = parentOf(message.place)) {
      const parent = this.#heap[above];
      if (parent === undefined || !endsBefore(message, parent)) break;
      this.#swap(message, parent);
    }
    for (;;) {
      const [left, right] = [this.#heap[2 * message.place + 1], this.#heap[2 * message.place + 2]];
      const child = left !== undefined && right !== undefined && endsBefore(right, left) ? right : left;
      if (child === undefined || !endsBefore(child, message)) return;
      this.#swap(child, message);
    }
  }

  #swap(upwards: Message, downwards: Message): void {
    const { place } = downwards;
    this.#put(downwards, upwards.place);
    this.#put(upwards, place);
  }

  #put(message: Message, place: number): void {
    this.#heap[place] = message;
    message.place = place;
  }
}

function parentOf(place: number): number {
  return (place - 1) >> 1;
}

function endsBefore(a: Message, b: Message): boolean {
  return a.until < b.until || (a.until === b.until && a.sequence < b.sequence);
}
