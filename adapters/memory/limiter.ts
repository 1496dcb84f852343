/**
 * Rate limits in memory: GCRA (ITU-T I.371, appendix), exact.
 *
 * GCRA keeps a theoretical arrival time (TAT) and allows a cost when TAT + cost * windowMs / limit - windowMs <= now.
 * Kept here is what the TAT is ahead of now, times the limit: `owed` = (TAT - now) * limit at the time `at`. Then every
 * quantity is an integer, and limits that do not divide their window lose nothing to rounding.
 *
 * @module
 */

import type { Limiter, LimitRule, LimitVerdict } from "../../lib/storage/ports.ts";
import { validateTake } from "../../lib/storage/validate.ts";

/** Most subjects per limiter by default, each counted once per rule. */
export const limiterSubjectsMax = 100_000;

/** Options of a memory limiter. */
export interface MemoryLimiterOptions {
  /** The time, Unix ms. */
  readonly clock: () => number;
  /**
   * Most subjects, each counted once per rule. Beyond that the least recently used one is dropped, and one that
   * had nothing left to spend only when no other is there.
   * @default limiterSubjectsMax
   */
  readonly subjectsMax?: number;
}

/** Creates a limiter for one process. */
export function createMemoryLimiter(options: MemoryLimiterOptions): Limiter {
  return new MemoryLimiter(options);
}

/** The subjects of one rule. */
interface Table extends LimitRule {
  readonly slots: Map<string, number>;
}

class MemoryLimiter implements Limiter {
  readonly #clock: () => number;
  readonly #subjectsMax: number;
  readonly #tables = new Map<string, Table[]>();
  readonly #lists: SlotLists = new SlotLists();
  #owed: Float64Array = new Float64Array(this.#lists.capacity);
  #at: Float64Array = new Float64Array(this.#lists.capacity);
  /** Subject and rule of each slot: two arrays take less room than one of objects. */
  readonly #subjects: (string | undefined)[] = [];
  readonly #tableOf: (Table | undefined)[] = [];
  #size = 0;
  #lastRule: LimitRule | undefined;
  #lastTable: Table | undefined;

  constructor({ clock, subjectsMax = limiterSubjectsMax }: MemoryLimiterOptions) {
    this.#clock = clock;
    this.#subjectsMax = subjectsMax;
  }

  async take(
    subject: string,
    rules: readonly LimitRule[],
    cost: number = 1,
  ): Promise<readonly LimitVerdict[]> {
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
    const before = this.#owedBy(slot, rule, now);
    const excess = before + rule.windowMs - owedMax(rule);
    const owed = excess <= 0 ? before + rule.windowMs : before;
    this.#keep(slot, rule, owed, now);
    return verdictOf(rule, owed, excess);
  }

  #takeAll(rules: readonly LimitRule[], subject: string, cost: number, now: number): LimitVerdict[] {
    const before = rules.map(rule => this.#owedNow(rule, subject, now));
    const excess = rules.map((rule, index) => (before[index] ?? 0) + cost * rule.windowMs - owedMax(rule));
    const spends = excess.every(each => each <= 0);
    return rules.map((rule, index) => {
      const owed = (before[index] ?? 0) + (spends ? cost * rule.windowMs : 0);
      // Keeping one rule may have forgotten the slot of another: each is looked up anew.
      if (owed > 0) this.#keep(this.#slotOf(rule, subject) ?? this.#add(rule, subject, now), rule, owed, now);
      return verdictOf(rule, owed, excess[index] ?? 0);
    });
  }

  #slotOf(rule: LimitRule, subject: string): number | undefined {
    return this.#find(rule)?.slots.get(subject);
  }

  #owedNow(rule: LimitRule, subject: string, now: number): number {
    const slot = this.#slotOf(rule, subject);
    return slot === undefined ? 0 : this.#owedBy(slot, rule, now);
  }

  #owedBy(slot: number, { limit }: LimitRule, now: number): number {
    const elapsedMs = Math.max(0, now - (this.#at[slot] ?? 0));
    return Math.max(0, (this.#owed[slot] ?? 0) - elapsedMs * limit);
  }

  #keep(slot: number, rule: LimitRule, owed: number, now: number): void {
    this.#lists.move(slot, owed + rule.windowMs > owedMax(rule) ? blockedList : openList);
    this.#owed[slot] = owed;
    // A clock that goes back must not give units back twice.
    this.#at[slot] = Math.max(now, this.#at[slot] ?? 0);
  }

  #add(rule: LimitRule, subject: string, now: number): number {
    if (this.#size >= this.#subjectsMax) this.#evict(now);
    const slot = this.#lists.add(openList);
    if (this.#owed.length < this.#lists.capacity) {
      this.#owed = grown(this.#owed, Float64Array);
      this.#at = grown(this.#at, Float64Array);
    }
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
    if (open !== undefined && this.#owedOf(open, now) === 0) this.#forget(open);
    else if (blocked !== undefined && !this.#isBlocked(blocked, now)) this.#forget(blocked);
    else if (open !== undefined) this.#forget(open);
    else if (blocked !== undefined) this.#forget(blocked);
  }

  #owedOf(slot: number, now: number): number {
    const rule = this.#tableOf[slot];
    return rule === undefined ? 0 : this.#owedBy(slot, rule, now);
  }

  #isBlocked(slot: number, now: number): boolean {
    const rule = this.#tableOf[slot];
    return rule !== undefined && this.#owedBy(slot, rule, now) + rule.windowMs > owedMax(rule);
  }

  #forget(slot: number): void {
    const subject = this.#subjects[slot];
    const table = this.#tableOf[slot];
    if (subject === undefined || table === undefined) return;
    this.#subjects[slot] = undefined;
    this.#tableOf[slot] = undefined;
    this.#at[slot] = 0;
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

/** Returns the answer to a cost that is `excess` beyond what the rule allows, for a subject that now owes `owed`. */
function verdictOf(rule: LimitRule, owed: number, excess: number): LimitVerdict {
  return {
    allowed: excess <= 0,
    remaining: Math.floor((owedMax(rule) - owed) / rule.windowMs),
    resetMs: Math.ceil(owed / rule.limit),
    retryAfterMs: excess <= 0 ? 0 : Math.ceil(excess / rule.limit),
  };
}

/** Most that a subject may owe: the units of a whole window. */
function owedMax({ limit, windowMs }: LimitRule): number {
  return limit * windowMs;
}

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

  /** Returns the least recently used slot of a list, or undefined if it is empty. */
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

/** Returns a copy of a typed array with twice the room. */
export function grown<T extends Int32Array | Float64Array>(array: T, Type: new (length: number) => T): T {
  const larger = new Type(array.length * 2);
  larger.set(array);
  return larger;
}
