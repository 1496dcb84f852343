/** What people did in an event: reach, people and actions by step, votes, points, and who came back. */

import { useEffect, useState } from "preact/hooks";
import type { EventAnalytics } from "../../../client/mod.ts";
import { isoIn, saveTable } from "../../shared/page/files.ts";
import { type Axis, Plot } from "../../shared/page/plot.tsx";
import { metricTitles, readZone, Shown, useAnswer, type Zone } from "./answers.tsx";
import { allOf, type Resource, textOf } from "./api.ts";
import { choicesOf, meanOf, titleOf } from "./results.ts";
import type { ViewContext } from "./view.ts";

type Figures = EventAnalytics["data"]["attributes"];

const numbers = new Intl.NumberFormat();
/** Most points of a plot. */
const pointsMax = 1_440;
const steps = [60, 300, 900, 3_600];
/** Pause between two readings, in ms. */
const everyMs = 15_000;

interface Known {
  readonly figures: Figures;
  readonly zone: Zone;
  /** Names of metrics and elements, and texts of options, by id. */
  readonly names: ReadonlyMap<string, string>;
  readonly options: ReadonlyMap<string, readonly string[]>;
  readonly elements: ReadonlyMap<string, Resource>;
  /** Numbers of texts of fans that are shown, by the element that asks for them. */
  readonly shown: ReadonlyMap<string, number>;
}

export function Analytics({ context }: { readonly context: ViewContext }) {
  const [step, setStep] = useState(60);
  const answer = useAnswer(() => readKnown(context, step), context, [step]);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || answer.again(), everyMs);
    return () => clearInterval(timer);
  }, [step]);
  const { value } = answer;
  const count = value === null ? 0 : spanOf(value.figures) / step;
  useEffect(() => {
    const wider = steps.find(each => each > step);
    if (count > pointsMax && wider !== undefined) setStep(wider);
  }, [count, step]);
  return (
    <Shown answer={answer}>
      {known =>
        known.figures.actions === 0 ? (
          <Nothing known={known} />
        ) : (
          <>
            <label class="row end">
              Step
              <select value={step} onChange={event => setStep(Number(event.currentTarget.value))}>
                {steps.map(each => (
                  <option key={each} value={each}>
                    {lengthOf(each)}
                  </option>
                ))}
              </select>
            </label>
            <Numbers known={known} />
            <Plots known={known} event={context.chain.at(-1)} />
          </>
        )
      }
    </Shown>
  );
}

function Nothing({ known: { figures } }: { readonly known: Known }) {
  return (
    <div class="empty">
      <p>No show has run. When fans act, you see here how many, when, and what for.</p>
      {figures.watching > 0 && <p>Watching now: {numbers.format(figures.watching)}</p>}
    </div>
  );
}

async function readKnown(context: ViewContext, step: number): Promise<Known> {
  const { api, chain, signal } = context;
  const eventId = chain.at(-1)?.id ?? "";
  const [{ attributes: figures }, zone, found, titles, { timeline }] = await Promise.all([
    api.control.readEventAnalytics({ eventId, step: String(step) } as never, { signal }),
    readZone(context),
    allOf(api.control.listEventElements({ eventId, "page[count]": 100 }, { signal })),
    metricTitles(context),
    api.feeds.getHistory({ prefix: eventId.slice(0, 2), eventId }, { signal }),
  ]);
  return {
    figures,
    zone,
    names: new Map([...titles, ...found.map(({ id, attributes }) => [id, titleOf(attributes)] as const)]),
    options: new Map(found.map(({ id, attributes }) => [id, choicesOf(attributes)])),
    elements: new Map(found.map(element => [element.id, element])),
    shown: new Map(timeline.map(({ id, answers = [] }) => [id, answers.length])),
  };
}

function spanOf({ steps: found }: Figures): number {
  return (found.at(-1)?.from ?? 0) - (found.at(0)?.from ?? 0);
}

function lengthOf(seconds: number): string {
  const minutes = seconds / 60;
  if (minutes % 60 === 0) return minutes === 60 ? "1 hour" : `${minutes / 60} hours`;
  return minutes === 1 ? "1 minute" : `${minutes} minutes`;
}

