/** The elements of an event as a producer runs them: one signal for each element, and one for its counts, which feeds write. */

import { batch, effect, type Signal, signal } from "@preact/signals";
import type { LiveAuthoring } from "../../../../client/mod.ts";
import { cursorOf, type Document, type Resource, textOf } from "../api.ts";
import { followAuthoring, keepPresence, type Whereabouts } from "../authoring.ts";
import { repeat } from "../problem.ts";
import { choicesOf } from "../results.ts";
import type { ViewContext } from "../view.ts";

const statsMs = 1_000;
const elementsMs = 5_000;
const reachMs = 10_000;
const clockMs = 500;
/** Time without an answer after which the view is not live, in ms. */
const lostMs = 3_500;
/** Samples whose mean is the rate of now. */
const meanOf = 3;

export const zones = ["air", "next", "done"] as const;
export type Zone = (typeof zones)[number];

export interface Item {
  readonly id: string;
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Id of the wrapper that shows it; null: none does. */
  readonly parent: string | null;
  readonly etag: string | undefined;
}

export interface Counts {
  readonly actions: number;
  readonly votes: readonly number[];
}

export interface Figures {
  readonly actions: number;
  readonly perSecond: number;
}

/** An author in another window of the view. */
export interface Colleague {
  readonly userId: string;
  readonly name: string;
  /** Id of the element that the author has cued. */
  readonly cued: string | null;
}

/** Returns the names of those who are no windows of the author; none while nobody knows who the author is. */
export function othersOf(colleagues: readonly Colleague[], userId: string | null): readonly string[] {
  const others = colleagues.filter(each => userId !== null && each.userId !== userId);
  return [...new Set(others.map(({ name }) => name))];
}

const fields =
  "name,content_type,state,question,custom_fields,position,stats,parent,duration,published_at,start_mode,start_offset,correct_option,reveal_results_mode,results_revealed_at_iso,answer_revealed_at_iso,annotations,actions";
const firstPage = {
  include: "stats",
  sort: "position",
  "page[count]": 100,
  "fields[elements]": fields,
} as const;

const zoneOfState: Readonly<Record<string, Zone>> = { current: "air", non_scheduled: "next", future: "next" };

export function zoneOf({ attributes }: Item): Zone {
  return zoneOfState[String(attributes.state)] ?? "done";
}

/** Returns when an element closes, in Unix seconds; null: nothing ends it but its event. */
export function closingOf({ attributes: { published_at: at, duration } }: Item): number | null {
  return Number(at ?? 0) > 0 && Number(duration ?? 0) > 0 ? Number(at) + Number(duration) : null;
}

/** Returns how many seconds after the begin the clock publishes an element; null: somebody takes it by hand. */
export function timecodeOf({ attributes: { start_mode: mode, start_offset: offset } }: Item): number | null {
  return mode === "timecode" ? Number(offset ?? 0) : null;
}

/** Returns rows of Next as they come: by the clock, then by hand, and what is inside a wrapper behind it. */
export function inOrderOfTime(items: readonly Item[]): readonly Item[] {
  const known = new Map(items.map(item => [item.id, item]));
  const timeOf = (item: Item): number => timecodeOf(known.get(item.parent ?? "") ?? item) ?? Number.MAX_VALUE;
  return items.toSorted((a, b) => timeOf(a) - timeOf(b));
}

/** Returns the element that the clock publishes first; null: none has a time. */
export function firstByClock(items: readonly Item[]): Item | null {
  const timed = items.filter(item => timecodeOf(item) !== null);
  return timed.reduce<Item | null>(
    (first, item) => (first === null || Number(timecodeOf(item)) < Number(timecodeOf(first)) ? item : first),
    null,
  );
}

