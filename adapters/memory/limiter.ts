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
import { validateTake } from "../../lib/storage/validate_ports.ts";
import { blockedList, grown, openList, SlotLists } from "./slot_lists.ts";

/** Most subjects remembered per limiter where nothing else is asked for, each counted once per rule. */
export const limiterSubjectsMax = 100_000;

/** How a memory limiter is set up. */
export interface MemoryLimiterOptions {
  /** The time, Unix ms. */
  readonly clock: () => number;
  /**
   * Most subjects remembered, each counted once per rule. Beyond, the one unused for longest is forgotten, and one that
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
  /** Per slot, whose it is: two arrays take less room than one of objects. */
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
    validateTake(subject, rules, cost);
    const now = this.#clock();
    const [only] = rules;
    if (rules.length === 1 && only !== undefined) return [this.#takeOne(only, subject, cost, now)];
    const owed: number[] = [];
    let spends = true;
    for (const rule of rules) {
      const before = this.#owedNow(rule, subject, now);
      owed.push(before);
      if (before + cost * rule.windowMs > owedMax(rule)) spends = false;
    }
    const verdicts: LimitVerdict[] = [];
    for (let index = 0; index < rules.length; index++) {
      const rule = rules[index];
      if (rule === undefined) break;
      const before = owed[index] ?? 0;
      const after = spends ? before + cost * rule.windowMs : before;
      // Keeping one rule may have forgotten the slot of another: each is looked up anew.
      if (after > 0) this.#keep(rule, subject, { owed: after, now, slot: this.#slotOf(rule, subject) });
      verdicts.push(verdictOf(rule, { cost, before, after }));
    }
    return verdicts;
  }

  async reset(subject: string, rules: readonly LimitRule[]): Promise<void> {
    validateTake(subject, rules);
    for (const rule of rules) {
      const slot = this.#find(rule)?.slots.get(subject);
      if (slot !== undefined) this.#forget(slot);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Most calls have one rule, and look for its slot once. */
  #takeOne(rule: LimitRule, subject: string, cost: number, now: number): LimitVerdict {
    const slot = this.#slotOf(rule, subject);
    const before = slot === undefined ? 0 : this.#owedBy(slot, rule, now);
    const sum = before + cost * rule.windowMs;
    const after = sum <= owedMax(rule) ? sum : before;
    if (after > 0) this.#keep(rule, subject, { owed: after, now, slot });
    return verdictOf(rule, { cost, before, after });
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

  #keep(
    rule: LimitRule,
    subject: string,
    { owed, now, slot: known }: { owed: number; now: number; slot: number | undefined },
  ): void {
    const list = owed + rule.windowMs > owedMax(rule) ? blockedList : openList;
    const slot = known ?? this.#add(rule, subject, { list, now });
    if (known !== undefined) this.#lists.move(slot, list);
    this.#owed[slot] = owed;
    // A clock that goes back must not give units back twice.
    this.#at[slot] = Math.max(now, this.#at[slot] ?? 0);
  }

  #add(rule: LimitRule, subject: string, { list, now }: { list: number; now: number }): number {
    if (this.#size >= this.#subjectsMax) this.#evict(now);
    const slot = this.#lists.add(list);
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

function verdictOf(
  rule: LimitRule,
  { cost, before, after }: { readonly cost: number; readonly before: number; readonly after: number },
): LimitVerdict {
  const excess = before + cost * rule.windowMs - owedMax(rule);
  return {
    allowed: excess <= 0,
    remaining: Math.floor((owedMax(rule) - after) / rule.windowMs),
    resetMs: Math.ceil(after / rule.limit),
    retryAfterMs: excess <= 0 ? 0 : Math.ceil(excess / rule.limit),
  };
}

/** What a subject may owe: the units of a whole window. */
function owedMax({ limit, windowMs }: LimitRule): number {
  return limit * windowMs;
}