function Numbers({ known: { figures, zone, names } }: { readonly known: Known }) {
  const about = figures.is_exact ? "" : "≈ ";
  const shown: readonly (readonly [string, string, string])[] = [
    ["Reach", about + numbers.format(figures.people), "fans who acted"],
    ["Watching now", numbers.format(figures.watching), "devices, also those that only look"],
    ["Actions", numbers.format(figures.actions), "that took effect"],
    ...Object.entries(figures.points).map(
      ([id, sum]) => [names.get(id) ?? id, numbers.format(sum), "gained"] as const,
    ),
  ];
  return (
    <div class="stack">
      <dl class="summary">
        {shown.map(([title, value, note]) => (
          <div key={title} class="card">
            <dt>{title}</dt>
            <dd>{value}</dd>
            <dd class="quiet">{note}</dd>
          </div>
        ))}
      </dl>
      <p class="quiet">
        As of {zone.moment(figures.as_of)}, {zone.name}.
        {figures.is_exact ? "" : " People are estimated from a sample, 19 times out of 20 within 6 %."}
      </p>
    </div>
  );
}

interface PlotsProps {
  readonly known: Known;
  readonly event: Resource | undefined;
}

function Plots({ known, event }: PlotsProps) {
  const { figures, zone, names } = known;
  const { step, as_of } = figures;
  const all = filled(figures);
  const last = all.at(-1)?.from ?? 0;
  const isOpen = as_of < last + step;
  const axis: Axis = {
    title: `Time (${zone.name})`,
    label: spanOf(figures) > 86_400 ? zone.moment : zone.time,
    cell: at => isoIn(zone.name, at),
  };
  const name = event === undefined ? "event" : textOf(event, "name");
  const common = { axis, isOpen, note: `By ${lengthOf(step)}, ${zone.name}.` };
  const metrics = Object.keys(figures.points);
  const one = (value: (each: (typeof all)[number]) => number) =>
    all.map(each => ({ at: each.from, values: [value(each)] }));
  return (
    <>
      <div class="plots">
        <Plot
          {...common}
          title="People"
          series={["People"]}
          points={one(({ people }) => people)}
          file={`${name}-people`}
        />
        <Plot
          {...common}
          title="Actions"
          series={["Actions"]}
          points={one(({ actions }) => actions)}
          file={`${name}-actions`}
        />
        {metrics.length > 0 && (
          <Plot
            {...common}
            title="Points"
            series={metrics.map(id => names.get(id) ?? id)}
            points={all.map(({ from, points }) => ({ at: from, values: metrics.map(id => points[id] ?? 0) }))}
            file={`${name}-points`}
          />
        )}
        <Retention figures={figures} file={`${name}-retention`} />
      </div>
      <Votes known={known} file={`${name}-votes`} />
      <Written known={known} file={`${name}-answers`} />
    </>
  );
}

/** Returns the steps with those in between in which nobody acted, up to as many as a plot has. */
function filled({ steps: found, step, ...figures }: Figures): Figures["steps"] {
  const first = found[0]?.from ?? 0;
  const count = spanOf({ steps: found, step, ...figures }) / step + 1;
  if (count > pointsMax) return found;
  const known = new Map(found.map(each => [each.from, each]));
  return Array.from({ length: count }, (_, index) => {
    const from = first + index * step;
    return known.get(from) ?? { from, people: 0, actions: 0, points: {} };
  });
}

/** Of those who were there long enough ago, how many acted again after some time. */
function Retention({ figures, file }: { readonly figures: Figures; readonly file: string }) {
  const { step, cohorts } = figures.retention;
  const points = cohorts.map((_, later) => {
    const old = cohorts.filter(({ acted }) => acted.length > later);
    const people = old.reduce((sum, cohort) => sum + cohort.people, 0);
    const acted = old.reduce((sum, cohort) => sum + (cohort.acted[later] ?? 0), 0);
    return {
      at: (later * step) / 60,
      values: [people === 0 ? 0 : Math.round((1_000 * acted) / people) / 10],
    };
  });
  const end = (cohorts.at(-1)?.from ?? 0) + step;
  return (
    <Plot
      title="Who comes back"
      note={`Share of fans who act again, by minutes after their first action, each ${lengthOf(step)}.`}
      axis={{
        title: "Minutes after the first action",
        label: at => `+${numbers.format(at)} min`,
        cell: String,
      }}
      series={["Share in %"]}
      points={points}
      isOpen={figures.as_of < end}
      file={file}
      top={100}
      unit=" %"
    />
  );
}

