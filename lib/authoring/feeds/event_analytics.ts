/**
 * The analytics of an event: people, actions, points and votes by minute and element, for producers.
 *
 * What takes effect is collected in the process and merged into a record for each hour of the event every few seconds, so that an
 * action waits for nothing. People are counted from a sample: those whose hash is lowest. Who is in it now has been in it from
 * the beginning, so that nothing of them is missing, and a sample that has everybody counts exactly.
 *
 * @module
 */

import { addBounded, shardOf } from "../../base/text/mod.ts";
import { directoryPartition } from "../../fans/directory/records.ts";
import type { Logger, Timer } from "../../http/mod.ts";
import { mapConcurrent, PacedBatcher } from "../../storage/background/mod.ts";
import { decide, type Store, type Stored } from "../../storage/mod.ts";

/** Pause between writes, in ms. */
const pauseMs = 5_000;
/** Events that are written at a time. */
const concurrency = 4;
/** Most hours with actions of which an event keeps figures; later ones are not counted. */
export const hoursMax = 48;
/** Most elements that an hour tells apart, the event itself being one; others count for the event. */
export const namesMax = 200;
const metricsMax = 20;
/** Most numbers of an hour; elements that would add more count for the event. */
const figuresMax = 10_000;
/** Most people whom the sample of an hour has, and their minutes with an element; beyond that it has fewer people. */
export const peopleMax = 1_000;
const momentsMax = 30_000;
/** The hashes of people are below this; a sample that has all of them has everybody. */
const everybody = 2 ** 32;
/** Time between two notes of how many listen to a process, and until a note no longer counts, in ms. */
const watchedEveryMs = 10_000;
const watchedMs = 30_000;

const hourMs = 3_600_000;
const minutesOfHour = 60;
/** A minute of an hour with the index of an element, as one number. */
const codeOf = (minute: number, index: number): number => minute * namesMax + index;

interface Cell {
  actions: number;
  /** By the index of the metric. */
  readonly gained: number[];
  /** By the number of the option, less one. */
  readonly votes: number[];
}

/** An hour as stored: cells and people begin with their code and hash. */
interface StoredHour {
  readonly names: readonly string[];
  readonly metrics: readonly string[];
  readonly cells: readonly (readonly [code: number, cell: Cell])[];
  readonly people: readonly (readonly [hash: number, codes: readonly number[]])[];
}

/** The figures of an hour, as stored and as a process collects them. */
class Hour {
  /** The event, then elements. */
  readonly names: string[];
  readonly metrics: string[];
  /** By minute and name. */
  readonly cells: Map<number, Cell>;
  /** The minutes and names of each person in the sample, by hash. */
  readonly people: Map<number, number[]>;
  /** The hash below which the sample has everybody. */
  below: number;
  #figures: number;
  #moments: number;

  constructor({ names, metrics, cells, people }: StoredHour, below: number) {
    this.names = [...names];
    this.metrics = [...metrics];
    this.cells = new Map(cells);
    this.people = new Map(people.map(([hash, codes]) => [hash, [...codes]]));
    this.below = below;
    this.#figures = cells.reduce((sum, [, cell]) => sum + numbersIn(cell), 0);
    this.#moments = people.reduce((sum, [, codes]) => sum + codes.length, 0);
  }

  toJSON(): StoredHour {
    const { names, metrics, cells, people } = this;
    return { names, metrics, cells: [...cells], people: [...people] };
  }

  /** Adds the figures of another process or time, within the bounds. */
  merge(from: Hour): void {
    const names = from.names.map(name => this.nameOf(name));
    const metrics = this.metricsOf(from.metrics);
    const moved = (code: number): number => codeOf(Math.floor(code / namesMax), names[code % namesMax] ?? 0);
    for (const [code, cell] of from.cells) this.addCell(moved(code), cell, metrics);
    this.narrow(from.below);
    for (const [hash, codes] of from.people) this.addPerson(hash, codes.map(moved));
    this.keepSample();
  }

  /** Returns the index of an element; that of the event where there is no room. */
  nameOf(name: string): number {
    return indexIn(this.names, name, namesMax) ?? 0;
  }

