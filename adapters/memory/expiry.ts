/**
 * Removal of expired records, a few steps at a time.
 *
 * Records that expire stand in one array; a hand walks round it and is moved a few steps by every commit. With four
 * steps for each record that is put, at most about a third as many expired records as live ones are ever kept, without
 * timers, without an order to maintain and without a pause. Reads never depend on it: they look at the time themselves.
 *
 * @module
 */

/** A record as kept. */
export interface KeptRecord {
  readonly partition: string;
  readonly key: string;
  readonly value: string;
  readonly version: string;
  /** Unix ms, or infinity. */
  readonly expireAt: number;
  /** The index among the records that expire, or -1. */
  place: number;
}

/** Records looked at per commit, and again per record put with an expiry. */
export const sweepSteps = 4;

/** The records that expire, each once. */
export class Expiry {
  readonly #records: KeptRecord[] = [];
  #hand = 0;

  /** The number of records that expire and are still kept. */
  get size(): number {
    return this.#records.length;
  }

  /** Begins to watch a record; does nothing for one that never expires. */
  add(record: KeptRecord): void {
    if (record.expireAt === Number.POSITIVE_INFINITY) return;
    record.place = this.#records.length;
    this.#records.push(record);
  }

  /** Stops watching a record. */
  remove(record: KeptRecord): void {
    if (record.place < 0) return;
    const last = this.#records.pop();
    if (last !== undefined && last !== record) {
      this.#records[record.place] = last;
      last.place = record.place;
    }
    record.place = -1;
  }

  /** Looks at `steps` records and hands those that have expired to `expire`, which must remove them here too. */
  sweep(now: number, steps: number, expire: (record: KeptRecord) => void): void {
    for (let step = 0; step < steps && this.#records.length > 0; step++) {
      if (this.#hand >= this.#records.length) this.#hand = 0;
      const record = this.#records[this.#hand];
      if (record !== undefined && now >= record.expireAt) expire(record);
      else this.#hand++;
    }
  }
}
