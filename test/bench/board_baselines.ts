/** Other ways to rank members, to hold the board against. Each keeps score, tie and member order as the board does. */

/** The operations of every variant. */
export interface Ranking {
  readonly size: number;
  put(member: string, score: number, tie: number): void;
  /** Returns the number of scores that are strictly lower than the member's. */
  below(member: string): number;
  /** The `count` highest members, highest first. */
  top(count: number): readonly string[];
}

interface Entry {
  readonly member: string;
  readonly score: number;
  readonly tie: number;
}

function compare(a: Entry, b: Entry): number {
  return a.score - b.score || a.tie - b.tie || (a.member < b.member ? -1 : a.member === b.member ? 0 : 1);
}

/** A Map beside one sorted array with binary search: what one writes first. */
export class SortedArray implements Ranking {
  readonly #entries: Entry[] = [];
  readonly #members = new Map<string, Entry>();

  get size(): number {
    return this.#entries.length;
  }

  put(member: string, score: number, tie: number): void {
    const before = this.#members.get(member);
    if (before !== undefined) this.#entries.splice(this.#place(before), 1);
    const entry = { member, score, tie };
    this.#entries.splice(this.#place(entry), 0, entry);
    this.#members.set(member, entry);
  }

  below(member: string): number {
    const score = this.#members.get(member)?.score ?? Number.NaN;
    return this.#place({ member: "", score, tie: -1 });
  }

  top(count: number): readonly string[] {
    return this.#entries
      .slice(-count)
      .reverse()
      .map(entry => entry.member);
  }

  #place(entry: Entry): number {
    let low = 0;
    let high = this.#entries.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(this.#entries[middle] as Entry, entry) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

interface Node extends Entry {
  readonly next: (Node | null)[];
  /** Entries that the link of each level steps over. */
  readonly width: number[];
  back: Node | null;
}

const levelsMax = 24;

/** A Map beside a skip list of objects with link widths (W. Pugh, 1990), as Redis and most npm packages do it. */
export class SkipList implements Ranking {
  readonly #members = new Map<string, Node>();
  readonly #head: Node = node({ member: "", score: Number.NEGATIVE_INFINITY, tie: 0 }, levelsMax);
  readonly #path: Node[] = Array(levelsMax).fill(this.#head);
  readonly #ranks: number[] = Array(levelsMax).fill(0);
  #last: Node | null = null;
  /** Levels in use. */
  #levels = 1;
  #random = 1;

  get size(): number {
    return this.#members.size;
  }

  put(member: string, score: number, tie: number): void {
    const before = this.#members.get(member);
    if (before !== undefined) this.#remove(before);
    const fresh = node({ member, score, tie }, this.#level());
    this.#walk(fresh);
    const at = this.#ranks[0] ?? 0;
    for (; this.#levels < fresh.next.length; this.#levels++) {
      this.#path[this.#levels] = this.#head;
      this.#ranks[this.#levels] = 0;
      this.#head.width[this.#levels] = this.#members.size - Number(before !== undefined);
    }
    for (let level = 0; level < this.#levels; level++) {
      const previous = this.#path[level] as Node;
      const width = previous.width[level] ?? 0;
      if (level >= fresh.next.length) {
        previous.width[level] = width + 1;
        continue;
      }
      const skipped = at - (this.#ranks[level] ?? 0);
      fresh.next[level] = previous.next[level] ?? null;
      fresh.width[level] = width - skipped;
      previous.next[level] = fresh;
      previous.width[level] = skipped + 1;
    }
    const previous = this.#path[0] as Node;
    fresh.back = previous === this.#head ? null : previous;
    const next = fresh.next[0] ?? null;
    if (next === null) this.#last = fresh;
    else next.back = fresh;
    this.#members.set(member, fresh);
  }

  below(member: string): number {
    const score = this.#members.get(member)?.score ?? Number.NaN;
    return this.#walk({ member: "", score, tie: -1 });
  }

  top(count: number): readonly string[] {
    const members: string[] = [];
    for (let at = this.#last; at !== null && members.length < count; at = at.back) members.push(at.member);
    return members;
  }

  #remove(gone: Node): void {
    this.#walk(gone);
    for (let level = 0; level < this.#levels; level++) {
      const previous = this.#path[level] as Node;
      const width = previous.width[level] ?? 0;
      if (previous.next[level] === gone) {
        previous.width[level] = width + (gone.width[level] ?? 0) - 1;
        previous.next[level] = gone.next[level] ?? null;
      } else {
        previous.width[level] = width - 1;
      }
    }
    const next = gone.next[0] ?? null;
    if (next === null) this.#last = gone.back;
    else next.back = gone.back;
  }

  /** Walks to the last node below the entry, leaving the path; answers how many nodes are below it. */
  #walk(entry: Entry): number {
    let at = this.#head;
    let rank = 0;
    for (let level = this.#levels - 1; level >= 0; level--) {
      for (
        let next = at.next[level] ?? null;
        next !== null && compare(next, entry) < 0;
        next = at.next[level] ?? null
      ) {
        rank += at.width[level] ?? 0;
        at = next;
      }
      this.#path[level] = at;
      this.#ranks[level] = rank;
    }
    return rank;
  }

  #level(): number {
    this.#random ^= this.#random << 13;
    this.#random ^= this.#random >>> 17;
    this.#random ^= this.#random << 5;
    return Math.min(levelsMax, 1 + (Math.clz32(this.#random) >> 1));
  }
}

function node(entry: Entry, levels: number): Node {
  return { ...entry, next: Array(levels).fill(null), width: Array(levels).fill(0), back: null };
}
