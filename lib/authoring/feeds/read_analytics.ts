/** Reads the analytics of an event, and makes the figures of steps from those of minutes. */

import { directoryPartition } from "../../fans/directory/records.ts";
import type { Stored } from "../../storage/mod.ts";
import {
  type AnalyticsServices,
  addCell,
  analyticsKey,
  type Cell,
  hourKey,
  hourMs,
  type Index,
  indexIn,
  namesMax,
  noIndex,
  type Owner,
  record,
  type StoredHour,
  watchedMs,
} from "./event_analytics.ts";
import { everybody } from "./people_sample.ts";

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
const cohortsMax = 60;

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
