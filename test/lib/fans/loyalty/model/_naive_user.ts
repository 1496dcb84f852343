/**
 * A user as a list of everything that ever happened: whatever is asked is worked out from that list anew. It knows no
 * counters, no buckets, no copies and no indexes.
 */

import { ModelCalendar } from "./_model_calendar.ts";
import type {
  ModelChallenge,
  ModelCondition,
  ModelEffect,
  ModelLimit,
  ModelRule,
  ModelSpace,
  ModelWindow,
  Unit,
} from "./_random_space.ts";
import { dayMs, zones } from "./_random_space.ts";

/** A change of a metric. */
export interface ModelChange {
  readonly id: string;
  readonly by: number;
  /** When it was, Unix ms. */
  readonly at: number;
  /** Index of the event of the user that it belongs to. */
  readonly step: number;
  /** True if it follows from an action, and not from time alone. */
  readonly isOfAction: boolean;
}

/** When each rule fired, for whichever user. */
export type ModelFirings = { readonly rule: string; readonly at: number }[];

interface Did {
  readonly name: string;
  readonly n: number;
  readonly at: number;
}

interface Run {
  readonly id: string;
  readonly startedAt: number;
  status: "in_progress" | "completed" | "failed";
  readonly counts: Map<string, number>;
  readonly done: string[];
}

const mostRounds = 8;
const calendars = new Map<string, ModelCalendar>();

function calendarOf(zone: string, weekStartsOn: "monday" | "sunday"): ModelCalendar {
  const key = `${zone} ${weekStartsOn}`;
  const calendar = calendars.get(key) ?? new ModelCalendar(zone, weekStartsOn);
  calendars.set(key, calendar);
  return calendar;
}
const bounds: Readonly<Record<string, readonly [low: number, high: number, start: number]>> = {
  m0: [-5, 12, 1],
  m1: [0, 40, 0],
  m2: [0, 1_000_000_000_000, 0],
};

export class NaiveUser {
  readonly #space: ModelSpace;
  readonly #did: Did[] = [];
  /** The zones of the user's days, the newest last. */
  readonly #zones: { readonly name: string; readonly from: number }[];
  readonly #firings: ModelFirings = [];
  readonly #ofAll: ModelFirings;
  readonly changes: ModelChange[] = [];
  readonly #runs = new Map<string, Run[]>();
  readonly #rungs: number[] = [];
  #lots: { left: number; readonly expiresAt: number }[] = [];
  #triggers: string[] = [];
  /** The values of metrics at the beginning of a transaction. */
  #valuesBefore = new Map<string, number>();
  #at = 0;
  #step = 0;
  #isActing = false;
  items: string[] = [];
  fired: string[] = [];

  /** @param ofAll The firings of all users of the space. */
  constructor(space: ModelSpace, ofAll: ModelFirings = []) {
    this.#space = space;
    this.#zones = [{ name: space.zone, from: Number.NEGATIVE_INFINITY }];
    this.#ofAll = ofAll;
  }

  /** Names the zone that the profile has at the next action. A change is in force from the end of the user's day. */
  live(wanted: string, at: number): void {
    const [{ name: current, from }] = this.#zones.slice(-1) as [{ name: string; from: number }];
    const name = zones.includes(wanted) ? wanted : this.#space.zone;
    if (name === current || (this.#zones.length > 1 && at < from + 7 * dayMs)) return;
    const isNew = this.#did.length === 0;
    this.#zones.push({
      name,
      from: isNew ? Number.NEGATIVE_INFINITY : this.#calendarAt(at).endOf("day", at),
    });
  }

  #calendarAt(at: number): ModelCalendar {
    const { name } = this.#zones.findLast(({ from }) => from <= at) ?? { name: this.#space.zone };
    return calendarOf(name, this.#space.weekStartsOn);
  }

  act(name: string, n: number, at: number): void {
    this.pass(at);
    this.fired = [];
    this.#step += 1;
    this.#isActing = true;
    this.#did.push({ name, n, at });
    this.#round([`action:${name}`], n);
    this.#chain();
    this.#isActing = false;
  }

  /** The number of the last thing that happened. */
  get step(): number {
    return this.#step;
  }

  /** Lets lots expire, each at its own instant. Challenges end by themselves: see `status`. */
  pass(at: number): void {
    this.fired = [];
    for (;;) {
      const next = Math.min(...this.#lots.filter(({ left }) => left > 0).map(({ expiresAt }) => expiresAt));
      if (next > at) break;
      this.#at = next;
      this.#step += 1;
      const over = this.#lots.filter(({ expiresAt }) => expiresAt <= next);
      this.#lots = this.#lots.filter(({ expiresAt }) => expiresAt > next);
      this.#note("m1", -over.reduce((sum, { left }) => sum + left, 0));
      this.#triggers.push("metric:m1");
      this.#chain();
    }
    this.#at = at;
  }

  metric(id: string): number {
    const start = bounds[id]?.[2] ?? 0;
    return this.changes.reduce((sum, change) => (change.id === id ? sum + change.by : sum), start);
  }

  #earned(id: string): number {
    return this.changes.reduce(
      (sum, change) => (change.id === id && change.by > 0 ? sum + change.by : sum),
      0,
    );
  }

