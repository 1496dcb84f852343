/** A week of a project's events, in the zone that the project shows fans. */

import { useEffect, useState } from "preact/hooks";
import { type Resource, textOf } from "../api.ts";
import { hrefOf } from "../places.ts";
import { Problem, State } from "../ui.tsx";
import type { ViewContext } from "../view.ts";
import { type Day, overlapsOf, timesOf, weekOf, zoneOf } from "./calendar.ts";
import { instantOf, localIn, ownZone } from "./zones.ts";

/** Longest time that an event can have run when a week begins, in ms. */
const longestMs = 31 * 86_400_000;

export function WeekOfEvents({ context }: { readonly context: ViewContext }) {
  const { chain, place } = context;
  const project = chain.at(-1) as Resource;
  const zone = zoneOf(project);
  const noon = `${place.item}T12:00`;
  const at = Number.isNaN(Date.parse(noon)) ? Date.now() : instantOf(noon, zone) * 1_000;
  const { startsAt, endsAt } = weekOf(at, zone, []);
  const { events, error, again } = useEvents(context, startsAt, endsAt);
  if (error !== null) return <Problem error={error} retry={again} />;
  const { days } = weekOf(at, zone, events ?? []);
  const linkTo = (instant: number): string => hrefOf(project, "week", localIn(zone, instant).slice(0, 10));
  return (
    <div class="stack">
      <nav class="row" aria-label="Weeks">
        <a href={linkTo(startsAt - 1)}>Week before</a>
        <a href={hrefOf(project, "week")}>This week</a>
        <a href={linkTo(endsAt)}>Week after</a>
      </nav>
      <p class="quiet" role="status">
        {zone === ownZone ? `Times in ${zone}` : `Times in ${zone}, yours (${ownZone}) in brackets`}
        {events === null && ". Loading…"}
      </p>
      <ol class="week">
        {days.map(day => (
          <DayOfEvents key={day.date} day={day} zone={zone} events={events ?? []} />
        ))}
      </ol>
    </div>
  );
}

/** Reads the events that begin before the end of a week and may run in it; null while they are read. */
function useEvents({ api, chain, signal }: ViewContext, startsAt: number, endsAt: number) {
  const [events, setEvents] = useState<readonly Resource[] | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    const leave = new AbortController();
    const until = AbortSignal.any([signal, leave.signal]);
    async function read(): Promise<void> {
      const query = {
        projectId: chain.at(-1)?.id ?? "",
        sort: "-start_time",
        "filter[before]": new Date(endsAt).toISOString(),
        "page[count]": 100,
      } as const;
      const found: Resource[] = [];
      for await (const each of api.control.listProjectEvents(query, { signal: until })) {
        const event = each as Resource;
        if (timesOf(event)[0] * 1_000 < startsAt - longestMs) break;
        found.push(event);
      }
      setEvents(found);
    }
    setEvents(null);
    setError(null);
    read().catch(thrown => until.aborted || setError(thrown));
    return () => leave.abort();
  }, [startsAt, tries]);
  return { events, error, again: () => setTries(tries + 1) };
}

interface DayProps {
  readonly day: Day;
  readonly zone: string;
  readonly events: readonly Resource[];
}

function DayOfEvents({ day: { date, hours, events: own }, zone, events }: DayProps) {
  const form = { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" } as const;
  const title = new Intl.DateTimeFormat(undefined, form).format(Date.parse(date));
  const isToday = localIn(zone, Date.now()).startsWith(date);
  return (
    <li aria-current={isToday ? "date" : undefined}>
      <h2>
        <time dateTime={date}>{title}</time>
        {isToday && <span class="quiet"> today</span>}
      </h2>
      {hours !== 24 && <p class="warned">{hours} hours: the clock changes.</p>}
      {own.length === 0 && <p class="quiet">No events</p>}
      <ul>
        {own.map(event => (
          <EventOfDay
            key={event.id}
            event={event}
            zone={zone}
            date={date}
            overlaps={overlapsOf(event, events)}
          />
        ))}
      </ul>
    </li>
  );
}

interface EventProps {
  readonly event: Resource;
  readonly zone: string;
  readonly date: string;
  readonly overlaps: readonly Resource[];
}

function EventOfDay({ event, zone, date, overlaps }: EventProps) {
  const [begin, end] = timesOf(event);
  return (
    <li>
      <a class="card" href={hrefOf(event)}>
        <strong dir="auto">{textOf(event, "name")}</strong>
        <State state={textOf(event, "state")} />
        <span class="quiet">
          {spanText(begin, end, { zone, date })}
          {zone !== ownZone && ` (${spanText(begin, end, { zone: ownZone, date })})`}
        </span>
        {overlaps.length > 0 && (
          <span class="warned">Overlaps {overlaps.map(other => textOf(other, "name")).join(", ")}</span>
        )}
      </a>
    </li>
  );
}

/** Returns when an event runs, with the day of each end that is on another one. */
function spanText(
  begin: number,
  end: number,
  { zone, date }: { readonly zone: string; readonly date: string },
): string {
  const clock = (seconds: number): string => {
    const isOther = !localIn(zone, seconds * 1_000).startsWith(date);
    const form = { timeStyle: "short", timeZone: zone } as const;
    const weekday = { weekday: "short", hour: "2-digit", minute: "2-digit", timeZone: zone } as const;
    return new Intl.DateTimeFormat(undefined, isOther ? weekday : form).format(seconds * 1_000);
  };
  return end > begin ? `${clock(begin)} – ${clock(end)}` : `from ${clock(begin)}`;
}
