/** Plots as SVG, each with its numbers as a table and as a file. */

import { type Cell, saveTable } from "./files.ts";

/** How positions of a plot are written. */
export interface Axis {
  /** Heads the column of positions, with their time zone where they are times. */
  readonly title: string;
  readonly label: (at: number) => string;
  /** As files have it. @default the label */
  readonly cell?: (at: number) => string;
}

interface PlotPoint {
  readonly at: number;
  /** One of each series. */
  readonly values: readonly number[];
}

interface PlotProps {
  readonly title: string;
  /** What the numbers are, such as the length of a step. */
  readonly note: string;
  readonly axis: Axis;
  readonly series: readonly string[];
  readonly points: readonly PlotPoint[];
  /** The last step is not over: its line is dashed. */
  readonly isOpen: boolean;
  /** Name of the file, without its ending. */
  readonly file: string;
  /** Greatest value of the scale. @default that of the points */
  readonly top?: number;
  readonly unit?: string;
}

const [width, height] = [600, 140];
/** Strokes that tell series apart without their colours. */
const strokes = ["none", "10 4", "2 4", "10 4 2 4"];
const numbers = new Intl.NumberFormat();

export function Plot(props: PlotProps) {
  const { title, note, axis, series, points, isOpen, unit = "" } = props;
  const top = props.top ?? Math.max(1, ...points.flatMap(({ values }) => values));
  const [first, last] = [points.at(0)?.at ?? 0, points.at(-1)?.at ?? 0];
  const x = (at: number): number => (last === first ? width / 2 : ((at - first) / (last - first)) * width);
  const y = (value: number): number => height - (value / top) * height;
  const ticks = points.length < 3 ? points : [points[0], points[points.length >> 1], points.at(-1)];
  return (
    <figure class="plot card">
      <figcaption>
        <h2>{title}</h2>
        <span class="quiet">
          {note}
          {isOpen ? " The last step is not over." : ""}
        </span>
      </figcaption>
      {series.length > 1 && <Legend series={series} />}
      <div class="scale" aria-hidden="true">
        <span>
          {numbers.format(top)}
          {unit}
        </span>
        <svg viewBox={`0 0 ${width} ${height}`} preserveAspectRatio="none" aria-hidden="true">
          <path class="grid" d={`M0 0H${width}M0 ${height / 2}H${width}M0 ${height}H${width}`} />
          {series.map((name, index) => {
            const drawn = points.map(({ at, values }) => [x(at), y(values[index] ?? 0)] as const);
            return (
              <Line key={name} index={index} drawn={drawn} isOpen={isOpen} isFilled={series.length === 1} />
            );
          })}
        </svg>
        <div class="ticks">
          {ticks.map(point => point !== undefined && <span key={point.at}>{axis.label(point.at)}</span>)}
        </div>
      </div>
      <Numbers {...props} />
    </figure>
  );
}

function Legend({ series }: { readonly series: readonly string[] }) {
  return (
    <ul class="row legend" aria-hidden="true">
      {series.map((name, index) => (
        <li key={name} data-series={index % strokes.length}>
          <svg viewBox="0 0 30 4" aria-hidden="true">
            <path class="line" d="M0 2H30" stroke-dasharray={strokes[index % strokes.length]} />
          </svg>
          {name}
        </li>
      ))}
    </ul>
  );
}

interface LineProps {
  readonly index: number;
  readonly drawn: readonly (readonly [x: number, y: number])[];
  readonly isOpen: boolean;
  readonly isFilled: boolean;
}

function Line({ index, drawn, isOpen, isFilled }: LineProps) {
  const pathOf = (part: LineProps["drawn"]): string =>
    part.map(([x, y], at) => `${at === 0 ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const done = isOpen ? drawn.slice(0, -1) : drawn;
  const [only] = drawn;
  const kind = index % strokes.length;
  return (
    <g data-series={kind}>
      {isFilled && done.length > 1 && (
        <path class="area" d={`${pathOf(done)}V${height}H${done[0]?.[0] ?? 0}Z`} />
      )}
      <path class="line" d={pathOf(done)} stroke-dasharray={strokes[kind]} />
      {isOpen && <path class="line open" d={pathOf(drawn.slice(-2))} />}
      {drawn.length === 1 && only !== undefined && (
        <path class="line" d={`M${only[0]} ${only[1]}V${height}`} />
      )}
    </g>
  );
}

/** The numbers of a plot: a table to open, and a file. */
function Numbers({ title, axis, series, points, isOpen, file, unit = "" }: PlotProps) {
  const { cell = axis.label } = axis;
  const rows = (): Cell[][] => [
    [axis.title, ...series],
    ...points.map(({ at, values }) => [cell(at), ...values]),
  ];
  return (
    <div class="numbers">
      <details>
        <summary>Table</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard scrolls it */}
        <section class="scroller" tabIndex={0} aria-label={`${title}: table`}>
          <table>
            <thead>
              <tr>
                <th scope="col">{axis.title}</th>
                {series.map(name => (
                  <th key={name} scope="col" class="number">
                    {name}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {points.map(({ at, values }, index) => (
                <tr key={at}>
                  <th scope="row">
                    {axis.label(at)}
                    {isOpen && index === points.length - 1 ? " (not over)" : ""}
                  </th>
                  {values.map((value, number) => (
                    <td key={series[number]} class="number">
                      {numbers.format(value)}
                      {unit}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      </details>
      <button type="button" class="plain" onClick={() => saveTable(file, rows())}>
        CSV<span class="hidden"> of {title}</span>
      </button>
    </div>
  );
}