export class Rundown {
  readonly eventId: string;
  readonly projectId: string;
  readonly event: Signal<Resource>;
  readonly items = new Map<string, Signal<Item>>();
  /** What was refused, by the element whose row shows it; "" for the event. */
  readonly faults = new Map<string, Signal<string>>();
  /** Ids in the order of the show, for each zone. */
  readonly ids: Readonly<Record<Zone, Signal<readonly string[]>>>;
  /** Id of the element that the clock publishes next; null: none has a time. */
  readonly due = signal<string | null>(null);
  readonly isLoaded = signal(false);
  /** Null: nothing is heard yet. */
  readonly figures = signal<Figures | null>(null);
  /** Fans who watch now; null: nobody has counted. */
  readonly watching = signal<number | null>(null);
  /** Time of the server, in Unix seconds. */
  readonly now = signal(Date.now() / 1_000);
  /** Since when nothing is heard, in Unix ms of this device; null: it is live. */
  readonly lostAt = signal<number | null>(null);
  /** Time of the newest answer on its way, in ms. */
  readonly latency = signal<number | null>(null);
  readonly colleagues = signal<readonly Colleague[]>([]);
  readonly #authors = signal<LiveAuthoring["presence"]["authors"]>([]);
  readonly isByClock: boolean;
  readonly #context: ViewContext;
  readonly #say: (where: Whereabouts) => void;
  readonly #windowId: string;
  readonly #counts = new Map<string, Signal<Counts>>();
  #rounds = new Map<string, number>();
  #round = 0;
  #cursor: string | null = null;
  #isComplete = false;
  #isHeld = false;
  #heardAt = Date.now();
  #etag = "";
  #rates: number[] = [];
  #lastCount: { readonly at: number; readonly actions: number } | null = null;
  /** Unix ms of the server less `performance.now()`. */
  #offset = Date.now() - performance.now();
  #knownNow = 0;
  #lastChange = "";
  #newest: LiveAuthoring | null = null;
  #reads = new Set<string>();

  /** `isByClock` has what comes next in the order of time, in place of that of the show. */
  constructor(context: ViewContext, { isByClock = false } = {}) {
    this.isByClock = isByClock;
    const { api, chain, signal: until } = context;
    const event = chain.at(-1) as Resource;
    this.#context = context;
    this.eventId = event.id;
    this.projectId = chain.find(({ type }) => type === "projects")?.id ?? "";
    this.event = signal(event);
    this.ids = { air: signal([]), next: signal([]), done: signal([]) };
    const presence = keepPresence(api, this.projectId, until);
    this.#windowId = presence.id;
    this.#say = presence.say;
  }