  /** Of several multipliers at a time, the highest counts. */
  #factor({ isTagged }: ModelRule): number {
    const factors = this.#space.multipliers
      .filter(({ isForTagged }) => isTagged || !isForTagged)
      .filter(({ from, to }) => from <= this.#at && this.#at < to)
      .map(({ factor }) => factor);
    return Math.max(1, ...factors);
  }

  get milestone(): string {
    return this.#rungs.length === 0 ? "" : `rung-${Math.max(...this.#rungs)}`;
  }

  status(id: string): string {
    const challenge = this.#challenge(id);
    const run = this.#runs.get(id)?.at(-1);
    if (run === undefined) return "none";
    const isLate = run.status === "in_progress" && this.#at >= this.#deadline(challenge, run);
    const isOver = isLate || run.status !== "in_progress";
    if (isOver && this.#at >= this.#renewal(challenge, run)) return "none";
    return isLate ? "failed" : run.status;
  }

  /** Counts of the current run. */
  progress(id: string): {
    readonly done: readonly string[];
    readonly counts: Readonly<Record<string, number>>;
  } {
    const run = this.status(id) === "none" ? undefined : this.#runs.get(id)?.at(-1);
    return { done: run?.done ?? [], counts: Object.fromEntries(run?.counts ?? []) };
  }

  completions(id: string): number {
    return (this.#runs.get(id) ?? []).filter(({ status }) => status === "completed").length;
  }

  #challenge(id: string): ModelChallenge {
    const found = this.#space.challenges.find(challenge => challenge.id === id);
    if (found === undefined) throw new Error(`No challenge ${id}`);
    return found;
  }

  #renewal({ recurrence, period, within }: ModelChallenge, { startedAt }: Run): number {
    if (recurrence !== "onExpiration") return Number.POSITIVE_INFINITY;
    if (period !== null) return this.#calendarAt(startedAt).endOf(period, startedAt);
    return this.#calendarAt(startedAt).later(startedAt, within ?? {});
  }

  #deadline(challenge: ModelChallenge, run: Run): number {
    const { within, to } = challenge;
    const isOver =
      within === null
        ? Number.POSITIVE_INFINITY
        : this.#calendarAt(run.startedAt).later(run.startedAt, within);
    return Math.min(to, this.#renewal(challenge, run), isOver);
  }