  metricsOf(metrics: readonly string[]): readonly (number | null)[] {
    return metrics.map(metric => indexIn(this.metrics, metric, metricsMax));
  }

  addCell(code: number, cell: Cell, metrics: readonly (number | null)[]): void {
    const event = code - (code % namesMax);
    const grown = numbersIn(cell) - numbersIn(this.cells.get(code));
    const target = grown > 0 && this.#figures + grown > figuresMax ? event : code;
    const sum = this.cells.get(target) ?? { actions: 0, gained: [], votes: [] };
    this.#figures -= numbersIn(this.cells.get(target));
    // Options of different elements have nothing in common.
    addCell(sum, target === event ? { ...cell, votes: [] } : cell, metrics);
    this.cells.set(target, sum);
    this.#figures += numbersIn(sum);
  }

  addPerson(hash: number, codes: readonly number[]): void {
    if (hash >= this.below) return;
    const known = this.people.get(hash) ?? [];
    this.people.set(hash, known);
    for (const code of codes) {
      if (known.includes(code)) continue;
      known.push(code);
      this.#moments += 1;
    }
  }

  /** Leaves out people from a hash on. */
  narrow(below: number): void {
    if (below >= this.below) return;
    this.below = below;
    for (const [hash, codes] of this.people) {
      if (hash < below) continue;
      this.people.delete(hash);
      this.#moments -= codes.length;
    }
  }

  /** Leaves people out, those with the highest hashes first, until the sample is within its bounds. */
  keepSample(): void {
    if (this.people.size <= peopleMax && this.#moments <= momentsMax) return;
    const sorted = [...this.people.keys()].sort((a, b) => a - b);
    let moments = 0;
    const first = sorted.find((hash, index) => {
      moments += this.people.get(hash)?.length ?? 0;
      return index >= peopleMax || moments > momentsMax;
    });
    this.narrow(first ?? this.below);
  }
}

/** What an event has beside its hours. */
interface Index {
  /** The hours that have figures, counted from 1970. */
  readonly hours: readonly number[];
  /** The hash below which the sample has everybody. */
  readonly below: number;
  /** How many listen, and when they were counted (Unix ms), by process. */
  readonly watching: Readonly<Record<string, readonly [count: number, at: number]>>;
}

const noIndex: Index = { hours: [], below: everybody, watching: {} };

/** Actions of some time that name the same element with the same choice, or the same event. */
export interface NamedActions {
  readonly id: string;
  readonly options: readonly number[];
  readonly count: number;
  readonly gained: ReadonlyMap<string, number>;
  readonly people: PeopleSample;
}

/** The hashes of people, the lowest where there are many. */
export class PeopleSample {
  readonly #hashes = new Set<number>();
  /** Hashes from here on are left out. */
  #below = everybody;

  get below(): number {
    return this.#below;
  }

  get hashes(): Iterable<number> {
    return this.#hashes;
  }