  /** Reads and follows the event until the view is left. */
  start(): void {
    const { api, signal: until } = this.#context;
    this.cue(null);
    repeat(() => this.#readStats(), { everyMs: statsMs, signal: until, report: error => this.#heard(error) });
    repeat(() => this.#readElements(), { everyMs: elementsMs, signal: until, report: () => {} });
    repeat(() => this.#readReach(), { everyMs: reachMs, signal: until, report: () => {} });
    const live = followAuthoring(api, this.projectId, until);
    const stop = effect(() => {
      if (live.value !== null) this.#hearAuthors(live.value);
    });
    const clock = setInterval(() => this.#tick(), clockMs);
    until.addEventListener("abort", () => {
      stop();
      clearInterval(clock);
    });
  }

  /** Tells other authors what is cued. */
  cue(id: string | null): void {
    this.#say({ place: `events/${this.eventId}/run`, field: id });
  }

  /** Keeps the order of rows while something is pressed, and shows what has changed afterwards. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
    if (!isHeld) this.#arrange();
  }

  /** Returns attributes of a new element without a timecode that has passed, by which fans would see it at once. */
  byHandIfPassed<A extends Item["attributes"]>(attributes: A): A {
    const { start_mode: mode, start_offset: offset } = attributes;
    return mode === "timecode" && this.hasPassed(Number(offset ?? 0))
      ? { ...attributes, start_mode: "manual" }
      : attributes;
  }

  /** Returns true if the show has run for longer than an offset in seconds. */
  hasPassed(offset: number): boolean {
    const { state, start_at: begin } = this.event.peek().attributes;
    const isOpen = state === "current" || state === "on_demand";
    return isOpen && Number(begin ?? 0) + offset <= this.#time();
  }

  /** Returns when the clock publishes the next element, in Unix seconds; null: never, or the show does not run. */
  dueAt(): number | null {
    const { state, start_at: begin } = this.event.value.attributes;
    const item = this.item(this.due.value ?? "");
    const offset = item === undefined ? null : timecodeOf(item);
    return state === "current" && Number(begin ?? 0) > 0 && offset !== null ? Number(begin) + offset : null;
  }

  item(id: string): Item | undefined {
    return this.items.get(id)?.value;
  }

  /** Returns what `faults` has for a row, which begins empty. */
  fault(id: string): Signal<string> {
    const known = this.faults.get(id) ?? signal("");
    this.faults.set(id, known);
    return known;
  }

  /** Returns the counts of an element, which begin at 0. */
  count(id: string): Signal<Counts> {
    const known = this.#counts.get(id) ?? signal({ actions: 0, votes: [] });
    this.#counts.set(id, known);
    return known;
  }

  childrenOf(id: string): readonly Item[] {
    const all = [...this.items.values()].map(({ value }) => value);
    return all.filter(({ parent }) => parent === id).sort((a, b) => positionOf(a) - positionOf(b));
  }

  /** Ids in the order of the show, wrappers before their children. */
  order(): readonly string[] {
    return this.#sorted().map(({ id }) => id);
  }

  /** Takes what a change left. */
  take(resources: readonly (Resource | undefined)[]): void {
    batch(() => {
      for (const resource of resources) {
        if (resource?.type === "events") this.event.value = resource;
        if (resource?.type === "elements") this.#keep(resource);
      }
    });
    this.#arrange();
  }

  remove(id: string): void {
    this.items.delete(id);
    this.#arrange();
  }

  /** Reads all elements anew. */
  async refresh(): Promise<void> {
    this.#cursor = null;
    this.#isComplete = false;
    await this.#readElements();
  }

  /** Reads the event, also once the view is left. */
  async readEvent(): Promise<void> {
    const { data } = await this.#context.api.scope("events", this.eventId, {}, new AbortController().signal);
    this.event.value = data;
  }

  #heard(error: unknown): void {
    const isLost = error !== null || Date.now() - this.#heardAt > lostMs;
    if (isLost !== (this.lostAt.value !== null)) this.lostAt.value = isLost ? this.#heardAt : null;
  }

  async #readStats(): Promise<void> {
    const { api, signal: until } = this.#context;
    const input = { prefix: this.eventId.slice(0, 2), eventId: this.eventId };
    const sentAt = performance.now();
    const answer = await api.feeds
      .getLiveStats(input, { headers: { "if-none-match": this.#etag }, signal: until })
      .whole();
    this.#heardAt = Date.now();
    this.latency.value = Math.round(performance.now() - sentAt);
    if (answer.status === 304) return this.#count(this.#lastCount?.actions ?? 0);
    const { actions, elements, state } = answer.document;
    this.#etag = answer.headers.get("etag") ?? "";
    batch(() => {
      this.#count(actions);
      for (const { id, actions: own, votes } of elements) this.#countOf(id, own, votes);
    });
    if (state !== textOf(this.event.value, "state")) await this.readEvent();
  }

  /** Counts arrive in batches: the rate is that since the last change, and 0 after a while without one. */
  #count(actions: number): void {
    const at = performance.now();
    const since = this.#lastCount ?? { at, actions };
    if (this.#lastCount !== null && actions === since.actions && at - since.at < lostMs) return;
    this.#lastCount = { at, actions };
    if (at > since.at) this.#rates.push((Math.max(0, actions - since.actions) * 1_000) / (at - since.at));
    this.#rates = this.#rates.slice(-meanOf);
    const sum = this.#rates.reduce((all, rate) => all + rate, 0);
    const perSecond = sum / Math.max(1, this.#rates.length);
    const { value } = this.figures;
    if (value?.actions !== actions || value.perSecond !== perSecond)
      this.figures.value = { actions, perSecond };
  }

  #countOf(id: string, actions: number, votes: readonly number[] | undefined): void {
    const known = this.count(id);
    const { value } = known;
    // The feed is read more often than the list, and counts only grow.
    if (
      actions < value.actions ||
      (actions === value.actions && (votes === undefined || isSame(votes, value.votes)))
    )
      return;
    known.value = { actions, votes: votes ?? value.votes };
  }

  /** The first round reads all pages; later ones read one at a time. */
  async #readElements(): Promise<void> {
    const { api, signal: until } = this.#context;
    const wanted = this.eventId;
    do {
      const cursor = this.#cursor;
      const query = cursor === null ? firstPage : { ...firstPage, "page[cursor]": cursor };
      const { document } = await api.control
        .listEventElements({ eventId: wanted, ...query }, { signal: until })
        .whole();
      this.#merge(document as unknown as Document<readonly Resource[]>, cursor === null);
      this.#cursor = cursorOf(document.links);
      this.#isComplete ||= this.#cursor === null;
    } while (!this.#isComplete);
    this.isLoaded.value = true;
  }

  /** The first page begins a round; what was on no page of a round is gone. */
  #merge({ data, included = [] }: Document<readonly Resource[]>, isFirst: boolean): void {
    batch(() => {
      if (isFirst) {
        for (const id of this.items.keys())
          if ((this.#rounds.get(id) ?? 0) < this.#round) this.items.delete(id);
        this.#round += 1;
      }
      const stats = new Map(included.map(({ id, attributes }) => [id, attributes]));
      for (const resource of data) {
        this.#rounds.set(resource.id, this.#round);
        this.#keep(resource);
        const { actions = 0, options } = stats.get(resource.id) ?? {};
        const votes = choicesOf(resource.attributes).map((_, index) =>
          Number(Object(options)[index + 1] ?? 0),
        );
        this.#countOf(resource.id, Number(actions), votes);
      }
    });
    this.#arrange();
  }

  #keep(resource: Resource & { readonly relationships?: object; readonly meta?: object }): void {
    const { id, attributes, relationships, meta } = resource;
    const linked = relationships as { readonly parent?: { readonly data?: { readonly id: string } | null } };
    const { etag } = (meta ?? {}) as { readonly etag?: string };
    const known = this.items.get(id);
    const parent =
      linked?.parent === undefined ? (known?.value.parent ?? null) : (linked.parent.data?.id ?? null);
    this.#rounds.set(id, this.#round);
    if (known === undefined) this.items.set(id, signal({ id, attributes, parent, etag }));
    else if (
      JSON.stringify([attributes, parent, etag]) !==
      JSON.stringify([known.value.attributes, known.value.parent, known.value.etag])
    )
      known.value = { id, attributes, parent, etag };
  }

  #sorted(): readonly Item[] {
    const all = [...this.items.values()].map(({ value }) => value);
    const placeOf = (item: Item): readonly number[] => {
      const parent = item.parent === null ? undefined : this.items.get(item.parent)?.value;
      return parent === undefined ? [positionOf(item), -1] : [positionOf(parent), positionOf(item)];
    };
    const places = new Map(all.map(item => [item.id, placeOf(item)]));
    const by = (index: number, a: Item, b: Item): number =>
      (places.get(a.id)?.[index] ?? 0) - (places.get(b.id)?.[index] ?? 0);
    return all.sort((a, b) => by(0, a, b) || by(1, a, b));
  }

  #arrange(): void {
    if (this.#isHeld) return;
    const sorted = this.#sorted();
    const publishedAt = ({ attributes }: Item): number => Number(attributes.published_at ?? 0);
    const orders: Readonly<Record<Zone, (a: Item, b: Item) => number>> = {
      air: (a, b) => publishedAt(a) - publishedAt(b),
      next: () => 0,
      done: (a, b) => publishedAt(b) - publishedAt(a),
    };
    batch(() => {
      for (const zone of zones) {
        const items = sorted.filter(item => zoneOf(item) === zone).sort(orders[zone]);
        const isTimed = zone === "next" && this.isByClock;
        const ids = (isTimed ? inOrderOfTime(items) : items).map(({ id }) => id);
        if (zone === "next") this.due.value = firstByClock(items)?.id ?? null;
        if (!isSame(ids, this.ids[zone].value)) this.ids[zone].value = ids;
      }
    });
  }

  async #readReach(): Promise<void> {
    const { api, signal: until } = this.#context;
    const input = { eventId: this.eventId, step: 86_400 };
    const { attributes } = await api.control.readEventAnalytics(input, { signal: until });
    this.watching.value = attributes.watching;
  }

  #hearAuthors({ now, presence, changes }: LiveAuthoring): void {
    if (now !== this.#knownNow) this.#offset = now - performance.now();
    this.#knownNow = now;
    this.#newest = { now, presence, changes };
    const place = `events/${this.eventId}/run`;
    this.colleagues.value = presence.authors
      .filter(author => author.place === place && !author.id.endsWith(this.#windowId))
      .map(({ user_id: userId, name, field }) => ({ userId, name, cued: field }));
    this.#authors.value = presence.authors;
    const at = changes.entries.findIndex(({ id }) => id === this.#lastChange);
    const fresh = this.#lastChange === "" ? [] : changes.entries.slice(at + 1);
    this.#lastChange = changes.entries.at(-1)?.id ?? "none";
    for (const change of fresh.flatMap(entry => entry.changes)) {
      if (change.type === "events" && change.id === this.eventId) this.#readAgain(change.id);
      const known = change.type === "elements" ? this.items.get(change.id) : undefined;
      if (change.op === "remove" && known !== undefined) this.remove(change.id);
      else if (known !== undefined && known.value.etag !== change.etag) this.#readAgain(change.id);
    }
  }

  /** Returns the names of others who are in the editor of an element. */
  othersIn(id: string): readonly string[] {
    const me = this.#context.user.value?.id ?? null;
    const here = this.#authors.value.filter(each => each.place === `elements/${id}` && each.user_id !== me);
    return me === null ? [] : [...new Set(here.map(({ name }) => name))];
  }

  /** Returns who changed an element last, if that is somebody else who is here. */
  changedBy(id: string): string | null {
    const { changes, presence } = this.#newest ?? {};
    const entry = changes?.entries.findLast(each => each.changes.some(change => change.id === id));
    const author = presence?.authors.find(each => each.user_id === entry?.by);
    return author === undefined || author.user_id === this.#context.user.value?.id ? null : author.name;
  }

  /** Reads one element, or the event with its elements, once at a time. */
  #readAgain(id: string): void {
    if (this.#reads.has(id)) return;
    this.#reads.add(id);
    const { api, signal: until } = this.#context;
    const read = async (): Promise<void> => {
      if (id === this.eventId) await Promise.all([this.readEvent(), this.refresh()]);
      else {
        const query = { elementId: id, "fields[elements]": fields } as const;
        const { document } = await api.control.readElement(query, { signal: until }).whole();
        this.take([document.data as unknown as Resource]);
      }
    };
    // What failed is on the next page of the list.
    read()
      .catch(() => {})
      .finally(() => this.#reads.delete(id));
  }

  /** Returns the time of the server in Unix seconds, also once the view is left. */
  #time(): number {
    return (this.#offset + performance.now()) / 1_000;
  }

  #tick(): void {
    const now = this.#time();
    this.now.value = now;
    if (Date.now() - this.#heardAt > lostMs && !document.hidden) this.#heard(null);
    for (const id of this.ids.air.value) {
      const item = this.items.get(id)?.value;
      const closesAt = item === undefined ? null : closingOf(item);
      if (closesAt !== null && now > closesAt + 1) this.#readAgain(id);
    }
    const comesAt = this.dueAt();
    if (comesAt !== null && now > comesAt + 1) this.#readAgain(this.due.value ?? "");
  }
}

function positionOf({ attributes }: Item): number {
  return Number(attributes.position);
}

function isSame(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((each, index) => each === other[index]);
}
