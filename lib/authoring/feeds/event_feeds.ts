/** The feeds of an event: its history, its latest results and its live statistics. */

import { type EventPhase, eventPhase } from "../../fans/directory/event_times.ts";
import { eventTimesOf } from "../../fans/directory/records.ts";
import { chronological } from "../table/contents.ts";
import {
  type ElementPhase,
  elementPhase,
  elementTimesOf,
  type Revelation,
  revelation,
} from "../table/element_times.ts";
import { byLocale, contentOf, feedElement, isoOf, optionCountOf, withoutNulls } from "./feed_element.ts";
import type { History, LatestResults, Listings, LiveStats } from "./schemas.ts";
import type {
  CountedSource,
  Counts,
  ElementRecord,
  EventRecord,
  EventSource,
  ProjectSource,
} from "./sources.ts";
import { plainValues, withoutScheme } from "./sources.ts";

const resultsMax = 100;

interface Shown extends Revelation {
  readonly element: ElementRecord;
  readonly phase: ElementPhase;
  readonly publishedAt: number;
}

interface Show {
  readonly phase: EventPhase;
  /** Published and not revoked, oldest first. */
  readonly shown: readonly Shown[];
  readonly validUntil: number | null;
}

/** Builds the history of an event as it is at `now`, in Unix seconds. */
export function historyOf(source: EventSource, now: number): Timed<History> {
  const { shown, validUntil } = showOf(source, now);
  const parents = new Map(source.contents.elements.map(({ id, parent }) => [id, parent]));
  const timeline = shown.map(({ element, phase, publishedAt, answerAt }) =>
    feedElement({
      id: element.id,
      attributes: element.attributes,
      state: phase.state,
      parent: parents.get(element.id),
      publishedAt,
      closesAt: phase.closesAt,
      updatedAt: Math.max(element.updated, publishedAt),
      isAnswered: isReached(answerAt, phase.at),
      assets: source.assets,
      answers: element.state?.answers as History["timeline"][number]["answers"],
    }),
  );
  const config = byLocale(source.event.authored?.attributes.settings);
  return { value: { timeline, config, version: source.contents.rev }, validUntil };
}

/** Builds the latest results of an event as they are at `now`, in Unix seconds. */
export function latestResultsOf(source: CountedSource, now: number): Timed<LatestResults> {
  const { counts } = source;
  const { shown, validUntil } = showOf(source, now);
  const results = shown
    .filter(
      each =>
        each.element.attributes.include_in_latest_results_feed === true &&
        isReached(each.resultsAt, each.phase.at),
    )
    .toReversed()
    .slice(0, resultsMax)
    .map((each): LatestResults["results"][number] =>
      withoutNulls({
        id: each.element.id,
        content_type: String(each.element.attributes.content_type),
        published_at_iso: isoOf(each.publishedAt),
        results_revealed_at_iso: isoOf(each.resultsAt),
        ...contentOf({
          attributes: each.element.attributes,
          isAnswered: isReached(each.answerAt, each.phase.at),
          assets: source.assets,
        }),
        actions: actionsOf(counts, each.element.id),
        votes: votesOf(counts, each.element),
      }),
    );
  return { value: { results, version: source.contents.rev }, validUntil };
}

/** Builds the live statistics of an event as they are at `now`, in Unix seconds. */
export function liveStatsOf(source: CountedSource, now: number): Timed<LiveStats> {
  const { counts } = source;
  const { phase, shown, validUntil } = showOf(source, now);
  const elements = shown.map(({ element, resultsAt, phase: { at } }) => ({
    id: element.id,
    actions: actionsOf(counts, element.id),
    ...(isReached(resultsAt, at) ? { votes: votesOf(counts, element) } : {}),
  }));
  const { id } = source.event;
  return { value: { id, state: phase.state, actions: actionsOf(counts, id), elements }, validUntil };
}

function showOf({ event, contents, elements }: EventSource, now: number): Show {
  const phase = eventPhase(eventTimesOf(event), now);
  const byId = new Map(elements.map(element => [element.id, element]));
  const instants: (number | null)[] = [phase.changesAt];
  const shown: Shown[] = [];
  for (const { id } of chronological(contents, phase.begin)) {
    const element = byId.get(id);
    if (element === undefined) continue;
    const own = elementPhase(elementTimesOf(element), phase);
    const revealed = revelation(element, own, phase);
    const { publishedAt } = own;
    instants.push(publishedAt, own.closesAt, revealed.resultsAt, revealed.answerAt);
    if (publishedAt === null || publishedAt > own.at || own.state === "revoked") continue;
    shown.push({ element, phase: own, publishedAt, ...revealed });
  }
  return { phase, shown, validUntil: nextAfter(now, instants) };
}

function actionsOf(counts: Counts, id: string): number {
  return counts.get(id)?.get("actions") ?? 0;
}

function votesOf(counts: Counts, { id, attributes }: ElementRecord): number[] {
  const own = counts.get(id);
  return Array.from({ length: optionCountOf(attributes) }, (_, index) => own?.get(String(index + 1)) ?? 0);
}

function isReached(at: number | null, now: number): boolean {
  return at !== null && at <= now;
}

export interface Timed<T> {
  readonly value: T;
  /** Unix seconds; null: until a source changes. */
  readonly validUntil: number | null;
}

interface Listed {
  readonly event: EventRecord;
  readonly version: string;
  readonly phase: EventPhase;
}

/** Builds the listing of a project as it is at `now`, in Unix seconds. */
export function listingsOf({ project, events }: ProjectSource, now: number, base: string): Timed<Listings> {
  const all = events.map(({ event, version }) => ({
    event,
    version,
    phase: eventPhase(eventTimesOf(event), now),
  }));
  const { attributes = {}, state = {} } = project.authored ?? {};
  const locales = (attributes.locales ?? []) as string[];
  return {
    value: {
      project: {
        uuid: project.id,
        name: project.name,
        audio_sync_default_delay: Number(attributes.audio_sync_default_delay ?? 0),
        audio_sync_max_delay: Number(attributes.audio_sync_max_delay ?? 0),
        tracking_id: project.id,
        embed: withoutScheme(state.embed ?? `${base}/show?project=${project.id}`),
        history_ignore: [],
        is_localisation_supported: locales.length > 0,
        locales,
      },
      events: all.map(entryOf),
      assets: {},
    },
    validUntil: nextAfter(
      now,
      all.map(({ phase }) => phase.changesAt),
    ),
  };
}

function nextAfter(now: number, instants: readonly (number | null)[]): number | null {
  return instants.reduce((next, at) => (at === null || at <= now || (next ?? at) < at ? next : at), null);
}

function entryOf({ event, version, phase }: Listed): Listings["events"][number] {
  const { attributes = {} } = event.authored ?? {};
  const fields = plainValues(attributes.settings);
  const { image_url: image } = fields;
  const entry = {
    start_at: phase.begin,
    end_at: phase.end,
    state: phase.state,
    extra_time: Number(attributes.extra_time_duration ?? 0),
  };
  return {
    id: event.id,
    name: event.name,
    ...entry,
    start_at_iso: isoOf(phase.begin),
    end_at_iso: isoOf(phase.end),
    started: phase.state !== "future",
    image_url: typeof image === "string" ? image : null,
    custom_fields: fields,
    // Everything of an entry follows from the record and its phase.
    digest: `${version}-${phase.state}`,
  };
}
