/**
 * The analytics of an event: people, actions, points and votes by minute and element, for producers.
 *
 * What takes effect is collected in the process and merged into a record for each hour of the event every few seconds, so that an
 * action waits for nothing. People are counted from a sample: those whose hash is lowest. Who is in it now has been in it from
 * the beginning, so that nothing of them is missing, and a sample that has everybody counts exactly.
 */

import { addBounded } from "../../base/text/mod.ts";
import { directoryPartition } from "../../fans/directory/records.ts";
import type { Logger, Timer } from "../../http/mod.ts";
import { mapConcurrent, PacedBatcher } from "../../storage/background/mod.ts";
import { decide, type Store, type Stored } from "../../storage/mod.ts";
import { everybody, type PeopleSample, peopleMax } from "./people_sample.ts";

const pauseMs = 5_000;
const concurrency = 4;
/** Most hours with actions of which an event keeps figures; later ones are not counted. */
const hoursMax = 48;
/** Most elements that an hour tells apart, the event itself being one; others count for the event. */
export const namesMax = 200;
const metricsMax = 20;
/** Most numbers of an hour; elements that would add more count for the event. */
const figuresMax = 10_000;
/** Most minutes with an element of all people in the sample of an hour; beyond that it has fewer people. */
const momentsMax = 30_000;
/** Time between two notes of how many listen to a process, and until a note no longer counts, in ms. */
const watchedEveryMs = 10_000;
export const watchedMs = 30_000;

export const hourMs = 3_600_000;
const minutesOfHour = 60;
/** A minute of an hour with the index of an element, as one number. */
const codeOf = (minute: number, index: number): number => minute * namesMax + index;

export interface Cell {
  actions: number;
  /** By the index of the metric. */
  readonly gained: number[];
  /** By the number of the option, less one. */
  readonly votes: number[];
}

/** An hour as stored: cells and people begin with their code and hash. */
export interface StoredHour {
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

export interface Index {
  /** The hours that have figures, counted from 1970. */
  readonly hours: readonly number[];
  /** The hash below which the sample has everybody. */
  readonly below: number;
  /** How many listen, and when they were counted (Unix ms), by process. */
  readonly watching: Readonly<Record<string, readonly [count: number, at: number]>>;
}

export const noIndex: Index = { hours: [], below: everybody, watching: {} };

/** Actions of some time that name the same element with the same choice, or the same event. */
export interface NamedActions {
  readonly id: string;
  readonly options: readonly number[];
  readonly count: number;
  readonly gained: ReadonlyMap<string, number>;
  readonly people: PeopleSample;
}

export interface AnalyticsServices {
  readonly store: Store;
  /** Unix ms. */
  readonly clock: () => number;
  readonly timer: Timer;
  readonly logger: Logger;
  /** Names this process among all. */
  readonly holder: string;
}

export interface Owner {
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

export function hourKey(eventId: string, hour: number): string {
  return `analytics:${eventId}:${hour}`;
}

export function record<const K extends string>(key: K) {
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
export function indexIn(names: string[], name: string, max: number): number | null {
  const index = names.indexOf(name);
  if (index >= 0) return index;
  return names.length >= max ? null : names.push(name) - 1;
}

function numbersIn(cell: Cell | undefined): number {
  return cell === undefined ? 0 : 1 + cell.gained.length + cell.votes.length;
}

export function addCell(
  sum: Cell,
  { actions, gained, votes }: Cell,
  metrics: readonly (number | null)[],
): void {
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
