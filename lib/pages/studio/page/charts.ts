/** Numbers that move, drawn as SVG. Nothing else on the page is laid out again when they change. */

import { setAttribute, svg } from "./elements.ts";

const hidden = { preserveAspectRatio: "none", "aria-hidden": "true" };

/** Draws a share between 0 and 1 as a bar. */
export function drawBar(): { readonly element: SVGElement; show(share: number): void } {
  const fill = svg("rect", { class: "fill", width: 100, height: 8 });
  const track = svg("rect", { class: "track", width: 100, height: 8 });
  let shown = 0;
  return {
    element: svg("svg", { ...hidden, class: "bar", viewBox: "0 0 100 8" }, track, fill),
    show(share) {
      const next = Math.round(Math.min(1, Math.max(0, share)) * 1_000) / 1_000;
      if (next !== shown) fill.style.transform = `scaleX(${next})`;
      shown = next;
    },
  };
}

/** Values of a window of time, the newest last. */
interface Series {
  readonly element: SVGElement;
  readonly values: readonly number[];
  /** Adds a value at a time in ms and draws the line anew. */
  add(at: number, value: number): void;
}

type Bounds = (values: readonly number[]) => readonly [low: number, high: number];

/** Draws values of the last `windowMs` as a line over an area. */
export function drawLine(windowMs: number, height: number, boundsOf: Bounds): Series {
  const line = svg("path", { class: "line" });
  const area = svg("path", { class: "area" });
  const times: number[] = [];
  const values: number[] = [];
  return {
    element: svg("svg", { ...hidden, class: "series", viewBox: `0 0 100 ${height}` }, area, line),
    values,
    add(at, value) {
      times.push(at);
      values.push(value);
      for (; (times[0] ?? at) < at - windowMs; values.shift()) times.shift();
      const [low, high] = boundsOf(values);
      const points = values.map((each, index) => {
        const x = 100 - ((at - (times[index] ?? at)) / windowMs) * 100;
        const share = low === high ? 0.5 : (high - each) / (high - low);
        return `${x.toFixed(1)} ${(1 + (height - 2) * share).toFixed(1)}`;
      });
      const path = points.length > 1 ? `M${points.join("L")}` : "";
      setAttribute(line, "d", path);
      setAttribute(area, "d", path && `${path}V${height}H${points[0]?.split(" ")[0]}Z`);
    },
  };
}