interface Voted {
  readonly id: string;
  readonly name: string;
  readonly people: number;
  readonly sum: number;
  /** Of a rating. */
  readonly mean: number | null;
  readonly rows: readonly { readonly text: string; readonly count: number }[];
}

function votedOf({ figures, names, options, elements }: Known): readonly Voted[] {
  return figures.elements
    .map(({ id, people, votes }) => ({
      id,
      people,
      name: names.get(id) ?? removed,
      sum: votes.reduce((all, each) => all + each, 0),
      mean: meanOf(elements.get(id)?.attributes ?? {}, votes),
      // Figures end with the last option that has a vote.
      rows: Array.from({ length: Math.max(votes.length, options.get(id)?.length ?? 0) }, (_, index) => ({
        text: options.get(id)?.[index] || `Option ${index + 1}`,
        count: votes[index] ?? 0,
      })),
    }))
    .filter(({ sum }) => sum > 0);
}

const removed = "An element that was removed";

/** The table of votes; the mean is that of a rating. */
function saveVotes(file: string, voted: readonly Voted[]): void {
  const rows = voted.flatMap(({ name, mean, rows: each }) =>
    each.map(({ text, count }) => [name, text, count, mean ?? ""]),
  );
  saveTable(file, [["Element", "Option", "Votes", "Mean"], ...rows]);
}

function Votes({ known, file }: { readonly known: Known; readonly file: string }) {
  const voted = votedOf(known);
  if (voted.length === 0) return null;
  return (
    <section>
      <div class="row spread">
        <h2>Votes</h2>
        <button type="button" class="plain" onClick={() => saveVotes(file, voted)}>
          CSV<span class="hidden"> of votes</span>
        </button>
      </div>
      <ul class="plots">
        {voted.map(({ id, name, people, sum, mean, rows }) => (
          <li key={id} class="card votes">
            <div class="row spread">
              <strong dir="auto">{name}</strong>
              <span class="quiet">
                {mean !== null && `Mean: ${numbers.format(mean)}, `}
                Votes: {numbers.format(sum)}, people: {numbers.format(people)}
              </span>
            </div>
            <ul>
              {rows.map(({ text, count }, index) => (
                <li key={`${index} ${text}`}>
                  <span dir="auto">{text}</span>
                  <span class="count">
                    {numbers.format(count)} · {Math.round((100 * count) / sum)} %
                  </span>
                  <svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true">
                    <rect class="track" width="100" height="6" />
                    <rect class="part" width={(100 * count) / sum} height="6" />
                  </svg>
                </li>
              ))}
            </ul>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What fans wrote to elements that ask for texts: how much, and how much of it everybody sees. */
function Written({ known, file }: { readonly known: Known; readonly file: string }) {
  const { figures, names, elements, shown } = known;
  const rows = figures.elements
    .filter(({ id }) => elements.get(id)?.attributes.content_type === "ask")
    .map(
      ({ id, actions, people }) => [names.get(id) ?? removed, actions, shown.get(id) ?? 0, people] as const,
    );
  if (rows.length === 0) return null;
  const header = ["Element", "Answers", "Shown", "People"];
  return (
    <section>
      <div class="row spread">
        <h2>Answers</h2>
        <button type="button" class="plain" onClick={() => saveTable(file, [header, ...rows])}>
          CSV<span class="hidden"> of answers</span>
        </button>
      </div>
      <div class="table">
        <table>
          <thead>
            <tr>
              {header.map(title => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.map(([name, ...counts], index) => (
              <tr key={`${index} ${name}`}>
                <th scope="row" dir="auto">
                  {name}
                </th>
                {counts.map((count, column) => (
                  <td key={header[column]}>{numbers.format(count)}</td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
