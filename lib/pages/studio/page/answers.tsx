/** What the platform answered a view: the last answer with its age, and times in the project's zone. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ownZone, timeIn } from "./plan/zones.ts";
import { Problem } from "./ui.tsx";
import type { ViewContext } from "./view.ts";

export interface Answered<T> {
  /** The last answer; null: there is none yet. */
  readonly value: T | null;
  /** When it came, Unix ms. */
  readonly at: number;
  /** Why there is no newer one; null: it is the newest. */
  readonly error: unknown;
  readonly again: () => void;
}

/** Reads something, and again where one of the keys changes. A failure leaves the last answer. */
export function useAnswer<T>(
  read: () => Promise<T>,
  { signal }: ViewContext,
  keys: readonly unknown[] = [],
): Answered<T> {
  const [state, setState] = useState<Omit<Answered<T>, "again">>({ value: null, at: 0, error: null });
  const newest = useRef(0);
  const again = (): void => {
    newest.current += 1;
    const number = newest.current;
    const isCurrent = (): boolean => !signal.aborted && number === newest.current;
    read().then(
      value => isCurrent() && setState({ value, at: Date.now(), error: null }),
      error => isCurrent() && setState(before => ({ ...before, error })),
    );
  };
  useEffect(again, keys);
  return { ...state, again };
}

const ages = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

interface ShownProps<T> {
  readonly answer: Answered<T>;
  readonly children: (value: T) => ComponentChildren;
}

/** Shows an answer; while a newer one fails with its age. */
export function Shown<T>({ answer: { value, at, error, again }, children }: ShownProps<T>) {
  if (value === null && error !== null) return <Problem error={error} retry={again} />;
  if (value === null) return <p class="quiet">Loading…</p>;
  return (
    <div class="view">
      {error !== null && <Stale at={at} again={again} />}
      {children(value)}
    </div>
  );
}

function Stale({ at, again }: { readonly at: number; readonly again: () => void }) {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 10_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="stale row" role="alert">
      <span>
        Not up to date: from {ages.format(-Math.max(1, Math.round((now - at) / 60_000)), "minute")}.
      </span>
      <button type="button" onClick={again}>
        Try again
      </button>
    </p>
  );
}

/** Times in one zone, which is printed beside them. */
export interface Zone {
  readonly name: string;
  /** Writes Unix seconds. */
  readonly moment: (at: number) => string;
  readonly time: (at: number) => string;
}

/** Returns the zone of the project above a place, or the viewer's own where it has none. */
export async function readZone({ api, chain, signal }: ViewContext): Promise<Zone> {
  const project = chain.find(({ type }) => type === "projects");
  if (project === undefined) return zoneNamed(ownZone);
  const query = { projectId: project.id, "fields[projects]": "services" };
  const { attributes } = await api.control.readProject(query, { signal });
  const { show } = (attributes.services ?? {}) as { readonly show?: { readonly timeZone?: string } };
  return zoneNamed(show?.timeZone ?? ownZone);
}

export function zoneNamed(timeZone: string): Zone {
  const times = new Intl.DateTimeFormat(undefined, { timeZone, timeStyle: "short" });
  return {
    name: timeZone,
    moment: at => timeIn(timeZone, at),
    time: at => times.format(at * 1_000),
  };
}

/** Returns the titles of the metrics of a place's space, by id. */
export async function metricTitles({
  api,
  chain,
  signal,
}: ViewContext): Promise<ReadonlyMap<string, string>> {
  const space = chain.find(({ type }) => type === "spaces");
  if (space === undefined) return new Map();
  const { metrics } = await api.loyalty.getLoyaltyConfig({ space_id: space.id }, { signal });
  return new Map(metrics.map(({ id, title }) => [id, title || id]));
}