  add(userId: string): void {
    const hash = mixed(shardOf(userId, everybody));
    if (hash >= this.#below) return;
    this.#hashes.add(hash);
    if (this.#hashes.size < 2 * peopleMax) return;
    const sorted = [...this.#hashes].sort((a, b) => a - b);
    this.#below = sorted[peopleMax] as number;
    for (const other of sorted.slice(peopleMax)) this.#hashes.delete(other);
  }
}

/** Spreads a hash of similar texts evenly (the finalizer of MurmurHash3). */
function mixed(hash: number): number {
  let bits = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}

interface AnalyticsServices {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
  readonly timer: Timer;
  readonly logger: Logger;
  /** Names this process among all. */
  readonly holder: string;
}

interface Owner {
  readonly projectId: string;
  readonly eventId: string;
}

/** What waits to be written of an event. */
interface Collected {
  readonly owner: Owner;
  readonly hours: Map<number, Hour>;
  watching: number | null;
}

/** Collects and writes the analytics of events. A failed write is lost, so that nothing counts twice. */
export class EventAnalytics {
  readonly #services: AnalyticsServices;
  readonly #events: PacedBatcher<Collected>;
  #waiting = new Map<string, Collected>();
  /** When listeners were counted last, by event. */
  readonly #watched = new Map<string, number>();

  constructor(services: AnalyticsServices) {
    this.#services = services;
    this.#events = new PacedBatcher({ run: events => this.#write(events), timer: services.timer, pauseMs });
  }

  /** Counts actions that took effect now. */
  add(owner: Owner, { id, options, count, gained, people }: NamedActions): void {
    const minute = Math.floor(this.#services.clock() / 60_000);
    const collected = this.#collectedOf(owner);
    const number = Math.floor(minute / minutesOfHour);
    const hour = collected.hours.get(number) ?? emptyHour(owner.eventId, everybody);
    collected.hours.set(number, hour);
    const votes: number[] = [];
    for (const option of options) votes[option - 1] = count;
    const code = codeOf(minute % minutesOfHour, hour.nameOf(id));
    const cell = { actions: count, gained: [...gained.values()], votes };
    hour.addCell(code, cell, hour.metricsOf([...gained.keys()]));
    hour.narrow(people.below);
    for (const hash of people.hashes) hour.addPerson(hash, [code]);
    hour.keepSample();
  }

  /** Notes now and then how many listen to this process. */
  watched(owner: Owner, count: number): void {
    const now = this.#services.clock();
    if (now - (this.#watched.get(owner.eventId) ?? 0) < watchedEveryMs) return;
    for (const [eventId, at] of this.#watched) if (now - at > watchedMs) this.#watched.delete(eventId);
    this.#watched.set(owner.eventId, now);
    this.#collectedOf(owner).watching = count;
  }

  /** Resolves when what was collected before this call is written. */
  async idle(): Promise<void> {
    await this.#events.idle();
  }

  #collectedOf(owner: Owner): Collected {
    const waiting = this.#waiting.get(owner.eventId);
    if (waiting !== undefined) return waiting;
    const collected: Collected = { owner, hours: new Map(), watching: null };
    this.#waiting.set(owner.eventId, collected);
    this.#events.push(collected);
    return collected;
  }

  async #write(events: readonly Collected[]): Promise<void> {
    this.#waiting = new Map();
    await mapConcurrent(events, concurrency, async collected => {
      try {
        await this.#writeEvent(collected);
      } catch (error) {
        const { eventId } = collected.owner;
        this.#services.logger.log("warn", "event_analytics_lost", { eventId, error: String(error) });
      }
    });
  }

  async #writeEvent({ owner: { projectId, eventId }, hours, watching }: Collected): Promise<void> {
    const { store, clock, holder } = this.#services;
    const collected = [...hours];
    await decide(store, directoryPartition("project", projectId), {
      reads: [
        record(`event:${eventId}`),
        record(analyticsKey(eventId)),
        ...collected.map(([hour]) => record(hourKey(eventId, hour))),
      ],
      apply([event, stored, ...found]) {
        if (event === null) return { writes: [], answer: null };
        let index = stored === null ? noIndex : (JSON.parse(stored.value) as Index);
        const writes = [];
        for (const [at, [number, change]] of collected.entries()) {
          const isNew = !index.hours.includes(number);
          if (isNew && index.hours.length >= hoursMax) continue;
          const hour = hourIn(found[at] ?? null, eventId, index.below);
          hour.merge(change);
          index = { ...index, below: hour.below, hours: isNew ? [...index.hours, number] : index.hours };
          writes.push(put(hourKey(eventId, number), hour));
        }
        if (watching !== null) {
          const now = clock();
          const others = Object.entries(index.watching).filter(([, [, at]]) => now - at < watchedMs);
          index = { ...index, watching: { ...Object.fromEntries(others), [holder]: [watching, now] } };
        }
        return { writes: [...writes, put(analyticsKey(eventId), index)], answer: null };
      },
    });
  }
}

/** Returns the keys of all records that the analytics of an event have. `index` is the value of the first. */
export function analyticsKeys(
  eventId: string,
  index: { readonly hours: readonly number[] } | null,
): readonly string[] {
  return [analyticsKey(eventId), ...(index?.hours ?? []).map(hour => hourKey(eventId, hour))];
}

export function analyticsKey(eventId: string): string {
  return `analytics:${eventId}`;
}

function hourKey(eventId: string, hour: number): string {
  return `analytics:${eventId}:${hour}`;
}

function record<const K extends string>(key: K) {
  return { type: "record", key } as const;
}

function put(key: string, value: unknown) {
  return { type: "put", key, value: JSON.stringify(value) } as const;
}

function emptyHour(eventId: string, below: number): Hour {
  return new Hour({ names: [eventId], metrics: [], cells: [], people: [] }, below);
}

function hourIn(stored: Stored | null, eventId: string, below: number): Hour {
  if (stored === null) return emptyHour(eventId, below);
  const hour = new Hour(JSON.parse(stored.value) as StoredHour, everybody);
  hour.narrow(below);
  return hour;
}

/** Returns the index of a name, which is added where there is room; null: there is none. */
function indexIn(names: string[], name: string, max: number): number | null {
  const index = names.indexOf(name);
  if (index >= 0) return index;
  return names.length >= max ? null : names.push(name) - 1;
}

function numbersIn(cell: Cell | undefined): number {
  return cell === undefined ? 0 : 1 + cell.gained.length + cell.votes.length;
}

function addCell(sum: Cell, { actions, gained, votes }: Cell, metrics: readonly (number | null)[]): void {
  sum.actions += actions;
  for (const [at, by] of gained.entries()) {
    const metric = metrics[at] ?? null;
    if (metric !== null) addAt(sum.gained, metric, by);
  }
  for (const [at, by] of votes.entries()) addAt(sum.votes, at, by);
}

function addAt(sums: number[], at: number, by: number): void {
  while (sums.length <= at) sums.push(0);
  sums[at] = addBounded(sums[at] ?? 0, by ?? 0);
}

interface Figures {
  readonly people: number;
  readonly actions: number;
  readonly points: Readonly<Record<string, number>>;
}

interface ElementFigures extends Figures {
  readonly votes: readonly number[];
}

export interface Analytics extends Figures {
  /** True if people were counted, and not estimated from a sample. */
  readonly isExact: boolean;
  readonly watching: number;
  readonly steps: readonly (Figures & { readonly from: number })[];
  readonly elements: readonly (ElementFigures & {
    readonly id: string;
    readonly steps: readonly (ElementFigures & { readonly from: number })[];
  })[];
  readonly retention: {
    readonly step: number;
    readonly cohorts: readonly {
      readonly from: number;
      readonly people: number;
      readonly acted: readonly number[];
    }[];
  };
}

/** Most cohorts of the retention, whose step is longer where there would be more. */
export const cohortsMax = 60;

/** Reads the analytics of an event in steps of some seconds; null: there is no such event. */
export async function readAnalytics(
  { store, clock }: Pick<AnalyticsServices, "store" | "clock">,
  { projectId, eventId }: Owner,
  step: number,
): Promise<Analytics | null> {
  const partition = directoryPartition("project", projectId);
  const [event, first] = await store.read(partition, [
    record(`event:${eventId}`),
    record(analyticsKey(eventId)),
  ]);
  if (event === null) return null;
  const { hours } = first === null ? noIndex : (JSON.parse(first.value) as Index);
  // The bound of the sample and what it has are from one instant.
  const [stored, ...found] = await store.read(partition, [
    record(analyticsKey(eventId)),
    ...hours.map(hour => record(hourKey(eventId, hour))),
  ]);
  const index = stored === null ? noIndex : (JSON.parse(stored.value) as Index);
  const all = hours.flatMap((number, at) => {
    const hour: Stored | null = found[at] ?? null;
    return hour === null ? [] : [{ begin: number * hourMs, hour: JSON.parse(hour.value) as StoredHour }];
  });
  return new Reckoning(index, step).of(all, eventId, clock());
}

/** Sums that grow while hours are gone through. */
class Sum {
  readonly people = new Set<number>();
  readonly cell: Cell = { actions: 0, gained: [], votes: [] };
}

/** Makes the figures of steps from those of minutes. */
class Reckoning {
  readonly #index: Index;
  readonly #step: number;
  readonly #metrics: string[] = [];
  readonly #whole = new Sum();
  readonly #steps = new Map<number, Sum>();
  readonly #elements = new Map<string, { readonly whole: Sum; readonly steps: Map<number, Sum> }>();

  constructor(index: Index, step: number) {
    this.#index = index;
    this.#step = step;
  }

  of(
    hours: readonly { readonly begin: number; readonly hour: StoredHour }[],
    eventId: string,
    now: number,
  ): Analytics {
    for (const { begin, hour } of hours) this.#add(begin, hour);
    const { watching, below } = this.#index;
    const elements = [...this.#elements].filter(([id]) => id !== eventId);
    return {
      ...this.#figures(this.#whole),
      isExact: below === everybody,
      watching: Object.values(watching).reduce(
        (sum, [count, at]) => sum + (now - at < watchedMs ? count : 0),
        0,
      ),
      steps: inOrder(this.#steps).map(([from, sum]) => ({ from, ...this.#figures(sum) })),
      elements: elements.map(([id, { whole, steps }]) => ({
        id,
        ...this.#elementFigures(whole),
        steps: inOrder(steps).map(([from, sum]) => ({ from, ...this.#elementFigures(sum) })),
      })),
      retention: this.#retention(),
    };
  }

  #add(begin: number, { names, metrics, cells, people }: StoredHour): void {
    const gained = metrics.map(metric => indexIn(this.#metrics, metric, Number.POSITIVE_INFINITY));
    for (const [code, cell] of cells)
      for (const sum of this.#sumsOf(begin, names, code)) addCell(sum.cell, cell, gained);
    for (const [hash, codes] of people) {
      if (hash >= this.#index.below) continue;
      for (const code of codes) for (const sum of this.#sumsOf(begin, names, code)) sum.people.add(hash);
    }
  }

  /** Returns the sums that a minute with a name counts for. */
  #sumsOf(begin: number, names: readonly string[], code: number): readonly Sum[] {
    const seconds = begin / 1_000 + Math.floor(code / namesMax) * 60;
    const from = seconds - (seconds % this.#step);
    const name = names[code % namesMax] ?? "";
    const element = this.#elements.get(name) ?? { whole: new Sum(), steps: new Map<number, Sum>() };
    this.#elements.set(name, element);
    return [this.#whole, sumAt(this.#steps, from), element.whole, sumAt(element.steps, from)];
  }

  #figures({ people, cell: { actions, gained } }: Sum): Figures {
    const points = Object.fromEntries(gained.map((sum, at) => [this.#metrics[at] ?? "", sum] as const));
    return { people: this.#estimate(people.size), actions, points };
  }

  #elementFigures(sum: Sum): ElementFigures {
    return { ...this.#figures(sum), votes: sum.cell.votes };
  }

  /** Counts for each step those who acted in it first, and how many of them acted in it and in each step that follows. */
  #retention(): Analytics["retention"] {
    const all = inOrder(this.#steps);
    const [first, last] = [all.at(0)?.[0] ?? 0, all.at(-1)?.[0] ?? 0];
    const step = this.#step * Math.max(1, Math.ceil(((last - first) / this.#step + 1) / cohortsMax));
    const active = new Map<number, Set<number>>();
    for (const [from, { people }] of all) {
      const at = Math.floor((from - first) / step);
      const acted = active.get(at) ?? new Set();
      active.set(at, acted);
      for (const person of people) acted.add(person);
    }
    const seen = new Set<number>();
    const steps = all.length === 0 ? 0 : Math.floor((last - first) / step) + 1;
    const cohorts = Array.from({ length: steps }, (_, at) => {
      const cohort = [...(active.get(at) ?? [])].filter(person => !seen.has(person));
      for (const person of cohort) seen.add(person);
      const acted = Array.from({ length: steps - at }, (_, later) => {
        const then = active.get(at + later);
        return this.#estimate(cohort.filter(person => then?.has(person)).length);
      });
      return { from: first + at * step, people: this.#estimate(cohort.length), acted };
    });
    return { step, cohorts };
  }

  #estimate(people: number): number {
    return Math.round((people * everybody) / this.#index.below);
  }
}

function sumAt(sums: Map<number, Sum>, at: number): Sum {
  const sum = sums.get(at) ?? new Sum();
  sums.set(at, sum);
  return sum;
}

function inOrder(sums: ReadonlyMap<number, Sum>): readonly (readonly [number, Sum])[] {
  return [...sums].sort(([a], [b]) => a - b);
}
