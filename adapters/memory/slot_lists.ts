/** Two lists of slots, least recently used first, linked through typed arrays: every operation takes constant time. */

/** The list of slots that may spend. */
export const openList = 0;
/** The list of slots that had nothing left when they were last used. */
export const blockedList = 1;

/** The indices of the two lists themselves, which close their rings; slots come after them. */
const sentinels = 2;
const initialSlots = 1_024;

/** Numbers slots from 2 and keeps each in one of the two lists. */
export class SlotLists {
  #next: Int32Array = new Int32Array(sentinels + initialSlots);
  #previous: Int32Array = new Int32Array(sentinels + initialSlots);
  #used: number = sentinels;
  /** The freed slots, linked by `#next`; 0 ends the list. */
  #free = 0;

  constructor() {
    for (const list of [openList, blockedList]) {
      this.#next[list] = list;
      this.#previous[list] = list;
    }
  }

  /** The number of indices that slots may have now. */
  get capacity(): number {
    return this.#next.length;
  }

  /** The least recently used slot of a list, or undefined where it is empty. */
  oldest(list: number): number | undefined {
    const slot = this.#next[list];
    return slot === list ? undefined : slot;
  }

  /** Makes a slot the most recently used of a list that it was not in. */
  add(list: number): number {
    const slot = this.#allocate();
    this.#link(slot, list);
    return slot;
  }

  /** Moves a slot to the most recently used end of a list. */
  move(slot: number, list: number): void {
    this.#unlink(slot);
    this.#link(slot, list);
  }

  /** Takes a slot out; its index may be used again. */
  remove(slot: number): void {
    this.#unlink(slot);
    this.#next[slot] = this.#free;
    this.#free = slot;
  }

  #allocate(): number {
    if (this.#free !== 0) {
      const slot = this.#free;
      this.#free = this.#next[slot] ?? 0;
      return slot;
    }
    if (this.#used === this.#next.length) {
      this.#next = grown(this.#next, Int32Array);
      this.#previous = grown(this.#previous, Int32Array);
    }
    return this.#used++;
  }

  #link(slot: number, list: number): void {
    const last = this.#previous[list] ?? list;
    this.#next[last] = slot;
    this.#previous[slot] = last;
    this.#next[slot] = list;
    this.#previous[list] = slot;
  }

  #unlink(slot: number): void {
    const next = this.#next[slot] ?? 0;
    const previous = this.#previous[slot] ?? 0;
    this.#next[previous] = next;
    this.#previous[next] = previous;
  }
}

/** A copy of a typed array with twice the room. */
export function grown<T extends Int32Array | Float64Array>(array: T, Type: new (length: number) => T): T {
  const larger = new Type(array.length * 2);
  larger.set(array);
  return larger;
}