  #stepOf(unit: Unit, at: number): number {
    return this.#calendarAt(at).step(unit, at);
  }

  /**
   * Sums what happened in the fullest window with this moment. Steps after it are those of a traveller whose clocks were put back over
   * the end of a step.
   */
  #sumIn(window: ModelWindow, amounts: readonly (readonly [at: number, amount: number])[]): number {
    const sum = (of: readonly (readonly [number, number])[]) =>
      of.reduce((all, [, amount]) => all + amount, 0);
    if (window === null) return sum(amounts);
    const { unit, last } = window;
    const now = this.#stepOf(unit, this.#at);
    const steps = amounts.map(([at, amount]) => [this.#stepOf(unit, at), amount] as const);
    const ends = steps.map(([step]) => step).filter(step => step > now && step < now + last);
    return Math.max(
      ...[now, ...ends].map(end => sum(steps.filter(([step]) => step > end - last && step <= end))),
    );
  }

  #isReached(id: string, { max, window, isGlobal }: ModelLimit, pending: readonly ModelRule[]): boolean {
    const firings = isGlobal ? this.#ofAll : this.#firings;
    const fired = firings.filter(({ rule }) => rule === id).map(({ at }) => [at, 1] as const);
    const waiting = isGlobal ? 0 : pending.filter(rule => rule.id === id).length;
    return this.#sumIn(window, fired) + waiting >= max;
  }

  #holds(condition: ModelCondition | null, n: number | null): boolean {
    if (condition === null) return true;
    switch (condition.on) {
      case "data":
        return n !== null && n >= condition.least;
      case "metric":
        return this.metric(condition.id) >= condition.least;
      case "count":
      case "sum": {
        const { on, action, where, window, least } = condition;
        const matching = this.#did.filter(did => did.name === action && did.n >= where);
        const amounts = matching.map(({ n: by, at }) => [at, on === "sum" ? by : 1] as const);
        return this.#sumIn(window, amounts) >= least;
      }
      case "streak": {
        const steps = new Set(
          this.#did
            .filter(({ name }) => name === condition.action)
            .map(({ at }) => this.#stepOf(condition.unit, at)),
        );
        const now = this.#stepOf(condition.unit, this.#at);
        let last = steps.has(now) ? now : now - 1;
        let length = 0;
        for (; steps.has(last); last--) length++;
        return length >= condition.least;
      }
      case "challenge":
        return this.status(condition.id) === condition.is;
      case "item":
        return this.items.includes(condition.id);
    }
  }

  #chain(): void {
    for (let round = 0; round < mostRounds && this.#triggers.length > 0; round++) {
      const triggers = this.#triggers;
      this.#triggers = [];
      this.#round(triggers, null);
    }
    this.#triggers = [];
  }

  /** Every change lets the rules fire that it triggers, one after the other; the rest happens once. */
  #round(happened: readonly string[], n: number | null): void {
    const triggers = [...new Set(happened)];

    const { rules, challenges, rungs } = this.#space;
    const firing: ModelRule[] = [];
    const timesOf = (trigger: string): number => happened.filter(other => other === trigger).length;
    for (let pass = 0; pass < happened.length; pass++) {
      firing.push(
        ...this.#firing(
          rules.filter(({ trigger }) => timesOf(trigger) > pass),
          n,
          firing,
        ),
      );
    }
    const steps: (() => void)[] = firing.map(rule => () => this.#fire(rule, n));
    for (const { id, failOn } of challenges) {
      if (failOn === null || !triggers.includes(`action:${failOn.action}`)) continue;
      if (this.#open(id) !== null && this.#holds(failOn.when, n)) steps.push(() => this.#fail(id));
    }
    for (const { id, missions } of challenges) {
      for (const { id: missionId, rule } of missions) {
        const run = this.#open(id);
        if ("metric" in rule || !triggers.includes(`action:${rule.action}`) || run === null) continue;
        if (run.done.includes(missionId) || !this.#holds(rule.when, n)) continue;
        const amount = rule.addsData ? (n ?? 0) : 1;
        steps.push(() => this.#advance(id, missionId, { run: run.id, amount, count: rule.count }));
      }
    }
    // A mission of a metric is looked at where the metric changed, or its challenge started: once is enough.
    for (const trigger of triggers) {
      for (const { id, missions } of challenges) {
        for (const { id: missionId, rule } of missions) {
          if (!("metric" in rule)) continue;
          const isStart = trigger === `started:${id}`;
          if (trigger !== `metric:${rule.metric}` && !isStart) continue;
          const run = this.#open(id);
          if (run === null || (isStart && this.status(id) !== "in_progress")) continue;
          if (this.metric(rule.metric) >= rule.atLeast)
            steps.push(() => this.#complete(id, missionId, run.id));
        }
      }
    }
    if (triggers.includes("metric:m0")) {
      const value = this.#space.measure === "earned" ? this.#earned("m0") : this.metric("m0");
      const highest = Math.max(Number.NEGATIVE_INFINITY, ...this.#rungs);
      for (const { threshold, rewards } of rungs) {
        if (threshold <= highest || threshold > value) continue;
        steps.push(() => {
          this.#rungs.push(threshold);
          this.#valuesBefore.clear();
          for (const reward of rewards) this.#apply(reward, null);
          this.#triggers.push("milestoneReached:ladder");
        });
      }
    }
    for (const step of steps) step();
  }

  #firing(
    rules: readonly ModelRule[],
    n: number | null,
    pending: readonly ModelRule[],
  ): readonly ModelRule[] {
    const groups: string[] = [];
    return [...rules]
      .sort((a, b) => a.priority - b.priority || (a.id < b.id ? -1 : 1))
      .filter(({ id, when, limits, group }) => {
        if (
          limits.some(limit => this.#isReached(id, limit, pending)) ||
          !this.#holds(when, n) ||
          (group !== null && groups.includes(group))
        )
          return false;
        if (group !== null) groups.push(group);
        return true;
      });
  }

  #fire(rule: ModelRule, n: number | null): void {
    const { id, effects } = rule;
    const factor = this.#factor(rule);
    this.#firings.push({ rule: id, at: this.#at });
    this.#ofAll.push({ rule: id, at: this.#at });
    this.fired.push(id);
    const isLater = ({ type }: ModelEffect): boolean => !/^(metric|inventory|inventoryLoss)$/.test(type);
    this.#valuesBefore.clear();
    for (const effect of effects) if (!isLater(effect)) this.#apply(effect, n, factor);
    for (const effect of effects) if (isLater(effect)) this.#apply(effect, n);
  }

  #apply(effect: ModelEffect, n: number | null, factor = 1): void {
    switch (effect.type) {
      case "metric": {
        const amount = effect.amount * (effect.timesData ? (n ?? 0) : 1);
        this.#add(effect.id, amount > 0 ? Math.trunc(amount * factor) : amount);
        break;
      }
      case "inventory":
        if (this.items.includes(effect.item)) break;
        this.items.push(effect.item);
        this.#triggers.push("inventoryReceived:set");
        break;
      case "inventoryLoss":
        this.items = this.items.filter(item => item !== effect.item);
        break;
      case "challengeStart":
        this.#start(effect.challenge);
        break;
      case "challengeCompletion":
        this.#finish(effect.challenge);
        break;
      case "challengeFailure":
        this.#fail(effect.challenge);
        break;
      case "missionCompletion":
        this.#complete(effect.challenge, effect.mission, null);
    }
  }

  #add(id: string, by: number): void {
    const [low, high] = bounds[id] ?? [0, 0];
    const before = this.metric(id);
    const change = Math.min(Math.max(before + by, low), high) - before;
    if (change === 0) return;
    this.#note(id, change);
    if (before === (this.#valuesBefore.get(id) ?? before)) this.#triggers.push(`metric:${id}`);
    if (!this.#valuesBefore.has(id)) this.#valuesBefore.set(id, before);
    if (id !== "m1") return;
    if (change > 0) this.#lots.push({ left: change, expiresAt: this.#expiry() });
    this.#lots.sort((a, b) => a.expiresAt - b.expiresAt);
    let owed = Math.max(0, -change);
    for (const lot of this.#lots) {
      const drawn = Math.min(owed, lot.left);
      lot.left -= drawn;
      owed -= drawn;
    }
  }

  #note(id: string, by: number): void {
    this.changes.push({ id, by, at: this.#at, step: this.#step, isOfAction: this.#isActing });
  }

  #expiry(): number {
    const { expires } = this.#space;
    if ("endOf" in expires) return this.#calendarAt(this.#at).endOf(expires.endOf, this.#at);
    const over = this.#calendarAt(this.#at).later(this.#at, expires.after);
    const isExact = "hours" in expires.after || "minutes" in expires.after;
    return isExact ? over : this.#calendarAt(this.#at).endOf("day", over - 1);
  }

  /** The run in progress, or one that may begin now; that one is not listed before something counts in it. */
  #open(id: string): Run | null {
    const challenge = this.#challenge(id);
    if (this.#at < challenge.from || this.#at >= challenge.to) return null;
    if (this.status(id) === "in_progress") return this.#runs.get(id)?.at(-1) ?? null;
    return challenge.start === "auto" ? this.#next(challenge) : null;
  }

  #next(challenge: ModelChallenge): Run | null {
    const { id, recurrence, period, requires } = challenge;
    const status = this.status(id);
    if (status !== "none" && !(status === "completed" && recurrence === "onCompletion")) return null;
    if (requires.some(other => this.completions(other) === 0)) return null;
    const past = this.#runs.get(id) ?? [];
    const name = period === null ? `run ${past.length + 1}` : `${period} ${this.#stepOf(period, this.#at)}`;
    return { id: name, startedAt: this.#at, status: "in_progress", counts: new Map(), done: [] };
  }

  #begin(id: string, run: Run): void {
    const runs = this.#runs.get(id) ?? [];
    if (runs.includes(run)) return;
    this.#runs.set(id, [...runs, run]);
    this.#triggers.push(`started:${id}`);
  }

  #start(id: string): void {
    const challenge = this.#challenge(id);
    if (this.#at < challenge.from || this.#at >= challenge.to || this.status(id) === "in_progress") return;
    const run = this.#next(challenge);
    if (run !== null) this.#begin(id, run);
  }

  #advance(
    id: string,
    missionId: string,
    { run: name, amount, count }: { readonly run: string; readonly amount: number; readonly count: number },
  ): void {
    const run = this.#open(id);
    if (run?.id !== name || run.done.includes(missionId) || amount === 0) return;
    this.#begin(id, run);
    const total = Math.max(0, (run.counts.get(missionId) ?? 0) + amount);
    run.counts.set(missionId, total);
    if (total >= count) this.#complete(id, missionId, name);
  }

  #complete(id: string, missionId: string, name: string | null): void {
    const run = this.#open(id);
    if (run === null || (name !== null && run.id !== name) || run.done.includes(missionId)) return;
    this.#begin(id, run);
    run.done.push(missionId);
    if (this.#challenge(id).missions.every(mission => run.done.includes(mission.id))) this.#finish(id);
  }

  #finish(id: string): void {
    const run = this.#open(id);
    if (run === null) return;
    this.#begin(id, run);
    run.status = "completed";
    this.#valuesBefore.clear();
    for (const reward of this.#challenge(id).rewards) this.#apply(reward, null);
    this.#triggers.push(`challengeCompleted:${id}`);
  }

  #fail(id: string): void {
    const run = this.#open(id);
    if (run === null) return;
    this.#begin(id, run);
    run.status = "failed";
  }
}
