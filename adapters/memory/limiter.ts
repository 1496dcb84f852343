/** Rate limits in memory: a sliding window in buckets (`lib/storage/ports.ts`). */

import type { Limiter, LimitRule, LimitVerdict } from "../../lib/storage/ports.ts";
import { bucketAt, useAheadMsMax, windowBuckets, windowVerdict } from "../../lib/storage/ports.ts";
import { validateTake } from "../../lib/storage/validate.ts";

/** Most subjects per limiter by default, each counted once per rule. */
export const limiterSubjectsMax = 100_000;

interface MemoryLimiterOptions {
  /**
   * The time in ms. @default a monotonic clock, so that a step of the system's clock neither frees a budget nor blocks a subject
   */
  readonly clock?: () => number;
  /**
   * Most subjects, each counted once per rule. Beyond that the least recently used one is dropped, and one that
   * had nothing left to spend only when no other is there.
   * @default limiterSubjectsMax
   */
  readonly subjectsMax?: number;
}

/** Creates a limiter for one process. */
export function createMemoryLimiter(options: MemoryLimiterOptions = {}): Limiter {
  return new MemoryLimiter(options);
}

interface Table extends LimitRule {
  readonly slots: Map<string, number>;
}

class MemoryLimiter implements Limiter {
  readonly #clock: () => number;
  readonly #subjectsMax: number;
  readonly #tables = new Map<string, Table[]>();
  readonly #lists: SlotLists = new SlotLists();
  readonly #windows: (Window | undefined)[] = [];
  /** Subject and rule of each slot: two arrays take less room than one of objects. */
  readonly #subjects: (string | undefined)[] = [];
  readonly #tableOf: (Table | undefined)[] = [];
  #size = 0;
  #lastRule: LimitRule | undefined;
  #lastTable: Table | undefined;

  constructor({ clock = () => performance.now(), subjectsMax = limiterSubjectsMax }: MemoryLimiterOptions) {
    this.#clock = clock;
    this.#subjectsMax = subjectsMax;
  }

  take(subject: string, rules: readonly LimitRule[], cost: number = 1): readonly LimitVerdict[] {
    const now = this.#clock();
    const only = rules.length === 1 ? rules[0] : undefined;
    const slot = only === undefined ? undefined : this.#slotOf(only, subject);
    // Subject and rule of a slot were checked when it was made, and one unit is within every limit: most calls end here.
    if (only !== undefined && slot !== undefined && cost === 1) return [this.#takeOne(slot, only, now)];
    validateTake(subject, rules, cost);
    return this.#takeAll(rules, subject, cost, now);
  }

  async reset(subject: string, rules: readonly LimitRule[]): Promise<void> {
    validateTake(subject, rules);
    for (const rule of rules) {
      const slot = this.#find(rule)?.slots.get(subject);
      if (slot !== undefined) this.#forget(slot);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #takeOne(slot: number, rule: LimitRule, now: number): LimitVerdict {
    const window = this.#windowOf(slot);
    const bucket = window.advance(bucketAt(now, rule), rule);
    const awaited = window.total < rule.limit ? null : window.awaited(1);
    if (awaited === null) window.add(bucket, 1);
    this.#lists.move(slot, window.total >= rule.limit ? blockedList : openList);
    return windowVerdict(rule, { total: window.total, newest: window.newest, awaited }, now);
  }

  #takeAll(rules: readonly LimitRule[], subject: string, cost: number, now: number): LimitVerdict[] {
    const awaited = rules.map(rule => {
      const slot = this.#slotOf(rule, subject);
      if (slot === undefined) return null;
      const window = this.#windowOf(slot);
      window.advance(bucketAt(now, rule), rule);
      const excess = window.total + cost - rule.limit;
      return excess <= 0 ? null : window.awaited(excess);
    });
    const spends = awaited.every(bucket => bucket === null);
    return rules.map((rule, index) => {
      // Adding one rule may have forgotten the slot of another: each is looked up anew.
      let slot = this.#slotOf(rule, subject);
      if (spends) {
        slot ??= this.#add(rule, subject, now);
        const window = this.#windowOf(slot);
        window.add(window.advance(bucketAt(now, rule), rule), cost);
      }
      const { total, newest } = slot === undefined ? unused : this.#windowOf(slot);
      if (slot !== undefined) this.#lists.move(slot, total >= rule.limit ? blockedList : openList);
      return windowVerdict(rule, { total, newest, awaited: awaited[index] ?? null }, now);
    });
  }

  #slotOf(rule: LimitRule, subject: string): number | undefined {
    return this.#find(rule)?.slots.get(subject);
  }

