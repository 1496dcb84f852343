/** Watches an event: its elements, its actions per second, and its leaderboards. */

import { cursorOf, type Document, type Resource } from "./api.ts";
import { drawLine } from "./charts.ts";
import { el, setText } from "./elements.ts";
import { createElements } from "./event_elements.ts";
import type { ViewContext } from "./places.ts";
import { messageOf } from "./problem.ts";
import { repeat } from "./repeat.ts";

/** Time that the line of actions shows, in ms. */
const windowMs = 120_000;
/** Pause between two readings of the statistics, in ms. */
const statsMs = 1_000;
/** Pause between two readings of a page of elements, in ms. */
const elementsMs = 5_000;
/** Time without a change after which nothing happens, in ms. */
const quietMs = 3_500;
/** Samples whose mean is the rate of now. */
const meanOf = 3;

const firstPage = {
  include: "stats",
  sort: "position",
  "page[count]": 100,
  "fields[elements]": "name,content_type,state,question,position,stats",
};
const numbers = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });

/** Shows an event until the user leaves. `showState` gets its state whenever it is read. */
export function watchEvent(context: ViewContext, showState: (state: string) => void): void {
  const { api, chain, root, signal } = context;
  const { id = "" } = chain.at(-1) ?? {};
  const figures = createFigures();
  const elements = createElements();
  const fault = el("p", { class: "fault", role: "status" });
  root.append(fault, figures.element, elements.element);
  const errors: unknown[] = [];
  const reportOf = (index: number) => (error: unknown) => {
    errors[index] = error;
    const one = errors.find(each => each);
    setText(fault, one ? `Not up to date. ${messageOf(one)}` : "");
  };
  let etag = "";
  let actions = 0;
  async function readStats(): Promise<void> {
    const input = { prefix: id.slice(0, 2), eventId: id };
    const answer = await api.feeds
      .getLiveStats(input, { headers: { "if-none-match": etag }, signal })
      .whole();
    if (answer.status !== 304) {
      const stats = answer.document;
      etag = answer.headers.get("etag") ?? "";
      actions = stats.actions;
      showState(stats.state);
      elements.count(stats.elements);
    }
    figures.add(actions);
  }
  let cursor: string | null = null;
  let isComplete = false;
  async function readElements(): Promise<void> {
    do {
      const query = cursor === null ? firstPage : { ...firstPage, "page[cursor]": cursor };
      const { document } = await api.control.listEventElements({ eventId: id, ...query }, { signal }).whole();
      elements.merge(document as unknown as Document<readonly Resource[]>, cursor === null);
      cursor = cursorOf(document.links);
      isComplete ||= cursor === null;
    } while (!isComplete);
  }
  repeat(readStats, { everyMs: statsMs, signal, report: reportOf(0) });
  // The first round reads all pages; later ones read one at a time.
  repeat(readElements, { everyMs: elementsMs, signal, report: reportOf(1) });
}

function createFigures(): { readonly element: HTMLElement; add(actions: number): void } {
  const total = el("strong", {}, "–");
  const now = el("strong", {}, "–");
  const most = el("strong", {}, "–");
  const rates = drawLine(windowMs, 40, values => [0, Math.max(1, ...values)]);
  let last: { readonly at: number; readonly actions: number } | null = null;
  const figure = (label: string, value: HTMLElement): HTMLElement =>
    el("div", { class: "figure" }, el("span", { class: "quiet" }, label), value);
  return {
    element: el(
      "section",
      { class: "figures card", "aria-label": "Live statistics" },
      figure("Actions", total),
      figure("Per second", now),
      figure("Most in 2 minutes", most),
      rates.element,
    ),
    add(actions) {
      const at = performance.now();
      const since = last ?? { at, actions };
      // Counts arrive in batches: the rate is that since the last change, and 0 after a while without one.
      if (last !== null && actions === last.actions && at - last.at < quietMs) return;
      last = { at, actions };
      setText(total, numbers.format(actions));
      if (at === since.at) return;
      const rate = (Math.max(0, actions - since.actions) * 1_000) / (at - since.at);
      rates.add(at, rate);
      const recent = rates.values.slice(-meanOf);
      setText(now, numbers.format(recent.reduce((sum, value) => sum + value, 0) / recent.length));
      setText(most, numbers.format(Math.max(...rates.values)));
    },
  };
}