  #windowOf(slot: number): Window {
    let window = this.#windows[slot];
    if (window === undefined) {
      window = new Window();
      this.#windows[slot] = window;
    }
    return window;
  }

  #add(rule: LimitRule, subject: string, now: number): number {
    if (this.#size >= this.#subjectsMax) this.#evict(now);
    const slot = this.#lists.add(openList);
    const table = this.#find(rule) ?? this.#create(rule);
    table.slots.set(subject, slot);
    this.#subjects[slot] = subject;
    this.#tableOf[slot] = table;
    this.#size += 1;
    return slot;
  }

  /** Forgets one: an idle one, else one that was blocked and is no more, else the one unused for longest. */
  #evict(now: number): void {
    const open = this.#lists.oldest(openList);
    const blocked = this.#lists.oldest(blockedList);
    if (open !== undefined && this.#usedOf(open, now) === 0) this.#forget(open);
    else if (blocked !== undefined && !this.#isBlocked(blocked, now)) this.#forget(blocked);
    else if (open !== undefined) this.#forget(open);
    else if (blocked !== undefined) this.#forget(blocked);
  }

  #usedOf(slot: number, now: number): number {
    const rule = this.#tableOf[slot];
    if (rule === undefined) return 0;
    const window = this.#windowOf(slot);
    window.advance(bucketAt(now, rule), rule);
    return window.total;
  }

  #isBlocked(slot: number, now: number): boolean {
    return this.#usedOf(slot, now) >= (this.#tableOf[slot]?.limit ?? Number.POSITIVE_INFINITY);
  }

  #forget(slot: number): void {
    const subject = this.#subjects[slot];
    const table = this.#tableOf[slot];
    if (subject === undefined || table === undefined) return;
    this.#subjects[slot] = undefined;
    this.#tableOf[slot] = undefined;
    this.#windows[slot] = undefined;
    this.#lists.remove(slot);
    this.#size -= 1;
    table.slots.delete(subject);
    if (table.slots.size === 0) this.#drop(table);
  }

  #find(rule: LimitRule): Table | undefined {
    // Rules are constants where they are used: most calls look for the same object as the one before.
    if (rule === this.#lastRule) return this.#lastTable;
    const { name, limit, windowMs } = rule;
    this.#lastTable = this.#tables
      .get(name)
      ?.find(table => table.limit === limit && table.windowMs === windowMs);
    this.#lastRule = rule;
    return this.#lastTable;
  }

  #create({ name, limit, windowMs }: LimitRule): Table {
    const table: Table = { name, limit, windowMs, slots: new Map() };
    this.#lastRule = undefined;
    const others = this.#tables.get(name);
    if (others === undefined) this.#tables.set(name, [table]);
    else others.push(table);
    return table;
  }

  #drop(table: Table): void {
    this.#lastRule = undefined;
    const others = this.#tables.get(table.name)?.filter(other => other !== table) ?? [];
    if (others.length === 0) this.#tables.delete(table.name);
    else this.#tables.set(table.name, others);
  }
}

const unused = { total: 0, newest: 0 } as const;

class Window {
  total = 0;
  newest: number = -1;
  #units = 0;
  #oldest: number = -1;
  /** Older buckets with their units, oldest first: apart, as most uses are in the newest bucket. */
  #older: { readonly bucket: number; readonly units: number }[] = [];

  /** Drops what does not count any more, and returns the current bucket. A clock that goes back gives nothing back. */
  advance(bucket: number, { windowMs }: Pick<LimitRule, "windowMs">): number {
    const ahead = this.total === 0 ? 0 : this.newest - bucket;
    // Otherwise uses of a clock that was far ahead for a moment would count until that time.
    if ((ahead * windowMs) / windowBuckets > useAheadMsMax) this.#moveBack(ahead);
    const current = Math.max(bucket, this.newest);
    if (this.total > 0 && this.#oldest < current - windowBuckets) this.#dropBefore(current - windowBuckets);
    return current;
  }

  #moveBack(ahead: number): void {
    this.newest -= ahead;
    this.#oldest -= ahead;
    this.#older = this.#older.map(older => ({ ...older, bucket: older.bucket - ahead }));
  }

  add(bucket: number, units: number): void {
    if (bucket === this.newest && this.total > 0) {
      this.#units += units;
    } else {
      if (this.total > 0) this.#older.push({ bucket: this.newest, units: this.#units });
      else this.#oldest = bucket;
      this.newest = bucket;
      this.#units = units;
    }
    this.total += units;
  }

  /** Returns the bucket with whose end so many units are back. */
  awaited(units: number): number {
    let back = 0;
    for (const older of this.#older) {
      back += older.units;
      if (back >= units) return older.bucket;
    }
    return this.newest;
  }

  #dropBefore(oldest: number): void {
    this.#older = this.#older.filter(({ bucket }) => bucket >= oldest);
    if (this.newest < oldest) this.#units = 0;
    this.total = this.#older.reduce((total, { units }) => total + units, this.#units);
    this.#oldest = this.#older[0]?.bucket ?? this.newest;
  }
}

/** The list of slots that may spend. */
const openList = 0;
/** The list of slots that had nothing left when they were last used. */
const blockedList = 1;

/** The indices of the two lists themselves, which close their rings; slots come after them. */
const sentinels = 2;
const initialSlots = 1_024;

/** Numbers slots from 2 and keeps each in one of the two lists. */
class SlotLists {
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

  /** Returns the least recently used slot of a list, or undefined if it is empty. */
  oldest(list: number): number | undefined {
    const slot = this.#next[list];
    return slot === list ? undefined : slot;
  }

  add(list: number): number {
    const slot = this.#allocate();
    this.#link(slot, list);
    return slot;
  }

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
      this.#next = grown(this.#next);
      this.#previous = grown(this.#previous);
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

function grown(array: Int32Array): Int32Array {
  const larger = new Int32Array(array.length * 2);
  larger.set(array);
  return larger;
}
